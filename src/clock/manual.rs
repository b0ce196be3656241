//! A clock that is moved by hand.

use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::sync::{AtomicU64, Ordering};

/// A clock that stands still until it is moved, for tests and simulations.
///
/// It may be moved back too, which a real clock must not do; see [`NonDecreasing`](super::NonDecreasing). Share it by
/// reference or in an [`Arc`](std::sync::Arc).
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Bucket, Manual, quota};
///
/// let clock = Manual::new();
/// let bucket = Bucket::with_clock(quota!("1/s"), &clock);
/// assert!(bucket.try_acquire().is_ok());
/// assert!(bucket.try_acquire().is_err());
/// clock.advance(Duration::from_secs(1));
/// assert!(bucket.try_acquire().is_ok());
/// ```
#[derive(Debug)]
pub struct Manual {
    now: AtomicU64,
}

impl Manual {
    /// A clock that stands at its origin.
    pub fn new() -> Self {
        Self::starting_at(Nanos::ZERO)
    }

    /// A clock that stands at `now`.
    pub fn starting_at(now: Nanos) -> Self {
        Self { now: AtomicU64::new(now.as_u64()) }
    }

    /// Moves the clock to `now`, forward or back.
    pub fn set(&self, now: Nanos) {
        self.now.store(now.as_u64(), Ordering::Release);
    }

    /// Moves the clock forward by `span`, at most to [`Nanos::MAX`]. To be called by one thread at a time.
    pub fn advance(&self, span: core::time::Duration) {
        self.set(self.now().saturating_add(Nanos::from_duration(span)));
    }
}

impl Default for Manual {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for Manual {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(self.now.load(Ordering::Acquire))
    }
}
