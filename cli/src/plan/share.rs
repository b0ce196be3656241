//! A share in per cent, kept as a whole number of millionths so that what it asks for is exact.

use std::fmt;
use std::str::FromStr;

const WHOLE: u64 = 1_000_000;

/// A percentage with at most four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    millionths: u64,
}

impl Share {
    /// The fewest of `count` that are at least this share of them.
    pub(crate) fn of(self, count: u64) -> u64 {
        let share = (u128::from(count) * u128::from(self.millionths)).div_ceil(WHOLE.into());
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// `value` and this share of it on top, rounded up.
    pub(crate) fn on_top_of(self, value: u128) -> u128 {
        value.saturating_mul((WHOLE + self.millionths).into()).div_ceil(WHOLE.into())
    }

    pub(crate) fn as_f64(self) -> f64 {
        self.millionths as f64 / WHOLE as f64
    }

    /// At most the whole, and not nothing.
    pub(crate) fn proper(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(share @ Self { millionths: 1..=WHOLE }) => Ok(share),
            _ => {
                Err("expected a percentage above 0 and up to 100 with at most 4 decimals, such as 99.9%"
                    .into())
            }
        }
    }

    /// Any percentage up to 1,000.
    pub(crate) fn headroom(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(share @ Self { millionths: 0..=10_000_000 }) => Ok(share),
            _ => Err("expected a percentage from 0 to 1000 with at most 4 decimals, such as 25%".into()),
        }
    }
}

impl FromStr for Share {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = |part: &str, most: usize| {
            !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        if !digits(whole, 9) || !digits(decimals, 4) {
            return Err(());
        }
        format!("{whole}{decimals:0<4}").parse().map(|millionths| Self { millionths }).map_err(|_| ())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.millionths / 10_000, self.millionths % 10_000);
        match decimals {
            0 => write!(f, "{whole} %"),
            _ => write!(f, "{whole}.{} %", format!("{decimals:04}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        let share = |text| Share::proper(text).unwrap();
        assert_eq!([100, 101, 199, 0].map(|count| share("99%").of(count)), [99, 100, 198, 0]);
        assert_eq!(share("100").of(u64::MAX), u64::MAX);
        assert_eq!(share("0.0001 %").of(1_000_001), 2);
        assert_eq!(Share::headroom("25%").unwrap().on_top_of(5), 7);
        for (text, shown) in
            [("99.9%", "99.9 %"), ("100", "100 %"), ("0.0100", "0.01 %"), ("99.0625", "99.0625 %")]
        {
            assert_eq!(share(text).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for wrong in ["", "%", "0", "0%", "100.0001", "101", "-1", "1e2", "99.99999", "99.", "99%%", "x"] {
            assert!(Share::proper(wrong).unwrap_err().contains("up to 100"), "{wrong}");
        }
        assert!(Share::headroom("1000.1").is_err() && Share::headroom("0").is_ok());
    }
}
