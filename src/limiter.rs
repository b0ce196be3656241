//! The one trait that wrappers accept.

use crate::decision::Denied;

/// Something that admits work or refuses it, at once.
///
/// Wrappers of this crate take any `Limiter`. It is implemented for references and, with `std`, for
/// [`Arc`](std::sync::Arc).
///
/// ```
/// use tollgate::{Bucket, Denied, Limiter, Manual, quota};
///
/// fn start(limiter: &impl Limiter) -> Result<&'static str, Denied> {
///     limiter.try_acquire()?;
///     Ok("started")
/// }
///
/// let bucket = Bucket::with_clock(quota!("1/s"), Manual::new());
/// assert_eq!(start(&bucket), Ok("started"));
/// assert!(start(&bucket).is_err());
/// ```
pub trait Limiter {
    /// Admits `cost` tokens now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// The reason, which tells the wait if there is one.
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied>;

    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// The reason, which tells the wait if there is one.
    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        self.try_acquire_n(1)
    }
}

impl<L: Limiter + ?Sized> Limiter for &L {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        (**self).try_acquire_n(cost)
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        (**self).try_acquire()
    }
}

#[cfg(feature = "std")]
impl<L: Limiter + ?Sized> Limiter for std::sync::Arc<L> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        (**self).try_acquire_n(cost)
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        (**self).try_acquire()
    }
}
