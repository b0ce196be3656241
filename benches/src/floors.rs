//! The floors: what the parts of a decision cost when nothing else is done. None of them limits anything.
//!
//! Each stands behind [`Decide`] like a limiter, so it runs in the same loops.

use crate::cpu::tsc;
use crate::decide::Decide;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nothing at all: the loop itself, to be taken off where a fence stands in the loop.
#[derive(Default)]
pub struct Nothing;

/// A relaxed load of a word that stays in the cache.
#[derive(Default)]
pub struct Load(AtomicU64);

/// One reading of the clock.
#[derive(Default)]
pub struct ClockRead;

/// One uncontended compare-exchange.
#[derive(Default)]
pub struct CompareExchange(AtomicU64);

/// Clock reading, load, compare-exchange: the floor of an admission. Contended, it retries as a limiter must.
#[derive(Default)]
pub struct AdmissionFloor(AtomicU64);

/// Clock reading, load, compare: the floor of a refusal.
#[derive(Default)]
pub struct RefusalFloor(AtomicU64);

impl Decide for Nothing {
    #[inline(always)]
    fn decide(&self) -> bool {
        true
    }

    #[inline(always)]
    fn decide_n(&self, _cost: u32) -> bool {
        true
    }
}

impl Decide for Load {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    #[inline(always)]
    fn decide_n(&self, _cost: u32) -> bool {
        self.decide()
    }
}

impl Decide for ClockRead {
    #[inline(always)]
    fn decide(&self) -> bool {
        tsc() != 0
    }

    #[inline(always)]
    fn decide_n(&self, _cost: u32) -> bool {
        self.decide()
    }
}

impl Decide for CompareExchange {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.0.compare_exchange(0, 0, Relaxed, Relaxed).is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, _cost: u32) -> bool {
        self.decide()
    }
}

impl Decide for AdmissionFloor {
    #[inline(always)]
    fn decide(&self) -> bool {
        let now = tsc();
        let mut word = self.0.load(Relaxed);
        while let Err(moved) = self.0.compare_exchange_weak(word, now, Relaxed, Relaxed) {
            word = moved;
        }
        true
    }

    #[inline(always)]
    fn decide_n(&self, _cost: u32) -> bool {
        self.decide()
    }
}

impl Decide for RefusalFloor {
    #[inline(always)]
    fn decide(&self) -> bool {
        tsc() < self.0.load(Relaxed)
    }

    #[inline(always)]
    fn decide_n(&self, _cost: u32) -> bool {
        self.decide()
    }
}
