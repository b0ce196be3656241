//! A shard as an explicit handle.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use super::Shared;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::limiter::Limiter;

/// One thread's or one task group's part of a [`Sharded`](super::Sharded) allowance.
///
/// It spends its credit with a subtraction, and goes to the root when the credit does not do. It can be sent to another
/// thread but not shared between two; dropping or [parking](Self::park) it returns the credit to the root.
///
/// ```
/// use tollgate::{quota, sharded::Sharded};
///
/// let limit = Sharded::new(quota!("1M/s"));
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         let shard = limit.shard();
///         scope.spawn(move || (0..1000).filter(|_| shard.try_acquire().is_ok()).count());
///     }
/// });
/// ```
pub struct Shard<C: Clock = Monotonic> {
    shared: Arc<Shared<C>>,
    /// The place it holds, if one was free.
    place: Option<usize>,
    credit: Cell<u64>,
    epoch: Cell<u64>,
}

impl<C: Clock> Shard<C> {
    pub(super) fn new(shared: Arc<Shared<C>>) -> Self {
        let place = shared.claim();
        let epoch = Cell::new(shared.epoch());
        Self { shared, place, credit: Cell::new(0), epoch }
    }

    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the wait until the root has what the credit lacks.
    #[inline]
    pub fn try_acquire(&self) -> Result<(), Denied> {
        self.try_acquire_n(1)
    }

    /// Admits `cost` tokens now, all of them or none.
    ///
    /// # Errors
    ///
    /// As [`Sharded::try_acquire_n`](super::Sharded::try_acquire_n).
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let credit = self.credit.get();
        // A cost of 0 wraps and is not below any credit.
        if cost.wrapping_sub(1) < credit && self.shared.epoch() == self.epoch.get() {
            self.credit.set(credit - cost);
            return Ok(());
        }
        self.draw(cost)
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many; see
    /// [`Sharded::acquire_up_to`](super::Sharded::acquire_up_to).
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        self.catch_up();
        let (taken, credit) = self.shared.take_up_to(most, self.credit.get(), self.ceiling());
        self.credit.set(credit);
        taken
    }

    /// Returns the credit to the root, for other shards to draw. For a thread that will be idle.
    pub fn park(&self) {
        self.shared.root.refund(self.credit.take());
    }

    /// The credit it holds, in tokens.
    pub fn credit(&self) -> u64 {
        self.credit.get()
    }

    #[cold]
    #[inline(never)]
    fn draw(&self, cost: u64) -> Result<(), Denied> {
        self.catch_up();
        let credit = self.shared.spend(cost, self.credit.get(), self.ceiling())?;
        self.credit.set(credit);
        Ok(())
    }

    /// Returns the credit if it was drawn before the last pause.
    fn catch_up(&self) {
        let epoch = self.shared.epoch();
        if self.epoch.replace(epoch) != epoch {
            self.park();
        }
    }

    fn ceiling(&self) -> u64 {
        if self.place.is_some() { self.shared.plan.ceiling() } else { 0 }
    }
}

impl<C: Clock> Drop for Shard<C> {
    fn drop(&mut self) {
        self.park();
        if let Some(place) = self.place {
            self.shared.release(place);
        }
    }
}

impl<C: Clock> Limiter for Shard<C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }
}

impl<C: Clock> fmt::Debug for Shard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credit = self.credit.get();
        f.debug_struct("Shard")
            .field("credit", &credit)
            .field("ceiling", &self.ceiling())
            .finish_non_exhaustive()
    }
}
