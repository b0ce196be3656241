//! Even spacing.

use std::fmt;
use std::time::Duration;

use crate::bucket::{Booked, Bucket, Spacing};
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::nanos::Nanos;
use crate::quota::{Fill, Quota};
#[cfg(feature = "tokio")]
use crate::wait::acquire::Acquire;
use crate::wait::acquire::block;
use crate::wait::booking::Booking;
use crate::wait::handle::{Book, at_or_now};
#[cfg(feature = "tokio")]
use crate::wait::tokio::TokioTimer;

/// Lets work start evenly spaced: after a cost `c` nothing starts for `c / rate`, however long it was idle before.
///
/// Where a [`Bucket`] lets a full capacity start at once, a pace lets one start. With 2/s and a capacity of 3, three
/// costs of 1 start at 0, 0.5 and 1 s. It is for whoever is hurt by bursts behind the limiter, and pays with waiting;
/// nothing else here spaces anything. The quota's capacity is the largest cost it takes, and its initial fill means
/// nothing to it.
///
/// It is the same word as a bucket's, asked more strictly: a cost may start when everything before it has been made good.
/// In every interval of length `t`, no more than the last cost and `rate * t` starts.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Manual, quota, wait::Pace};
///
/// let pace = Pace::with_clock(quota!("2/s burst 3"), Manual::new());
/// let waits = [1, 1, 1].map(|cost| pace.book(cost, Duration::MAX).unwrap().wait());
/// assert_eq!(waits, [0, 500, 1000].map(Duration::from_millis));
/// ```
#[doc(alias = "smoothing")]
#[doc(alias = "leaky bucket")]
#[doc(alias = "throttle")]
pub struct Pace<C = Monotonic> {
    bucket: Bucket<C>,
}

impl Pace {
    /// A pace on the [`Monotonic`] clock.
    pub fn new(quota: Quota) -> Self {
        Self::with_clock(quota, Monotonic::new())
    }
}

impl<C: Clock> Pace<C> {
    /// A pace on a clock of the caller's.
    pub fn with_clock(quota: Quota, clock: C) -> Self {
        // A full bucket is one that owes nothing. Every quota can be full.
        let quota = quota.fill(Fill::Full).unwrap_or(quota);
        Self { bucket: Bucket::with_clock(quota, clock) }
    }

    /// Lets `cost` start now, or refuses and takes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, [`Denied::OverCapacity`] or [`Denied::ZeroCost`].
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        self.book(cost, Duration::ZERO).map(drop)
    }

    /// Takes the next place, as [`Bucket::book`] does.
    ///
    /// Cancelled, it gives back everything if nothing was booked behind it, and nothing otherwise until what was is
    /// cancelled too.
    ///
    /// # Errors
    ///
    /// As [`Bucket::book`].
    pub fn book(&self, cost: u64, longest_wait: Duration) -> Result<Booking<&Self>, Denied> {
        Booking::of(self, cost, longest_wait)
    }

    /// [`book`](Self::book) at a reading of the pace's clock.
    ///
    /// # Errors
    ///
    /// As [`Bucket::book`].
    pub fn book_at(&self, cost: u64, longest_wait: Duration, now: Nanos) -> Result<Booking<&Self>, Denied> {
        Booking::of_at(self, cost, longest_wait, now)
    }

    /// Waits for the next place, on tokio's timer.
    ///
    /// # Errors
    ///
    /// At once, as [`book`](Self::book).
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken before the first poll; dropped before it is ready, the future gives its place back.
    ///
    /// # Fairness
    ///
    /// First come, first served, in the order of first polls; see [`Acquire`].
    #[cfg(feature = "tokio")]
    pub fn acquire_n(&self, cost: u64) -> Acquire<&Self, TokioTimer> {
        Acquire::new(self, cost, TokioTimer)
    }

    /// Blocks the thread until the next place is due, as [`Bucket::acquire_blocking_n`] does.
    ///
    /// # Errors
    ///
    /// At once, as [`book`](Self::book).
    pub fn acquire_blocking_n(&self, cost: u64, longest_wait: Duration) -> Result<(), Denied> {
        block(self, cost, longest_wait, std::thread::sleep)
    }

    /// Lets nothing more start before the clock reads `until`; see [`Bucket::pause_until`].
    pub fn pause_until(&self, until: Nanos) {
        self.bucket.pause_until(until);
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.bucket.resume();
    }

    /// The quota it was made with.
    pub fn quota(&self) -> Quota {
        self.bucket.quota()
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        self.bucket.clock()
    }
}

impl<C: Clock> Book for Pace<C> {
    fn book(&self, cost: u64, longest: Nanos, now: Nanos) -> Result<Booked, Denied> {
        self.bucket.take_place(cost, Spacing::Even, longest, now)
    }

    fn cancel(&self, booked: &Booked, now: Option<Nanos>) {
        self.bucket.give_place_back(booked, Spacing::Even, at_or_now(now, self.bucket.clock()));
    }

    fn refuse_late(&self, cost: u64, now: Nanos) -> Denied {
        self.bucket.refuse_late(cost, Spacing::Even, now)
    }

    fn now(&self) -> Nanos {
        self.bucket.clock().now()
    }

    fn paused_until(&self) -> Nanos {
        self.bucket.paused_until()
    }
}

impl<C: Clock> fmt::Debug for Pace<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").field("quota", &format_args!("{}", self.quota())).finish_non_exhaustive()
    }
}
