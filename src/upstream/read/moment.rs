//! Points in time as they stand in header fields, and how far ahead of the response they are.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::DATE;

use super::number::{capped, decimal};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// When a response was made: nanoseconds from the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(i128);

impl Moment {
    /// The response's own `Date`.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get(DATE).and_then(|value| value.to_str().ok()).and_then(http_date)
    }

    /// From here to there; nothing if there is past.
    pub(super) fn until(self, there: Self) -> Duration {
        u128::try_from(there.0.saturating_sub(self.0)).map_or(Duration::ZERO, capped)
    }

    /// A reset that may be a span in seconds, or a time in any of the usual forms. Which it is follows from its size:
    /// nobody waits for 31 years, and no epoch is counted in hours.
    pub(super) fn until_any(self, text: &str) -> Option<Duration> {
        const UNITS: [(u64, u64); 4] = [
            (1_000_000_000, 0),
            (100_000_000_000, NANOS_PER_SEC),
            (100_000_000_000_000, 1_000_000),
            (100_000_000_000_000_000, 1_000),
        ];
        let Some(number) = decimal(text) else {
            return Some(self.until(date(text)?));
        };
        match UNITS.iter().find(|(end, _)| number.whole < *end)? {
            (_, 0) => Some(capped(number.nanos(NANOS_PER_SEC))),
            (_, unit) => i128::try_from(number.nanos(*unit)).ok().map(|nanos| self.until(Self(nanos))),
        }
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        let nanos = |span: Duration| i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(nanos(after)),
            Err(before) => Self(-nanos(before.duration())),
        }
    }
}

impl From<Moment> for SystemTime {
    fn from(Moment(nanos): Moment) -> Self {
        let span = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let far = if nanos < 0 {
            UNIX_EPOCH.checked_sub(span(nanos.unsigned_abs()))
        } else {
            UNIX_EPOCH.checked_add(span(nanos.unsigned_abs()))
        };
        far.unwrap_or(UNIX_EPOCH)
    }
}

/// One of the three forms of RFC 9110 section 5.6.7.
pub(super) fn http_date(text: &str) -> Option<Moment> {
    httpdate::parse_http_date(text).ok().map(Moment::from)
}

/// RFC 3339 with an offset. The parser knows more than that (spaces, zones in brackets), so the shape is looked at first.
pub(super) fn rfc3339(text: &str) -> Option<Moment> {
    let shape = |byte: u8| byte.is_ascii_digit() || b"-+:.TtZz".contains(&byte);
    if text.len() > 64 || !text.bytes().all(shape) {
        return None;
    }
    text.parse::<jiff::Timestamp>().ok().map(|time| Moment(time.as_nanosecond()))
}

/// Any form of a date, also the one that JavaScript prints.
fn date(text: &str) -> Option<Moment> {
    http_date(text).or_else(|| rfc3339(text)).or_else(|| {
        let plain = text.split_once(" (").map_or(text, |(plain, _)| plain);
        let parsed = jiff::fmt::strtime::parse("%a %b %d %Y %H:%M:%S GMT%z", plain).ok()?;
        parsed.to_timestamp().ok().map(|time| Moment(time.as_nanosecond()))
    })
}
