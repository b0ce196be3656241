//! How long to wait where the upstream does not say.

use core::time::Duration;

use crate::wait::Jitter;

/// Exponential back-off with full jitter: before the nth retry any time from none to `first * 2^(n - 1)`, and to `most`.
///
/// Full jitter does the least work in all of the forms that Marc Brooker compares in "Exponential Backoff And Jitter" (AWS
/// Architecture Blog, 2015), since the retries of many clients are spread over the whole span. It is for failures without
/// a hint; a hint is never undercut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// At most `first` before the first retry, twice as much before each further one, and never more than `most`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::upstream::Backoff;
    ///
    /// let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(20));
    /// let longest = [0, 1, 2, 5, 6, 60].map(|retries| backoff.longest(retries));
    /// assert_eq!(longest, [500, 1_000, 2_000, 16_000, 20_000, 20_000].map(Duration::from_millis));
    /// ```
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most }
    }

    /// The longest wait after so many retries.
    pub fn longest(&self, retries: u32) -> Duration {
        let doubled = 1_u32.checked_shl(retries).unwrap_or(u32::MAX);
        self.first.saturating_mul(doubled).min(self.most)
    }

    /// The wait after so many retries.
    pub(super) fn wait(&self, retries: u32, jitter: &Jitter) -> Duration {
        jitter.up_to(self.longest(retries))
    }
}

/// 0.5 s at first, 20 s at most.
impl Default for Backoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(500), Duration::from_secs(20))
    }
}
