//! The scale that a quota must be put on, by the rule and without looking at the core.

use crate::oracle::gcd;

/// The fraction of a token in which the core must count, by the rule of GUARANTEES 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Whole units of `1/q` token, `p` of them issued every nanosecond.
    Exact { p: u64, q: u64 },
    /// Units of `2^-fraction` token.
    Binary { fraction: u32 },
}

impl Scale {
    pub(crate) fn of(tokens: u64, period: u64, burst: u64) -> Self {
        let shared = gcd(tokens.into(), period.into()) as u64;
        let (p, q) = (tokens / shared, period / shared);
        let span = u128::from(burst) * u128::from(q);
        if p <= 8 && span < 1 << 61 {
            return Scale::Exact { p, q };
        }
        let fits = |fraction: u32| {
            let capacity_fits = u128::from(burst) << fraction < 1 << 61;
            let rate_fits = fraction == 0 || u128::from(p) << fraction <= 2 * u128::from(q);
            capacity_fits && rate_fits
        };
        Scale::Binary { fraction: (0..61).rev().find(|&fraction| fits(fraction)).expect("2^0 always fits") }
    }

    /// Whether an admission may be this many parts (`1/parts_of_a_token`) above the rational model: not at all on the
    /// exact scale, less than a unit on the binary one.
    pub(crate) fn forgives(self, excess: i128, parts_of_a_token: i128) -> bool {
        match self {
            _ if excess <= 0 => true,
            Scale::Exact { .. } => false,
            Scale::Binary { fraction } => excess < parts_of_a_token && excess << fraction < parts_of_a_token,
        }
    }
}

mod tests {
    use super::*;
    use crate::support::{MINUTE, S};

    #[test]
    fn the_scale_rule() {
        assert_eq!(Scale::of(1, S, 1), Scale::Exact { p: 1, q: S });
        assert_eq!(Scale::of(150_000, MINUTE, 150_000), Scale::Exact { p: 1, q: 400_000 });
        assert_eq!(Scale::of(8, 1, 1), Scale::Exact { p: 8, q: 1 });
        assert_eq!(Scale::of(9, 1, 1), Scale::Binary { fraction: 0 });
        assert_eq!(Scale::of(9, S, 1), Scale::Binary { fraction: 27 });
        assert_eq!(Scale::of(1, S, (1 << 61) / S), Scale::Exact { p: 1, q: S });
        assert_eq!(Scale::of(1, S, (1 << 61) / S + 1), Scale::Binary { fraction: 29 });
    }

    #[test]
    fn less_than_a_unit_is_forgiven_on_the_binary_scale_only() {
        assert!(Scale::Binary { fraction: 3 }.forgives(12, 100), "12/100 of a token is less than 1/8");
        assert!(!Scale::Binary { fraction: 3 }.forgives(13, 100));
        assert!(!Scale::Exact { p: 1, q: 100 }.forgives(1, 100));
        assert!(Scale::Exact { p: 1, q: 100 }.forgives(0, 100));
    }
}
