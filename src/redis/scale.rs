//! Quotas in the units of the script.

use super::error::NotRepresentable;
use crate::quota::Quota;

/// Numbers below it are exact.
const EXACT: u128 = 1 << 53;

/// `p` units are issued in a microsecond, a token is `q`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scale {
    pub(super) p: u64,
    pub(super) q: u64,
    /// The capacity, in units.
    pub(super) capacity: u64,
}

impl Scale {
    pub(super) fn of(quota: &Quota) -> Result<Self, NotRepresentable> {
        if quota.initial_tokens() != quota.capacity() {
            return Err(NotRepresentable::InitialFill { quota: *quota });
        }
        let (tokens, nanos) = (u128::from(quota.tokens()) * 1_000, quota.period().as_nanos());
        let divisor = gcd(tokens, nanos);
        let (p, q) = (tokens / divisor, nanos / divisor);
        let capacity = q.checked_mul(quota.capacity().into()).filter(|capacity| 2 * capacity < EXACT);
        let small = |number: u128| u64::try_from(number).ok().filter(|number| u128::from(*number) < EXACT);
        let fits = || Some(Self { p: small(p)?, q: small(q)?, capacity: small(capacity?)? });
        fits().ok_or(NotRepresentable::TooFine { quota: *quota })
    }

    /// Units of so many tokens; at most the largest exact number.
    pub(super) fn units(self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.q).min(EXACT as u64 - 1)
    }
}

fn gcd(mut larger: u128, mut smaller: u128) -> u128 {
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota;

    fn scale(text: &str) -> Result<(u64, u64, u64), NotRepresentable> {
        Scale::of(&text.parse().unwrap()).map(|scale| (scale.p, scale.q, scale.capacity))
    }

    #[test]
    fn rates_are_in_lowest_terms() {
        assert_eq!(scale("60000/min"), Ok((1, 1_000, 60_000_000)));
        assert_eq!(scale("1M/s burst 10"), Ok((1, 1, 10)));
        assert_eq!(scale("3M/s burst 10"), Ok((3, 1, 10)));
        assert_eq!(scale("7/s burst 2"), Ok((7, 1_000_000, 2_000_000)));
        assert_eq!(scale("1/day burst 52124"), Ok((1, 86_400_000_000, 4_503_513_600_000_000)));
    }

    #[test]
    fn what_is_not_exact_is_refused() {
        for text in ["1/day burst 52125", "1/s burst 1 empty", "5/s burst 5 holding 3"] {
            assert!(scale(text).is_err(), "{text}");
        }
        assert!(scale("1/day burst 52125").unwrap_err().to_string().contains("2^52"));
    }

    #[test]
    fn costs_saturate() {
        let scale = Scale::of(&quota!("7/s burst 2")).unwrap();
        assert_eq!((scale.units(3), scale.units(u64::MAX)), (3_000_000, (1 << 53) - 1));
    }
}
