//! What a look at a limit by windows shows.

use core::fmt;
use core::time::Duration;

use crate::nanos::Nanos;

/// What counts against the limit at one reading, seen without consuming anything.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Manual;
/// use tollgate::window::{Every, Fixed};
///
/// let hourly = Every::new(Duration::from_secs(3600))?;
/// let limit = Fixed::with_clock(100, hourly, Manual::new())?;
/// limit.try_acquire_n(30).unwrap();
/// let usage = limit.peek();
/// assert_eq!((usage.used(), usage.remaining()), (30, 70));
/// assert_eq!(usage.time_to_reset(), Duration::from_secs(3600));
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub(super) limit: u64,
    pub(super) used: u64,
    pub(super) now: u64,
    pub(super) resets_at: u64,
    pub(super) hold: u64,
}

impl Usage {
    /// The limit, in tokens.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Tokens that count against the limit, rounded up. Charges may have brought it above the limit.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The largest cost that would be admitted; 0 if none. A pause does not count: see [`paused_for`](Self::paused_for).
    pub fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Tokens above the limit; 0 unless charges went beyond it.
    pub fn overrun(&self) -> u64 {
        self.used.saturating_sub(self.limit)
    }

    /// The reading from which on nothing taken so far counts any more: the end of a fixed window; for the sliding forms
    /// the moment when the last of it has left, which is now if there is nothing. [`Nanos::MAX`] if there is no such
    /// reading.
    pub fn resets_at(&self) -> Nanos {
        Nanos::new(self.resets_at)
    }

    /// The time until [`resets_at`](Self::resets_at); [`Nanos::MAX`] as a duration if there is no such reading.
    pub fn time_to_reset(&self) -> Duration {
        match self.resets_at() {
            Nanos::MAX => Nanos::MAX.as_duration(),
            reading => reading.saturating_sub(Nanos::new(self.now)).as_duration(),
        }
    }

    /// Time until the pause ends; zero when there is none.
    pub fn paused_for(&self) -> Duration {
        Nanos::new(self.hold).saturating_sub(Nanos::new(self.now)).as_duration()
    }
}

impl fmt::Debug for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Usage")
            .field("limit", &self.limit)
            .field("used", &self.used)
            .field("time_to_reset", &self.time_to_reset())
            .field("paused_for", &self.paused_for())
            .finish()
    }
}
