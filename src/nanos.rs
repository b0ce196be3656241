//! Nanoseconds in a `u64`: the one unit of time inside the crate, and the only place where it meets [`Duration`].

use core::fmt;
use core::time::Duration;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A reading of a limiter's clock, or a span between two readings, in nanoseconds.
///
/// The range is 584 years. Conversions and sums saturate at its ends: a time too large to hold becomes
/// [`Nanos::MAX`], which every limiter reads as "later than anything".
///
/// ```
/// use std::time::Duration;
/// use tollgate::Nanos;
///
/// let reading = Nanos::from(Duration::from_millis(250));
/// assert_eq!(reading.as_u64(), 250_000_000);
/// assert_eq!(reading.saturating_sub(Nanos::MAX), Nanos::ZERO);
/// assert_eq!(Nanos::from(Duration::MAX), Nanos::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(u64);

impl Nanos {
    /// The origin of a clock, or an empty span.
    pub const ZERO: Self = Self(0);
    /// The last reading a clock can give, or a span without end.
    pub const MAX: Self = Self(u64::MAX);

    /// So many nanoseconds.
    #[inline]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The same span; [`Nanos::MAX`] where it does not fit.
    #[inline]
    pub const fn from_duration(duration: Duration) -> Self {
        let Some(nanos) = duration.as_secs().checked_mul(NANOS_PER_SEC) else {
            return Self::MAX;
        };
        Self(nanos.saturating_add(duration.subsec_nanos() as u64))
    }

    /// The number of nanoseconds.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The same span as a [`Duration`].
    #[inline]
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The sum, or [`Nanos::MAX`].
    #[inline]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The difference, or [`Nanos::ZERO`].
    #[inline]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The span in whole seconds, rounded up and at least one: what a refusal may promise in a `Retry-After` field
    /// (RFC 9110 section 10.2.3), which has no fractions and where 0 invites a hot loop.
    #[inline]
    pub(crate) const fn as_retry_after(self) -> Duration {
        let seconds = self.0.div_ceil(NANOS_PER_SEC);
        Duration::from_secs(if seconds == 0 { 1 } else { seconds })
    }
}

impl From<Duration> for Nanos {
    #[inline]
    fn from(duration: Duration) -> Self {
        Self::from_duration(duration)
    }
}

impl From<Nanos> for Duration {
    #[inline]
    fn from(nanos: Nanos) -> Self {
        nanos.as_duration()
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_duration().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_saturate() {
        assert_eq!(Nanos::from_duration(Duration::new(1, 5)).as_u64(), 1_000_000_005);
        assert_eq!(Nanos::from_duration(Duration::from_nanos(u64::MAX)).as_u64(), u64::MAX);
        assert_eq!(
            Nanos::from_duration(Duration::from_nanos(u64::MAX) + Duration::from_nanos(1)),
            Nanos::MAX
        );
        assert_eq!(Nanos::from_duration(Duration::MAX), Nanos::MAX);
        assert_eq!(Duration::from(Nanos::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn retry_after_rounds_up_and_is_never_zero() {
        let seconds = |nanos| Nanos::new(nanos).as_retry_after().as_secs();
        let cases = [(0, 1), (1, 1), (NANOS_PER_SEC, 1), (NANOS_PER_SEC + 1, 2), (u64::MAX, 18_446_744_074)];
        for (nanos, expected) in cases {
            assert_eq!(seconds(nanos), expected, "{nanos} ns");
        }
    }
}
