//! A rate: whole tokens every period. A quota without its capacity.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tollgate::{Quota, QuotaError};

const UNITS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(60),
    Duration::from_secs(3_600),
    Duration::from_secs(86_400),
];

/// A rate below this many tokens a period is told by a longer one, so that its last digit is no coarse step.
const FEWEST: u128 = 100;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) tokens: u64,
    pub(crate) period: Duration,
}

impl Rate {
    /// The rate that issues `cost` in `span`, rounded up, in the period that suits its size.
    pub(super) fn of(cost: u128, span: Duration) -> Self {
        let in_period = |period: &Duration| tokens_in(cost, span, *period);
        let fits = UNITS.iter().find(|period| in_period(period) >= FEWEST);
        Self::rounded_up(cost, span, *fits.unwrap_or(&UNITS[3]))
    }

    /// The rate that issues `cost` in `span`, rounded up to a whole token each `period`.
    pub(super) fn rounded_up(cost: u128, span: Duration, period: Duration) -> Self {
        Self { tokens: tokens_in(cost, span, period).try_into().unwrap_or(u64::MAX).max(1), period }
    }

    /// Exactly `tokens` in `period`, by a unit of time where one divides it.
    pub(super) fn exactly(tokens: u64, period: Duration) -> Self {
        let nanos = period.as_nanos().max(1);
        let whole = |unit: &Duration| {
            let product = u128::from(tokens) * unit.as_nanos();
            product.is_multiple_of(nanos).then(|| u64::try_from(product / nanos).ok()).flatten()
        };
        let found = UNITS.iter().find_map(|unit| Some(Self { tokens: whole(unit)?, period: *unit }));
        found.unwrap_or(Self { tokens, period })
    }

    /// The rate that issues `cost` in `span`, rounded up, in the same period; `None` if there is no span.
    pub(super) fn needed_for(self, cost: u128, span: Duration) -> Option<Self> {
        (!span.is_zero()).then(|| Self::rounded_up(cost, span, self.period))
    }

    /// Other tokens in the same period.
    pub(super) fn with(self, tokens: u64) -> Self {
        Self { tokens, ..self }
    }

    /// The quota of this rate and a capacity.
    pub(super) fn quota(self, capacity: u64) -> Result<Quota, QuotaError> {
        Quota::with_burst(self.tokens, self.period, capacity)
    }

    pub(super) fn per_second(self) -> f64 {
        self.tokens as f64 / self.period.as_secs_f64()
    }

    /// Tokens issued in `span`, rounded up.
    pub(super) fn issued_in(self, span: Duration) -> u128 {
        u128::from(self.tokens).saturating_mul(span.as_nanos()).div_ceil(self.period.as_nanos().max(1))
    }
}

/// Tokens each `period` that make up `cost` in `span`, rounded up.
fn tokens_in(cost: u128, span: Duration, period: Duration) -> u128 {
    cost.saturating_mul(period.as_nanos()).div_ceil(span.as_nanos().max(1))
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let quota: Quota = text.parse().map_err(|error: QuotaError| error.to_string())?;
        // Only a text without a capacity of its own can be given one.
        format!("{text} burst 1").parse::<Quota>().map_err(|_| {
            "expected TOKENS/PERIOD alone, such as 300k/min; the capacity has --capacity".to_owned()
        })?;
        Ok(Self { tokens: quota.tokens(), period: quota.period() })
    }
}

/// As it is written in a limit.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quota(1) {
            Ok(quota) => {
                let text = quota.to_string();
                f.write_str(text.strip_suffix(" burst 1").unwrap_or(&text))
            }
            Err(_) => write!(f, "{} in {:?}", self.tokens, self.period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_suits_the_size() {
        let shown = |cost, seconds| Rate::of(cost, Duration::from_secs(seconds)).to_string();
        assert_eq!(shown(10_000, 10), "1k/s");
        assert_eq!(shown(10_000, 11), "910/s");
        assert_eq!(shown(100, 11), "546/min");
        assert_eq!(shown(99, 3_600), "2376/day");
        assert_eq!(shown(1, 864_000), "1/day");
        assert_eq!(Rate::exactly(8, Duration::from_secs(2)).to_string(), "4/s");
        assert_eq!(Rate::exactly(1, Duration::from_millis(1_500)).to_string(), "40/min");
        assert_eq!(Rate::exactly(1, Duration::from_secs(7_000_000)).to_string(), "1 per 7000000s");
    }

    #[test]
    fn a_rate_has_no_capacity() {
        let read = |text: &str| text.parse::<Rate>().map(|rate| rate.to_string());
        assert_eq!(read("300k/min"), Ok("300k/min".into()));
        assert_eq!(read("1/s"), Ok("1/s".into()));
        assert_eq!(read("5 per 1.5s"), Ok("5 per 1.5s".into()));
        for wrong in ["300k/min burst 5", "1/s empty", "1/s burst x2"] {
            assert!(read(wrong).unwrap_err().contains("--capacity"), "{wrong}");
        }
        assert!(read("0/s").unwrap_err().contains("at least 1 token"));
    }
}
