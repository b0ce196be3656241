//! Arrival times as traces write them: dates, and numbers since an epoch. All are exact in nanoseconds.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// What was expected where a time could not be read.
pub(crate) const EXPECTED: &str = "expected RFC 3339 (2023-11-16T18:17:03.98Z), YYYY-MM-DD HH:MM:SS[.fraction] in \
                                   UTC, or a number of seconds or milliseconds since an epoch";

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    /// The unit that `ms`, `seconds` and the like mean.
    pub(crate) fn from_suffix(suffix: &str) -> Option<Self> {
        match suffix.to_ascii_lowercase().as_str() {
            "s" | "sec" | "secs" | "seconds" => Some(Self::Seconds),
            "ms" | "millis" | "milliseconds" => Some(Self::Millis),
            "us" | "micros" | "microseconds" => Some(Self::Micros),
            "ns" | "nanos" | "nanoseconds" => Some(Self::Nanos),
            _ => None,
        }
    }

    /// The unit in which `whole`, taken as a date since 1970, lies nearest to the present: a number of seconds stays
    /// below 10^11 until the year 5138, and one of milliseconds passes it in March 1973.
    fn from_size(whole: u128) -> Self {
        match whole {
            0..100_000_000_000 => Self::Seconds,
            100_000_000_000..100_000_000_000_000 => Self::Millis,
            100_000_000_000_000..100_000_000_000_000_000 => Self::Micros,
            _ => Self::Nanos,
        }
    }

    /// How many decimal digits of a fraction are whole nanoseconds.
    fn digits(self) -> usize {
        match self {
            Self::Seconds => 9,
            Self::Millis => 6,
            Self::Micros => 3,
            Self::Nanos => 0,
        }
    }

    fn nanos(self) -> i128 {
        10_i128.pow(self.digits() as u32)
    }
}

/// A time in nanoseconds since its epoch, which remembers how it was written so that messages can say it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) nanos: i128,
    unit: Option<Unit>,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(unit) = self.unit else {
            return match Timestamp::from_nanosecond(self.nanos) {
                Ok(time) => time.fmt(f),
                Err(_) => write!(f, "{} ns", self.nanos),
            };
        };
        let sign = if self.nanos < 0 { "-" } else { "" };
        let (whole, rest) = (self.nanos.abs() / unit.nanos(), self.nanos.abs() % unit.nanos());
        match rest {
            0 => write!(f, "{sign}{whole}"),
            _ => {
                let fraction = format!("{rest:0width$}", width = unit.digits());
                write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
            }
        }
    }
}

/// Reads the times of one trace: the unit of its numbers is decided once, by the first.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    unit: Option<Unit>,
}

impl Stamps {
    /// `unit`: what numbers count, where the caller knows.
    pub(crate) fn new(unit: Option<Unit>) -> Self {
        Self { unit }
    }

    /// The time that `text` says, or `None` where it says none.
    pub(crate) fn read(&mut self, text: &str) -> Option<Stamp> {
        match Number::read(text) {
            Some(number) => {
                let unit = *self.unit.get_or_insert_with(|| Unit::from_size(number.whole));
                Some(Stamp { nanos: number.nanos(unit)?, unit: Some(unit) })
            }
            None => date(text),
        }
    }
}

/// A length of time that `text` counts in `unit`, or `None` where it is no number, below zero or out of range.
pub(crate) fn length(text: &str, unit: Unit) -> Option<u64> {
    Number::read(text)?.nanos(unit)?.try_into().ok()
}

/// An access log's time, as in `10/Oct/2000:13:55:36 -0700`.
pub(crate) fn log_time(text: &str) -> Option<Stamp> {
    let time = Timestamp::strptime("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    Some(Stamp { nanos: time.as_nanosecond(), unit: None })
}

/// A date with a zone (RFC 3339), or without one, which is UTC.
fn date(text: &str) -> Option<Stamp> {
    let zoned = text.bytes().skip("YYYY-MM-DD".len()).any(|b| matches!(b, b'Z' | b'z' | b'+' | b'-'));
    let time = if zoned {
        text.parse::<Timestamp>().ok()?
    } else {
        TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok()?
    };
    Some(Stamp { nanos: time.as_nanosecond(), unit: None })
}

/// A decimal number, kept as digits: a float cannot hold today's date to the nanosecond.
struct Number<'a> {
    negative: bool,
    whole: u128,
    fraction: &'a str,
}

impl<'a> Number<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let (negative, size) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = size.split_once('.').unwrap_or((size, "0"));
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        Some(Self { negative, whole: whole.parse().ok()?, fraction })
    }

    /// What is finer than a nanosecond is cut off.
    fn nanos(&self, unit: Unit) -> Option<i128> {
        let kept = &self.fraction[..self.fraction.len().min(unit.digits())];
        let padding = 10_i128.pow((unit.digits() - kept.len()) as u32);
        let fraction = if kept.is_empty() { 0 } else { kept.parse::<i128>().ok()? * padding };
        let size = i128::try_from(self.whole).ok()?.checked_mul(unit.nanos())?.checked_add(fraction)?;
        Some(if self.negative { -size } else { size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<i128> {
        Stamps::default().read(text).map(|stamp| stamp.nanos)
    }

    #[test]
    fn dates_with_and_without_a_zone() {
        let want = Some(1_700_158_623_979_960_000);
        assert_eq!(nanos("2023-11-16 18:17:03.9799600"), want);
        assert_eq!(nanos("2023-11-16T18:17:03.97996Z"), want);
        assert_eq!(nanos("2023-11-16T19:17:03.97996+01:00"), want);
        assert_eq!(nanos("2023-11-16t10:17:03.979960000-08:00"), want);
        assert_eq!(nanos("2023-11-16T18:17:03"), Some(1_700_158_623_000_000_000));
        assert_eq!(nanos("1969-12-31T23:59:59.5Z"), Some(-500_000_000));
    }

    #[test]
    fn numbers_are_exact_in_every_unit() {
        assert_eq!(nanos("1700158623"), Some(1_700_158_623_000_000_000));
        assert_eq!(nanos("1700158623.979960001"), Some(1_700_158_623_979_960_001));
        assert_eq!(nanos("1700158623979"), Some(1_700_158_623_979_000_000));
        assert_eq!(nanos("1700158623979.96"), Some(1_700_158_623_979_960_000));
        assert_eq!(nanos("1700158623979960"), Some(1_700_158_623_979_960_000));
        assert_eq!(nanos("1700158623979960001"), Some(1_700_158_623_979_960_001));
        assert_eq!(nanos("0"), Some(0));
        assert_eq!(nanos("-1.5"), Some(-1_500_000_000));
        assert_eq!(nanos("0.30000000000000004"), Some(300_000_000));
    }

    #[test]
    fn the_first_number_decides_the_unit() {
        let mut stamps = Stamps::default();
        assert_eq!(stamps.read("99999999999.9").unwrap().nanos, 99_999_999_999_900_000_000);
        assert_eq!(stamps.read("100000000000").unwrap().nanos, 100_000_000_000_000_000_000);
        assert_eq!(Stamps::new(Some(Unit::Millis)).read("12").unwrap().nanos, 12_000_000);
    }

    #[test]
    fn access_log_times_have_their_zone() {
        assert_eq!(log_time("10/Oct/2000:13:55:36 -0700").unwrap().nanos, 971_211_336_000_000_000);
        assert_eq!(log_time("29/Feb/2024:00:00:00 +0000").unwrap().nanos, 1_709_164_800_000_000_000);
        for wrong in ["30/Feb/2024:00:00:00 +0000", "10/Okt/2000:13:55:36 -0700", "10/Oct/2000:13:55:36", ""]
        {
            assert_eq!(log_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let wrong = [
            "",
            "-",
            ".",
            "1.",
            ".5",
            "1e9",
            "yesterday",
            "2023-13-01 00:00:00",
            "2023-02-30",
            "12:00:00",
            "+5",
        ];
        for text in
            wrong.into_iter().chain(["99999999999999999999999999999999999999999", "NaN", "null", "1 2"])
        {
            assert_eq!(nanos(text), None, "{text}");
        }
    }

    #[test]
    fn a_stamp_is_shown_as_it_was_written() {
        for text in ["1700158623.97996", "-1.5", "0", "2023-11-16T18:17:03.97996Z"] {
            assert_eq!(Stamps::default().read(text).unwrap().to_string(), text);
        }
        assert_eq!(Stamps::new(Some(Unit::Millis)).read("12.25").unwrap().to_string(), "12.25");
    }
}
