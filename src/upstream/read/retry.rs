//! How long to wait, said outright.

use core::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::LONGEST;
use super::moment::{Moment, http_date};
use super::number::{millis, seconds};

/// A wait that an upstream asks for.
///
/// It is what was said, up to [`LONGEST`]. What is too long to be worth waiting for is the caller's to say; a longer wait
/// than that is a reason to give up, never one to come back earlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RetryAfter {
    /// From the response, rounded up.
    pub wait: Duration,
    /// Where it was said.
    pub source: RetrySource,
}

impl RetryAfter {
    /// Whether it was as long as [`LONGEST`] or longer.
    pub fn is_capped(&self) -> bool {
        self.wait >= LONGEST
    }
}

/// Where a wait was said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RetrySource {
    /// `retry-after-ms`, `x-ms-retry-after-ms` or `x-amz-retry-after`.
    Milliseconds,
    /// `Retry-After` of RFC 9110 section 10.2.3.
    RetryAfter,
    /// gRPC's `grpc-retry-pushback-ms`.
    Pushback,
    /// `google.rpc.RetryInfo` in gRPC's `grpc-status-details-bin`.
    StatusDetails,
    /// The body.
    Body,
}

/// gRPC's `grpc-retry-pushback-ms` (gRFC A6).
///
/// ```
/// use std::time::Duration;
/// use tollgate::upstream::Pushback;
///
/// assert_eq!(Pushback::parse("1500"), Pushback::After(Duration::from_millis(1500)));
/// assert_eq!(Pushback::parse("-1"), Pushback::Never);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pushback {
    /// Not before this.
    After(Duration),
    /// Not at all: the number was negative, or none that fits 32 bits.
    Never,
}

impl Pushback {
    /// The value of the field; what is not a number of 32 bits means not to retry.
    pub fn parse(value: &str) -> Self {
        let plain = value == "0" || !value.starts_with(['0', '+', '-']);
        match value.parse::<i32>().map(u64::try_from) {
            Ok(Ok(milliseconds)) if plain => Self::After(Duration::from_millis(milliseconds)),
            _ => Self::Never,
        }
    }
}

/// Fields in milliseconds, in order of precedence.
const IN_MILLIS: [&str; 3] = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];

/// The wait that the fields of a failed response ask for. A zero in milliseconds says less than the other fields do: it
/// was seen beside `retry-after: 1`.
pub(super) fn retry_after(
    status: StatusCode,
    headers: &HeaderMap,
    base: Moment,
    malformed: &mut impl FnMut(&HeaderName),
) -> Option<RetryAfter> {
    if status.is_success() {
        return None;
    }
    let mut zero = None;
    for name in IN_MILLIS {
        let Some((key, value)) = first(headers, name) else { continue };
        match text(value).and_then(millis) {
            Some(Duration::ZERO) => zero = Some(Duration::ZERO),
            Some(wait) => return Some(RetryAfter { wait, source: RetrySource::Milliseconds }),
            None => malformed(&key),
        }
    }
    if let Some((key, value)) = first(headers, "retry-after") {
        match text(value).and_then(|text| said(text, base)) {
            Some(wait) => return Some(RetryAfter { wait, source: RetrySource::RetryAfter }),
            None => malformed(&key),
        }
    }
    zero.map(|wait| RetryAfter { wait, source: RetrySource::Milliseconds })
}

/// The value of `Retry-After`.
fn said(text: &str, base: Moment) -> Option<Duration> {
    seconds(text).or_else(|| Some(base.until(http_date(text)?)))
}

fn first<'h>(headers: &'h HeaderMap, name: &'static str) -> Option<(HeaderName, &'h HeaderValue)> {
    headers.get(name).map(|value| (HeaderName::from_static(name), value))
}

/// The text of a field, without the white space around it.
pub(super) fn text(value: &HeaderValue) -> Option<&str> {
    core::str::from_utf8(value.as_bytes()).ok().map(|text| text.trim_matches([' ', '\t']))
}
