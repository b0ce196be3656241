//! What a look into a bucket shows.

use core::fmt;
use core::time::Duration;

use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::quota::Quota;

/// The state of a bucket at one reading of its clock, seen without consuming anything.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Bucket, Manual, quota};
///
/// let bucket = Bucket::with_clock(quota!("1/s burst 5"), Manual::new());
/// bucket.try_acquire_n(3)?;
///
/// let level = bucket.peek();
/// assert_eq!((level.available(), level.debt()), (2, 0));
/// assert_eq!(level.time_to_full(), Duration::from_secs(3));
/// assert_eq!(level.wait_for(4), Ok(Duration::from_secs(2)));
/// # Ok::<(), tollgate::Denied>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Level {
    gcra: Gcra,
    arrival: u64,
    now: u64,
    hold: u64,
}

impl Level {
    pub(crate) fn new(gcra: Gcra, arrival: u64, now: u64, hold: u64) -> Self {
        Self { gcra, arrival, now, hold }
    }

    /// Whole tokens in the bucket, rounded down; 0 in debt. A pause does not count: see [`paused_for`](Self::paused_for).
    pub fn available(&self) -> u64 {
        self.gcra.available(self.deficit())
    }

    /// Tokens owed, rounded up; 0 unless charges went beyond an empty bucket.
    pub fn debt(&self) -> u64 {
        self.gcra.debt(self.deficit())
    }

    /// Time until the bucket is full, rounded up to the nanosecond, if nothing more is taken. [`Nanos::MAX`] as a
    /// duration stands for a time beyond what the limiter can count.
    pub fn time_to_full(&self) -> Duration {
        match Nanos::new(self.gcra.full_at(self.arrival)) {
            Nanos::MAX => Nanos::MAX.as_duration(),
            full_at => full_at.saturating_sub(Nanos::new(self.now)).as_duration(),
        }
    }

    /// Time until the pause ends; zero when there is none.
    pub fn paused_for(&self) -> Duration {
        Nanos::new(self.hold).saturating_sub(Nanos::new(self.now)).as_duration()
    }

    /// Time until `cost` would be admitted, zero if it would be now.
    ///
    /// # Errors
    ///
    /// [`Denied::ZeroCost`], or [`Denied::OverCapacity`] for a cost that is never admitted.
    pub fn wait_for(&self, cost: u64) -> Result<Duration, Denied> {
        let cost = self.gcra.cost(cost)?;
        let refusal = self.gcra.not_yet(self.arrival, self.now, cost, self.hold);
        Ok(refusal.wait().unwrap_or(Duration::MAX))
    }

    /// Finishes what is shown of the bucket.
    pub(crate) fn describe(&self, mut f: fmt::DebugStruct<'_, '_>, quota: Quota) -> fmt::Result {
        f.field("quota", &format_args!("{quota}"))
            .field("available", &self.available())
            .field("debt", &self.debt())
            .field("paused_for", &self.paused_for())
            .field("arrival", &self.arrival)
            .finish()
    }

    /// How far the arrival point is ahead of what has been issued, in units.
    pub(crate) fn deficit(&self) -> u64 {
        self.arrival.saturating_sub(self.gcra.issued(self.now))
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Level")
            .field("available", &self.available())
            .field("debt", &self.debt())
            .field("time_to_full", &self.time_to_full())
            .field("paused_for", &self.paused_for())
            .finish()
    }
}
