//! A shard as an explicit handle.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use super::{Place, Root, Shared};
use crate::bucket::Bucket;
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
pub struct Shard<C: Clock = Monotonic, R: Root<C> = Bucket<C>> {
    shared: Arc<Shared<C, R>>,
    /// The place it holds, if one was free.
    place: Option<usize>,
    credit: Cell<u64>,
    epoch: Cell<u64>,
}

impl<C: Clock, R: Root<C>> Shard<C, R> {
    pub(super) fn new(shared: Arc<Shared<C, R>>) -> Self {
        let place = shared.claim();
        let epoch = Cell::new(shared.epoch());
        let shard = Self { shared, place, credit: Cell::new(0), epoch };
        // A limit from before is not for credit that comes after it.
        let _before = shard.place().map(Place::take_lowest);
        shard
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

    /// Admits `cost` tokens now, or refuses and takes none.
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
        self.catch_up();
        self.shared.root.refund(self.credit.take());
    }

    /// The credit it holds, in tokens: as of its last call, for it is then that it learns of a pause, or of a lower ceiling.
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

    /// Gives up the credit that a pause, or a lower ceiling, does not leave it.
    fn catch_up(&self) {
        let epoch = self.shared.epoch();
        if self.epoch.replace(epoch) != epoch {
            let kept = self.place().map_or(0, |place| self.shared.kept(place, self.credit.get()));
            self.credit.set(kept);
        }
    }

    fn ceiling(&self) -> u64 {
        if self.place.is_some() { self.shared.ceiling() } else { 0 }
    }

    fn place(&self) -> Option<&Place> {
        self.shared.place(self.place?)
    }
}

impl<C: Clock, R: Root<C>> Drop for Shard<C, R> {
    fn drop(&mut self) {
        self.park();
        if let Some(place) = self.place {
            self.shared.release(place);
        }
    }
}

impl<C: Clock, R: Root<C>> Limiter for Shard<C, R> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }
}

impl<C: Clock, R: Root<C>> fmt::Debug for Shard<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credit = self.credit.get();
        f.debug_struct("Shard")
            .field("credit", &credit)
            .field("ceiling", &self.ceiling())
            .finish_non_exhaustive()
    }
}
