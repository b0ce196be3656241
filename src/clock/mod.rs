//! Where readings come from.

#[cfg(feature = "std")]
mod coarse;
#[cfg(feature = "std")]
mod glancing;
mod manual;
#[cfg(feature = "std")]
mod monotonic;
mod non_decreasing;
#[cfg(feature = "std")]
mod scale;

#[cfg(feature = "std")]
pub use self::coarse::Coarse;
#[cfg(feature = "std")]
pub use self::glancing::Glancing;
pub use self::manual::Manual;
#[cfg(feature = "shared-memory")]
pub(crate) use self::monotonic::ordered;
#[cfg(feature = "std")]
pub use self::monotonic::{Monotonic, Source};
pub use self::non_decreasing::NonDecreasing;
#[cfg(feature = "shared-memory")]
pub(crate) use self::scale::Scale;

use core::ops::RangeInclusive;

use crate::nanos::Nanos;

/// A source of readings: nanoseconds since an origin of the clock's own.
///
/// Bring your own by implementing the one method. A clock should not step back; one that can (wall time, a
/// hypervisor's clock) goes behind [`NonDecreasing`]. Readings that are merely late, because a thread was held up
/// between reading and deciding, are harmless: they make the answer stricter and never create a token.
///
/// The origin must not be later than the limiter's first use, and readings should be small: a limiter counts for at
/// least fifty years from the origin and refuses everything after that.
///
/// ```
/// use std::time::Instant;
/// use tollgate::{Bucket, Clock, Nanos, quota};
///
/// struct Std(Instant);
///
/// impl Clock for Std {
///     fn now(&self) -> Nanos {
///         self.0.elapsed().into()
///     }
/// }
///
/// let bucket = Bucket::with_clock(quota!("100/s"), Std(Instant::now()));
/// assert!(bucket.try_acquire().is_ok());
/// ```
pub trait Clock {
    /// The time now.
    fn now(&self) -> Nanos;

    /// The time now, no earlier than any reading that another thread took before it did what this thread has seen of it.
    ///
    /// A processor may read its counter while loads that stand ahead of it in the program are still under way, so that
    /// [`now`](Self::now) tells a time up to some hundred nanoseconds earlier than a reading which led to what was loaded.
    /// Where that would matter, as in undoing an admission of another thread's time, limiters ask for this. It is the
    /// same for a clock that is not a bare counter; one that wraps another passes the call on.
    #[inline]
    fn now_ordered(&self) -> Nanos {
        self.now()
    }

    /// The earliest and the latest time that it can be now, for a clock that can tell those for less than a reading.
    ///
    /// What would be refused even at the latest is then refused without a reading. `Glancing` is such a clock.
    #[inline]
    fn glance(&self) -> Option<RangeInclusive<Nanos>> {
        None
    }

    /// Whether it is a [`Monotonic`], so that its readings are those of every other one.
    #[doc(hidden)]
    #[inline]
    fn is_of_the_process(&self) -> bool {
        false
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now(&self) -> Nanos {
        (**self).now()
    }

    #[inline]
    fn now_ordered(&self) -> Nanos {
        (**self).now_ordered()
    }

    #[inline]
    fn glance(&self) -> Option<RangeInclusive<Nanos>> {
        (**self).glance()
    }

    #[inline]
    fn is_of_the_process(&self) -> bool {
        (**self).is_of_the_process()
    }
}

#[cfg(feature = "std")]
impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    #[inline]
    fn now(&self) -> Nanos {
        (**self).now()
    }

    #[inline]
    fn now_ordered(&self) -> Nanos {
        (**self).now_ordered()
    }

    #[inline]
    fn glance(&self) -> Option<RangeInclusive<Nanos>> {
        (**self).glance()
    }

    #[inline]
    fn is_of_the_process(&self) -> bool {
        (**self).is_of_the_process()
    }
}

/// The default clock of a limiter. It can be read with the feature `std` only.
#[cfg(not(feature = "std"))]
#[derive(Debug)]
pub enum Monotonic {}
