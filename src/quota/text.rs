//! A quota as text: [`Display`](fmt::Display), [`FromStr`], and serde's strings.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::{Fill, Quota, QuotaError};

impl FromStr for Quota {
    type Err = QuotaError;

    fn from_str(text: &str) -> Result<Self, QuotaError> {
        Self::parse(text)
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Count(self.tokens).fmt(f)?;
        Period(self.period).fmt(f)?;
        if self.capacity != self.tokens {
            write!(f, " burst {}", Count(self.capacity))?;
        }
        match self.fill {
            Fill::Full => Ok(()),
            Fill::Empty => f.write_str(" empty"),
            Fill::Tokens(tokens) => write!(f, " holding {}", Count(tokens)),
        }
    }
}

/// A number with the largest suffix that leaves it whole.
struct Count(u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffixes = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
        let whole = |(scale, _): &(u64, &str)| self.0 != 0 && self.0.is_multiple_of(*scale);
        let (scale, suffix) = suffixes.into_iter().find(whole).unwrap_or((1, ""));
        write!(f, "{}{suffix}", self.0 / scale)
    }
}

/// `/s` for one unit of time, ` per 1.5s` for any other span.
struct Period(Duration);

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.as_secs(), self.0.subsec_nanos());
        let (count, fraction, digits, unit) = match (seconds, nanos) {
            (0, 0..1_000) => (u64::from(nanos), 0, 0, "ns"),
            (0, 1_000..1_000_000) => (u64::from(nanos / 1_000), nanos % 1_000, 3, "us"),
            (0, _) => (u64::from(nanos / 1_000_000), nanos % 1_000_000, 6, "ms"),
            (_, 0) if seconds % 86_400 == 0 => (seconds / 86_400, 0, 0, "day"),
            (_, 0) if seconds % 3_600 == 0 => (seconds / 3_600, 0, 0, "h"),
            (_, 0) if seconds % 60 == 0 => (seconds / 60, 0, 0, "min"),
            _ => (seconds, nanos, 9, "s"),
        };
        if (count, fraction) == (1, 0) {
            return write!(f, "/{unit}");
        }
        write!(f, " per {count}{}{unit}", Fraction { value: fraction, digits })
    }
}

/// Decimals without the zeros at their end.
struct Fraction {
    value: u32,
    digits: usize,
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut digits) = (self.value, self.digits);
        if value == 0 {
            return Ok(());
        }
        while value % 10 == 0 {
            value /= 10;
            digits -= 1;
        }
        write!(f, ".{value:0digits$}")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Quota {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Quota {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(QuotaText)
    }
}

#[cfg(feature = "serde")]
struct QuotaText;

#[cfg(feature = "serde")]
impl serde::de::Visitor<'_> for QuotaText {
    type Value = Quota;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quota such as \"500k/min burst 750k\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quota, E> {
        Quota::parse(text).map_err(E::custom)
    }
}
