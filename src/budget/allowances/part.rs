//! The part of a whole that a share is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::quota::{Fill, Quota};

use super::config::Limit;

/// A part of a whole, in millionths; above 0, and at most the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part(u32);

/// A text that is no part: what would be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPart;

impl Part {
    pub(super) const WHOLE: u64 = 1_000_000;

    pub(super) fn millionths(self) -> u64 {
        self.0.into()
    }

    /// That part of a limit, with its capacity rounded down; `None` if nothing is left of it, or if its rate cannot be
    /// written.
    pub(super) fn of(self, whole: Limit) -> Option<Limit> {
        match whole {
            Limit::Rate(quota) => self.of_quota(quota).map(Limit::Rate),
            Limit::InFlight(limit) => {
                let part = u32::try_from(self.of_number(limit.into())).ok()?;
                (part > 0).then_some(Limit::InFlight(part))
            }
        }
    }

    /// The rate is exact: fewer tokens, or a longer period.
    fn of_quota(self, whole: Quota) -> Option<Quota> {
        let tokens = u128::from(whole.tokens()) * u128::from(self.0);
        let common = common_divisor(tokens, Self::WHOLE.into());
        let longer = u32::try_from(u128::from(Self::WHOLE) / common).ok()?;
        let period: Duration = whole.period().checked_mul(longer)?;
        let capacity = self.of_number(whole.capacity());
        let fill = match whole.initial() {
            Fill::Tokens(tokens) => Fill::Tokens(self.of_number(tokens)),
            other => other,
        };
        Quota::with_burst(u64::try_from(tokens / common).ok()?, period, capacity).ok()?.fill(fill).ok()
    }

    fn of_number(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.0) / u128::from(Self::WHOLE);
        // At most the whole.
        u64::try_from(part).unwrap_or(whole)
    }
}

fn common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl FromStr for Part {
    type Err = NoPart;

    /// `30%` or `12.5%`, with at most four decimals.
    fn from_str(text: &str) -> Result<Self, NoPart> {
        let percent = text.strip_suffix('%').ok_or(NoPart)?.trim_end();
        let (whole, decimals) = percent.split_once('.').unwrap_or((percent, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || decimals.len() > 4 {
            return Err(NoPart);
        }
        let whole: u32 = whole.parse().map_err(|_| NoPart)?;
        let decimals: u32 = format!("{decimals:0<4}").parse().map_err(|_| NoPart)?;
        let millionths = whole.checked_mul(10_000).ok_or(NoPart)?.saturating_add(decimals);
        if millionths == 0 || u64::from(millionths) > Self::WHOLE {
            return Err(NoPart);
        }
        Ok(Self(millionths))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        percent(f, self.0.into())
    }
}

/// So many millionths, in per cent.
pub(super) fn percent(f: &mut fmt::Formatter<'_>, millionths: u64) -> fmt::Result {
    let (whole, decimals) = (millionths / 10_000, format!("{:04}", millionths % 10_000));
    let decimals = decimals.trim_end_matches('0');
    write!(f, "{whole}{}{decimals}%", if decimals.is_empty() { "" } else { "." })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota;

    #[test]
    fn parts_are_read_and_written_exactly() {
        for text in ["30%", "12.5%", "0.0001%", "100%", "99.9999%", "0.5%"] {
            assert_eq!(text.parse::<Part>().unwrap().to_string(), text);
        }
        for text in
            ["0%", "0.0000%", "100.0001%", "101%", "30", "%", ".5%", "5.%", "-3%", "1.00001%", "4294967296%"]
        {
            assert_eq!(text.parse::<Part>(), Err(NoPart), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_rate_is_exact_and_of_a_capacity_rounded_down() {
        let of = |text: &str, quota| text.parse::<Part>().unwrap().of(Limit::Rate(quota));
        assert_eq!(of("30%", quota!("300k/min burst 450k")), Some(Limit::Rate(quota!("90k/min burst 135k"))));
        assert_eq!(of("33.3%", quota!("100/s burst 10")), Some(Limit::Rate(quota!("333 per 10s burst 3"))));
        assert_eq!(of("100%", quota!("7/s")), Some(Limit::Rate(quota!("7/s"))));
        assert_eq!(of("50%", quota!("10/s holding 3")), Some(Limit::Rate(quota!("5/s holding 1"))));
        assert_eq!(of("10%", quota!("9/s")), None, "no token is left");
        assert_eq!("26%".parse::<Part>().unwrap().of(Limit::InFlight(4)), Some(Limit::InFlight(1)));
        assert_eq!("24%".parse::<Part>().unwrap().of(Limit::InFlight(4)), None);
    }
}
