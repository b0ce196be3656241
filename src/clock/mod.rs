//! Where readings come from.

#[cfg(feature = "std")]
mod coarse;
mod manual;
#[cfg(feature = "std")]
mod monotonic;
mod non_decreasing;

#[cfg(feature = "std")]
pub use self::coarse::Coarse;
pub use self::manual::Manual;
#[cfg(feature = "std")]
pub use self::monotonic::{Monotonic, Source};
pub use self::non_decreasing::NonDecreasing;

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
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now(&self) -> Nanos {
        (**self).now()
    }
}

#[cfg(feature = "std")]
impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    #[inline]
    fn now(&self) -> Nanos {
        (**self).now()
    }
}

/// The default clock of a limiter. It can be read with the feature `std` only.
#[cfg(not(feature = "std"))]
#[derive(Debug)]
pub enum Monotonic {}
