//! Tokio's timer, and its clock.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::wait::timer::Timer;

/// Tokio's timer, to the millisecond and never early. It needs a runtime whose time is enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    type Sleep = Pin<Box<Sleep>>;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        Box::pin(tokio::time::sleep(span))
    }
}

/// Tokio's clock, which tests can pause and advance.
///
/// In production the default clock of a limiter is cheaper and as good: only a test under paused time needs this one.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Bucket, quota, wait::TokioClock};
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
/// runtime.block_on(async {
///     let limit = Bucket::with_clock(quota!("1/min"), TokioClock::new());
///     let start = tokio::time::Instant::now();
///     limit.acquire().await?;
///     limit.acquire().await?;
///     assert_eq!(start.elapsed(), Duration::from_secs(60));
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Instant,
}

impl TokioClock {
    /// A clock whose origin is now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Nanos {
        self.origin.elapsed().into()
    }
}
