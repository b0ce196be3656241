//! The token bucket under each kind of lock.

use super::arithmetic::{Rate, Tokens};
use crate::decide::{Contender, Decide};
use std::sync::PoisonError;
use std::time::Instant;
use tollgate::{Clock, Monotonic, Nanos, Quota};

/// A way to guard the tokens.
pub trait Lock: Send + Sync + 'static {
    /// Puts the tokens behind the lock.
    fn new(tokens: Tokens) -> Self;

    /// Takes a price from the tokens if it is there.
    fn take(&self, rate: &Rate, price: u64, now: u64) -> bool;
}

/// `std::sync::Mutex`.
pub struct Std(std::sync::Mutex<Tokens>);

/// `parking_lot::Mutex`.
pub struct Parking(parking_lot::Mutex<Tokens>);

/// A test-and-test-and-set spin lock, released by a plain store.
pub struct Spin(spinning_top::Spinlock<Tokens>);

/// `std::sync::RwLock`: refusals only read, so they share the lock; an admission looks, then locks for writing.
pub struct Rw(std::sync::RwLock<Tokens>);

impl Lock for Std {
    fn new(tokens: Tokens) -> Self {
        Self(std::sync::Mutex::new(tokens))
    }

    #[inline(always)]
    fn take(&self, rate: &Rate, price: u64, now: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(rate, price, now)
    }
}

impl Lock for Parking {
    fn new(tokens: Tokens) -> Self {
        Self(parking_lot::Mutex::new(tokens))
    }

    #[inline(always)]
    fn take(&self, rate: &Rate, price: u64, now: u64) -> bool {
        self.0.lock().take(rate, price, now)
    }
}

impl Lock for Spin {
    fn new(tokens: Tokens) -> Self {
        Self(spinning_top::Spinlock::new(tokens))
    }

    #[inline(always)]
    fn take(&self, rate: &Rate, price: u64, now: u64) -> bool {
        self.0.lock().take(rate, price, now)
    }
}

impl Lock for Rw {
    fn new(tokens: Tokens) -> Self {
        Self(std::sync::RwLock::new(tokens))
    }

    #[inline(always)]
    fn take(&self, rate: &Rate, price: u64, now: u64) -> bool {
        let level = self.0.read().unwrap_or_else(PoisonError::into_inner).level(rate, now);
        level >= price && self.0.write().unwrap_or_else(PoisonError::into_inner).take(rate, price, now)
    }
}

/// A token bucket behind the lock `L`, on the clock `C`. The clock is read before the lock is taken.
pub struct Locked<L, C = Monotonic> {
    lock: L,
    rate: Rate,
    clock: C,
}

impl<L: Lock, C: Clock> Locked<L, C> {
    /// A bucket for a quota of the exact scale.
    pub fn with_clock(quota: Quota, clock: C) -> Self {
        let rate = Rate::of(quota);
        let lock = L::new(Tokens::new(&rate, quota, clock.now().as_u64()));
        Self { lock, rate, clock }
    }
}

impl<L: Lock, C: Clock> Decide for Locked<L, C> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.lock.take(&self.rate, self.rate.unit, self.clock.now().as_u64())
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.lock.take(&self.rate, self.rate.price(cost), self.clock.now().as_u64())
    }
}

impl<L: Lock, C: Clock + Default + Send + Sync + 'static> Contender for Locked<L, C> {
    type Handle<'a> = &'a Self;

    fn build(quota: Quota) -> Self {
        Self::with_clock(quota, C::default())
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.clock.now().as_u64()
    }
}

/// `std::time::Instant` as a clock: the flavour that programs write without a second thought.
pub struct Instants(Instant);

impl Default for Instants {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Instants {
    #[inline(always)]
    fn now(&self) -> Nanos {
        Nanos::new(self.0.elapsed().as_nanos() as u64)
    }
}
