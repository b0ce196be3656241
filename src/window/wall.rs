//! Wall time for windows: it follows the wall clock and never goes back.

use crossbeam_utils::CachePadded;

use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::{AtomicU64, Ordering};

/// Wall time, in nanoseconds since the Unix epoch, for windows that begin at times of day.
///
/// A wall clock is set and corrected while it runs, and a limiter must not be fooled by that. These readings
///
/// * are the wall clock's, as long as it goes forward. A step forward counts as time passing;
/// * **never go back**, so no window begins twice. After a step back they go on **at half the speed** until the wall clock
///   has caught up, twice as long as the step was large. So they never stand still either: a wait that was told takes at
///   most twice as long, however far the clock was set back.
///
/// Cost: a reading of either clock and one atomic maximum, in a cache line that all threads share.
///
/// ```
/// use tollgate::window::{Every, Fixed, Wall};
///
/// // A hundred thousand each day from midnight to midnight, UTC.
/// let day = std::time::Duration::from_secs(86_400);
/// # #[cfg(feature = "std")]
/// let limit = Fixed::with_clock(100_000, Every::new(day)?, Wall::new())?;
/// # #[cfg(feature = "std")]
/// assert!(limit.peek().time_to_reset() <= day);
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
#[derive(Debug)]
pub struct Wall<W = System, M = Monotonic> {
    wall: W,
    steady: M,
    /// The most that wall time was ever ahead of half the steady time.
    lead: CachePadded<AtomicU64>,
}

/// The operating system's wall clock, which may step: [`Wall`] reads it. Readings are since the Unix epoch; the clock can be
/// read with the feature `std` only.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

#[cfg(feature = "std")]
impl Wall {
    /// The operating system's wall clock, without its steps back.
    pub fn new() -> Self {
        Self::of(System, Monotonic::new())
    }
}

#[cfg(feature = "std")]
impl Default for Wall {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Clock, M: Clock> Wall<W, M> {
    /// The readings of `wall` without its steps back, which `steady`, a clock that does not step, helps to bridge.
    pub fn of(wall: W, steady: M) -> Self {
        Self { wall, steady, lead: CachePadded::new(AtomicU64::new(0)) }
    }
}

impl<W: Clock, M: Clock> Clock for Wall<W, M> {
    fn now(&self) -> Nanos {
        // Wall time first: who is held up between the two finds too small a lead, which the maximum makes good. Half the
        // steady time and the maximum only grow, and so does their sum. `Relaxed` is enough for that: of two calls of
        // which one happens after the other, the later one's maximum is no less, since both are of one atomic.
        let wall = self.wall.now().as_u64();
        let half = self.steady.now().as_u64() / 2;
        let lead = wall.saturating_sub(half);
        let most = self.lead.fetch_max(lead, Ordering::Relaxed).max(lead);
        Nanos::new(half.saturating_add(most))
    }
}

#[cfg(feature = "std")]
impl Clock for System {
    fn now(&self) -> Nanos {
        use std::time::SystemTime;
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().into()
    }
}
