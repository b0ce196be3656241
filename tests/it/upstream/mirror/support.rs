//! Responses as they come, and mirrors on a clock that is moved by hand.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::upstream::{Dimension, Heard, Mirror, MirrorBuilder, Reader, Sent};
use tollgate::{Clock, Manual, Quota};

pub(super) type OnManual = Mirror<Arc<Manual>>;

/// A clock, and a builder on it.
pub(super) fn on_manual() -> (Arc<Manual>, MirrorBuilder<Arc<Manual>>) {
    let clock = Arc::new(Manual::new());
    (Arc::clone(&clock), Mirror::builder().clock(clock))
}

/// Header fields.
pub(super) fn fields(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(pair).collect()
}

/// Answers a call.
pub(super) fn answer<C: Clock>(sent: Sent<C>, status: u16, pairs: &[(&'static str, &str)]) -> Heard {
    let headers = fields(pairs);
    sent.answered(&Reader::new().read(
        StatusCode::from_u16(status).unwrap(),
        &headers,
        SystemTime::UNIX_EPOCH,
    ))
}

/// OpenAI's fields for requests.
pub(super) fn requests(limit: u64, remaining: u64, reset: &str) -> HeaderMap {
    fields(&[
        ("x-ratelimit-limit-requests", &limit.to_string()),
        ("x-ratelimit-remaining-requests", &remaining.to_string()),
        ("x-ratelimit-reset-requests", reset),
    ])
}

/// Answers a call with OpenAI's fields for requests.
pub(super) fn told<C: Clock>(sent: Sent<C>, limit: u64, remaining: u64, reset: &str) -> Heard {
    let headers = requests(limit, remaining, reset);
    sent.answered(&Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH))
}

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A clock, and a mirror of one limit of requests on it.
pub(super) fn one(quota: Quota) -> (Arc<Manual>, OnManual) {
    let (clock, builder) = on_manual();
    (clock, builder.limit(Dimension::Requests, quota).build().unwrap())
}

/// Requests that are left.
pub(super) fn available(mirror: &OnManual) -> u64 {
    mirror.level(Dimension::Requests).unwrap().available()
}
