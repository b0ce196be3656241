//! A clock that is glanced at before it is read.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::clock::{Clock, Coarse, Monotonic};
use crate::nanos::Nanos;

/// The precise clock, with a coarse one in front of it: for limiters that refuse most calls.
///
/// A refusal needs no precise time. If a cost would not be admitted even at the latest time that it can be now, it is
/// refused after a [glance](Clock::glance) at the coarse clock: a load instead of a reading. What is admitted, and
/// refusals close to the limit, are decided by the precise clock. So the bound is the precise clock's, `B + r*t`, without
/// the staleness that a bucket on [`Coarse`] alone adds.
///
/// The latest time that it can be now is two intervals after the coarse reading. If the operating system keeps the
/// refreshing thread from running for longer, refusals come late by as much; nothing is admitted too early. A wait is
/// told from the coarse reading, so it may be too long by what that is late, and is never too short.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Bucket, Glancing, quota};
///
/// let bucket = Bucket::with_clock(quota!("1000/s burst 10"), Glancing::start(Duration::from_micros(500))?);
/// assert!(bucket.try_acquire_n(10).is_ok());
/// assert!(bucket.try_acquire_n(10).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glancing {
    precise: Monotonic,
    coarse: Coarse,
    /// What the coarse clock may be late by.
    late: Nanos,
}

impl Glancing {
    /// Starts the thread that refreshes the coarse clock every `interval`; see [`Coarse::start`].
    ///
    /// # Errors
    ///
    /// The operating system starts no thread.
    pub fn start(interval: Duration) -> io::Result<Self> {
        let late = Nanos::from_duration(interval.saturating_mul(2));
        Ok(Self { precise: Monotonic::new(), coarse: Coarse::start(interval)?, late })
    }
}

impl Clock for Glancing {
    #[inline]
    fn now(&self) -> Nanos {
        self.precise.now()
    }

    #[inline]
    fn now_ordered(&self) -> Nanos {
        self.precise.now_ordered()
    }

    #[inline]
    fn glance(&self) -> Option<RangeInclusive<Nanos>> {
        let earliest = self.coarse.now();
        Some(earliest..=earliest.saturating_add(self.late))
    }
}
