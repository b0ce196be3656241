//! Places in the order of a shared bucket, taken now and due later.
//!
//! They are those of a [`Bucket`](crate::Bucket), by the same rules on the same word. What is remembered of cancelled ones lies
//! beside it, in fixed room; what is not remembered counts as standing, which is the safe side.

use std::time::Duration;

use super::bucket::SharedBucket;
use crate::bucket::{Booked, Spacing};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::nanos::Nanos;
#[cfg(feature = "tokio")]
use crate::wait::{Acquire, TokioTimer};
use crate::wait::{Book, Booking, at_or_now, block};

impl SharedBucket {
    /// Takes a place for `cost` that is due in `longest_wait` at most, and tells when: as
    /// [`Bucket::book`](crate::Bucket::book), in one line for all processes.
    ///
    /// A process that ends keeps the places that it has taken: those behind it are not earlier for it. One that dies while it
    /// gives something back keeps that, and what was withheld of places cancelled before.
    ///
    /// A cancellation takes the lock of an [undo](super::SharedCharge::undo). If it does not get that in a
    /// millisecond, the place is given back with the next one that is cancelled by this process with this
    /// value; the last 64 wait for that.
    ///
    /// # Errors
    ///
    /// As [`Bucket::book`](crate::Bucket::book).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{quota, shared_memory::Region};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("limits");
    /// let limit = Region::open(&path)?.bucket("requests", quota!("1/min burst 1"))?;
    /// let first = limit.book(1, Duration::ZERO).unwrap();
    /// let second = limit.book(1, Duration::from_secs(60)).unwrap();
    /// assert!(first.wait().is_zero() && second.wait() > Duration::from_secs(59));
    /// # Ok::<(), tollgate::shared_memory::SharedError>(())
    /// ```
    pub fn book(&self, cost: u64, longest_wait: Duration) -> Result<Booking<&Self>, Denied> {
        Booking::of(self, cost, longest_wait)
    }

    /// [`book`](Self::book) at a reading that the caller has taken from the region's clock.
    ///
    /// # Errors
    ///
    /// As [`book`](Self::book).
    pub fn book_at(&self, cost: u64, longest_wait: Duration, now: Nanos) -> Result<Booking<&Self>, Denied> {
        Booking::of_at(self, cost, longest_wait, now)
    }

    /// Blocks the thread until there is one token: [`acquire_blocking_n`](Self::acquire_blocking_n) of 1.
    ///
    /// # Errors
    ///
    /// As [`acquire_blocking_n`](Self::acquire_blocking_n).
    pub fn acquire_blocking(&self, longest_wait: Duration) -> Result<(), Denied> {
        self.acquire_blocking_n(1, longest_wait)
    }

    /// Blocks the thread until there are `cost` tokens for it, in the order of calls in all processes; see
    /// [`Bucket::acquire_blocking_n`](crate::Bucket::acquire_blocking_n).
    ///
    /// # Errors
    ///
    /// At once if the wait would be longer than `longest_wait`, as [`book`](Self::book): nothing was taken.
    pub fn acquire_blocking_n(&self, cost: u64, longest_wait: Duration) -> Result<(), Denied> {
        block(self, cost, longest_wait, std::thread::sleep)
    }

    /// Waits for one token, on tokio's timer: [`acquire_n`](Self::acquire_n) of 1.
    #[cfg(feature = "tokio")]
    pub fn acquire(&self) -> Acquire<&Self, TokioTimer> {
        self.acquire_n(1)
    }

    /// Waits for `cost` tokens, on tokio's timer; see [`Bucket::acquire_n`](crate::Bucket::acquire_n).
    ///
    /// # Errors
    ///
    /// At once, as [`book`](Self::book).
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken before the first poll; dropped before it is ready, the future gives its place back as
    /// [`book`](Self::book) says.
    ///
    /// # Fairness
    ///
    /// First come, first served, in the order of first polls in all processes; see [`Acquire`].
    #[cfg(feature = "tokio")]
    pub fn acquire_n(&self, cost: u64) -> Acquire<&Self, TokioTimer> {
        Acquire::new(self, cost, TokioTimer)
    }
}

impl Book for SharedBucket {
    fn book(&self, cost: u64, longest: Nanos, now: Nanos) -> Result<Booked, Denied> {
        self.ruled().take_place(cost, Spacing::Burst, longest, now, self.word())
    }

    fn cancel(&self, booked: &Booked, now: Option<Nanos>) {
        self.give_place_back(booked, at_or_now(now, self.clock()));
    }

    fn refuse_late(&self, cost: u64, now: Nanos) -> Denied {
        self.ruled().refuse_late(cost, Spacing::Burst, now)
    }

    fn now(&self) -> Nanos {
        self.clock().now()
    }

    fn paused_until(&self) -> Nanos {
        Nanos::new(self.word().hold())
    }
}
