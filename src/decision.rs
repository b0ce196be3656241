//! The answer "no", and what can be asked of it.

use core::fmt;
use core::time::Duration;

use crate::axis::Rate;
use crate::nanos::Nanos;

/// Why a cost was not admitted. Nothing was consumed.
///
/// A caller does something else about each reason: come back later, make the request smaller, or mend the program. It is an answer, not a failure; it is an [`Error`](core::error::Error) too, so that `?` works.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Bucket, Denied, Manual, quota};
///
/// let bucket = Bucket::with_clock(quota!("2/s burst 3"), Manual::new());
/// bucket.try_acquire_n(3)?;
///
/// let denied = bucket.try_acquire().unwrap_err();
/// assert_eq!(denied.wait(), Some(Duration::from_millis(500)));
/// assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)));
/// assert_eq!(bucket.try_acquire_n(4), Err(Denied::OverCapacity { cost: 4, capacity: 3 }));
/// # Ok::<(), Denied>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
pub enum Denied {
    /// The tokens are not there yet, or the limiter is paused. It tells the earliest time to come back.
    NotYet(NotYet),
    /// The cost is above the capacity: it will never be admitted, however long the caller waits.
    OverCapacity {
        /// The cost asked for, in tokens.
        cost: u64,
        /// The most that is ever admitted at once, in tokens.
        capacity: u64,
    },
    /// A cost of zero asks for nothing. To look without consuming, peek.
    ZeroCost,
    /// A keyed limiter has no room for another key, and this one is new. It tells the earliest time at which there can
    /// be room.
    NoRoom(NotYet),
}

/// A refusal for now: it knows when the same cost would be admitted if nobody else took the tokens first.
///
/// The time is worked out only when it is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotYet {
    rate: Rate,
    now: u64,
    issued: u64,
    hold: u64,
}

impl Denied {
    /// How long until the same cost would fit, exact and rounded up to the nanosecond; `None` if it never will.
    ///
    /// Cost: at most two divisions of 128 bits, and no second reading of the clock.
    #[inline]
    pub fn wait(&self) -> Option<Duration> {
        self.not_yet().map(NotYet::wait)
    }

    /// The wait in whole seconds, rounded up and never zero, for a `Retry-After` field; `None` if it never will fit.
    #[inline]
    pub fn retry_after(&self) -> Option<Duration> {
        self.not_yet().map(NotYet::retry_after)
    }

    #[inline]
    fn not_yet(&self) -> Option<&NotYet> {
        match self {
            Self::NotYet(not_yet) | Self::NoRoom(not_yet) => Some(not_yet),
            Self::OverCapacity { .. } | Self::ZeroCost => None,
        }
    }
}

impl NotYet {
    /// Refused at the reading `now`; admissible when `issued` units have been issued, but not before `hold`.
    #[inline]
    pub(crate) const fn new(rate: Rate, now: u64, issued: u64, hold: u64) -> Self {
        Self { rate, now, issued, hold }
    }

    /// Refused at the reading `now`; admissible at the reading `ready`.
    #[cfg(feature = "window")]
    #[inline]
    pub(crate) const fn until(now: u64, ready: u64) -> Self {
        Self::new(Rate::OF_TIME, now, ready, 0)
    }

    /// How long until the same cost would fit, exact and rounded up to the nanosecond.
    ///
    /// Waiting so long is enough if nobody else takes the tokens first, and one nanosecond less is not.
    /// [`Nanos::MAX`] as a duration stands for a time beyond what the limiter can count.
    #[inline]
    pub fn wait(&self) -> Duration {
        self.wait_nanos().as_duration()
    }

    /// The wait in whole seconds, rounded up and never zero.
    #[inline]
    pub fn retry_after(&self) -> Duration {
        self.wait_nanos().as_retry_after()
    }

    /// The reading of the limiter's clock at which the same cost would fit.
    #[inline]
    pub fn ready_at(&self) -> Nanos {
        Nanos::new(self.rate.reached(self.issued).max(self.hold).max(self.now))
    }

    #[inline]
    fn wait_nanos(&self) -> Nanos {
        // Not by way of `ready_at`: every step between the reading and the answer counts (see benches/README.md).
        match self.rate.reached(self.issued).max(self.hold) {
            u64::MAX => Nanos::MAX,
            ready => Nanos::new(ready.saturating_sub(self.now)),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(not_yet) => not_yet.fmt(f),
            Self::OverCapacity { cost, capacity } => {
                write!(f, "cost {cost} is above the capacity of {capacity} and will never be admitted")
            }
            Self::ZeroCost => write!(f, "cost 0 is invalid: a cost is at least 1"),
            Self::NoRoom(not_yet) => write!(f, "no room for another key: try again in {:?}", not_yet.wait()),
        }
    }
}

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not yet: try again in {:?}", self.wait())
    }
}

impl fmt::Debug for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotYet").field("wait", &self.wait()).field("ready_at", &self.ready_at()).finish()
    }
}

impl core::error::Error for Denied {}

impl core::error::Error for NotYet {}
