//! The floors: what the parts of a decision cost when nothing else is done. None of them limits anything.
//!
//! Each stands behind [`Decide`] like a limiter, so it runs in the same loops.

use crate::cpu::tsc;
use crate::decide::{Contender, Decide};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tollgate::Quota;

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

/// Stands among the contenders to be measured beside them, and is held to no bound.
impl Contender for AdmissionFloor {
    type Handle<'a> = &'a Self;

    fn build(_quota: Quota) -> Self {
        Self::default()
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        0
    }

    fn slack(_quota: Quota) -> u64 {
        u64::MAX
    }
}

/// Refuses whatever the quota is.
impl Contender for RefusalFloor {
    type Handle<'a> = &'a Self;

    fn build(_quota: Quota) -> Self {
        Self::default()
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        0
    }
}
