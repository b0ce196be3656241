//! The compare-exchange loop by hand, with and without backoff: what the bucket's own loop was chosen by.

use super::arithmetic::Rate;
use crate::decide::{Contender, Decide};
use crossbeam_utils::Backoff;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tollgate::{Clock, Fill, Monotonic, Quota};

/// One word in units of the exact scale; a lost race is retried at once, or after crossbeam's backoff.
pub struct Word<const BACKOFF: bool> {
    word: AtomicU64,
    rate: Rate,
    clock: Monotonic,
}

impl<const BACKOFF: bool> Word<BACKOFF> {
    #[inline(always)]
    fn issued(&self) -> u64 {
        self.clock.now().as_u64() * self.rate.units_per_nano
    }

    #[inline(always)]
    fn take(&self, price: u64) -> bool {
        let issued = self.issued();
        let limit = issued + self.rate.capacity;
        let backoff = Backoff::new();
        let mut word = self.word.load(Relaxed);
        loop {
            let next = word.max(issued) + price;
            if next > limit {
                return false;
            }
            match self.word.compare_exchange_weak(word, next, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(moved) => word = moved,
            }
            if BACKOFF {
                backoff.spin();
            }
        }
    }
}

impl<const BACKOFF: bool> Decide for Word<BACKOFF> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.take(self.rate.unit)
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.take(self.rate.price(cost))
    }
}

impl<const BACKOFF: bool> Contender for Word<BACKOFF> {
    type Handle<'a> = &'a Self;

    fn build(quota: Quota) -> Self {
        let limiter = Self { word: AtomicU64::new(0), rate: Rate::of(quota), clock: Monotonic::new() };
        let missing = match quota.initial() {
            Fill::Full => 0,
            Fill::Empty => limiter.rate.capacity,
            Fill::Tokens(tokens) => limiter.rate.capacity - tokens * limiter.rate.unit,
        };
        limiter.word.store(limiter.issued() + missing, Relaxed);
        limiter
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.clock.now().as_u64()
    }
}
