//! Who wakes a waiter.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// A source of sleeps: the timer of an async runtime.
///
/// A waiter has one sleep at most. It asks the limiter's clock again after each, and sleeps for the rest if that says
/// so: timers may fire early, may be cut short at a longest span of their own, and may run on another clock than the
/// limiter. Spans up to [`Duration::MAX`] are asked for. A timer that fires late only makes the waiter late.
///
/// The sleep is [`Unpin`]; one that is not goes into a `Pin<Box<_>>`. It must be dropped without waking anyone.
///
/// ```
/// use std::{future::{Ready, ready}, time::Duration};
/// use tollgate::wait::Timer;
///
/// /// For a test that moves a `Manual` clock by sleeping.
/// struct Skip<'a>(&'a tollgate::Manual);
///
/// impl Timer for Skip<'_> {
///     type Sleep = Ready<()>;
///
///     fn sleep(&self, span: Duration) -> Ready<()> {
///         self.0.advance(span);
///         ready(())
///     }
/// }
/// ```
pub trait Timer {
    /// Is ready when the span is over.
    type Sleep: Future<Output = ()> + Unpin;

    /// A sleep of so long from now.
    fn sleep(&self, span: Duration) -> Self::Sleep;
}

impl<T: Timer + ?Sized> Timer for &T {
    type Sleep = T::Sleep;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        (**self).sleep(span)
    }
}

impl<T: Timer + ?Sized> Timer for Arc<T> {
    type Sleep = T::Sleep;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        (**self).sleep(span)
    }
}
