//! What bodies say: of failures whose headers are silent, and of Shopify's GraphQL on success.

use core::time::Duration;

use serde_json::{Map, Value};

use super::number::{capped, count, decimal, proto_duration, seconds};
use super::reading::{Class, Reading};
use super::retry::{RetryAfter, RetrySource};
use super::window::{Dimension, Period, Reset, Window, share};
use super::{LONGEST, Provider};

/// Codes and types of errors that no wait mends.
const TERMINAL: [&str; 2] = ["insufficient_quota", "enforced_spend_limit_reached"];
const OVERLOADED: [&str; 3] = ["overloaded_error", "server_is_overloaded", "UNAVAILABLE"];
const LIMITED: [&str; 4] = ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "THROTTLED"];

impl Reading<'_> {
    /// The same with what the body says. What headers said about waiting outranks it.
    ///
    /// Parsing allocates; a body is worth reading where the response failed, and from Shopify's GraphQL always. A body that
    /// is no JSON says nothing.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use http::{HeaderMap, StatusCode};
    /// use tollgate::upstream::{Class, Reader};
    ///
    /// let body = br#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
    ///     {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    /// let headers = HeaderMap::new();
    /// let reading = Reader::new().read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::now());
    /// let reading = reading.with_body(body);
    /// assert_eq!(reading.class(), Some(Class::RateLimit));
    /// assert_eq!(reading.wait(), Some(Duration::from_millis(34_500)));
    /// ```
    #[must_use]
    pub fn with_body(mut self, body: &[u8]) -> Self {
        let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
        // A stream's error comes as an array of one.
        let value = value.get(0).unwrap_or(&value);
        let Some(object) = value.as_object() else {
            self.class = failed(&self).then_some(Class::Unknown);
            return self;
        };
        self.read_points(object);
        self.read_realtime(object);
        if failed(&self) || is_throttled(object) {
            self.class = Some(self.class_of(object));
            self.read_error(object);
        }
        self
    }

    fn class_of(&self, body: &Map<String, Value>) -> Class {
        let says = |words: &[&str]| words_of(body).any(|word| words.contains(&word));
        let type_of = |end: &str| text(body.get("type")).is_some_and(|uri| uri.ends_with(end));
        if says(&TERMINAL) || is_daily(body) {
            Class::QuotaTerminal
        } else if says(&OVERLOADED) || type_of("#temporary-reduced-capacity") {
            Class::Overloaded
        } else if says(&LIMITED) || type_of("#quota-exceeded") || body.contains_key("retry_after") {
            Class::RateLimit
        } else {
            match self.status.as_u16() {
                429 => Class::RateLimit,
                403 if self.wait().is_some() => Class::RateLimit,
                503 | 529 => Class::Overloaded,
                _ => Class::Unknown,
            }
        }
    }

    fn read_error(&mut self, body: &Map<String, Value>) {
        let delay = delay(body).or_else(|| number(body.get("retry_after")?));
        if let Some(is_global) = body.get("global").and_then(Value::as_bool) {
            self.is_global = Some(is_global);
        }
        self.windows.extend(violations(body).filter_map(violated));
        let delay = delay.or_else(|| self.read_nested(body));
        if !self.status.is_success() && !self.is_endless {
            let told = delay.map(|wait| RetryAfter { wait, source: RetrySource::Body });
            self.retry_after = self.retry_after.or(told);
        }
    }

    /// OpenRouter's headers, which it puts into the body. The wait, if nothing is left.
    fn read_nested(&mut self, body: &Map<String, Value>) -> Option<Duration> {
        let headers = body.get("error")?.get("metadata")?.get("headers")?;
        let field = |name: &str| {
            let found = headers.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.and_then(|(_, value)| value.as_str())
        };
        let reset = field("x-ratelimit-reset").and_then(|text| self.base.until_any(text));
        let window = Window {
            limit: field("x-ratelimit-limit").and_then(count),
            remaining: field("x-ratelimit-remaining").and_then(count),
            reset: reset.map(Reset::WindowEnd),
            ..Window::new(Dimension::Requests)
        };
        let exhausted = window.remaining == Some(0);
        if window != Window::new(Dimension::Requests) {
            self.windows.push(window);
            self.provider = self.provider.or(Some(Provider::OpenRouter));
        }
        reset.filter(|_| exhausted)
    }

    /// Shopify's GraphQL: a bucket of points, and what this query cost.
    fn read_points(&mut self, body: &Map<String, Value>) -> Option<()> {
        let cost = body.get("extensions")?.get("cost")?;
        let actual = cost.get("actualQueryCost").filter(|actual| !actual.is_null());
        self.query_cost = self.query_cost.or_else(|| whole(actual.or(cost.get("requestedQueryCost"))?));
        let status = cost.get("throttleStatus")?;
        let figure = |name: &str| whole(status.get(name)?);
        let (limit, remaining) = (figure("maximumAvailable"), figure("currentlyAvailable"));
        let rate = figure("restoreRate").filter(|rate| *rate > 0);
        let lasting = |points: u64| Some(share(Duration::from_secs(1), points, rate?));
        let missing = limit.zip(remaining).map(|(limit, remaining)| limit.saturating_sub(remaining));
        self.windows.push(Window {
            limit,
            remaining,
            reset: missing.and_then(lasting).map(Reset::TimeToFull),
            period: limit.and_then(lasting).map(Period::Span),
            ..Window::new(Dimension::Points)
        });
        Some(())
    }

    /// OpenAI's event `rate_limits.updated`.
    fn read_realtime(&mut self, body: &Map<String, Value>) -> Option<()> {
        if text(body.get("type")) != Some("rate_limits.updated") {
            return None;
        }
        for entry in body.get("rate_limits")?.as_array()? {
            let dimension = match text(entry.get("name")) {
                Some("requests") => Dimension::Requests,
                Some("tokens") => Dimension::Tokens,
                _ => continue,
            };
            self.windows.push(Window {
                limit: entry.get("limit").and_then(whole),
                remaining: entry.get("remaining").and_then(whole),
                reset: entry.get("reset_seconds").and_then(number).map(Reset::TimeToFull),
                ..Window::new(dimension)
            });
        }
        Some(())
    }
}

fn failed(reading: &Reading<'_>) -> bool {
    !reading.status.is_success()
}

/// The words by which a body names its error, from each place where one may stand.
fn words_of(body: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let error = body.get("error");
    let of_error = move |name: &str| text(error?.get(name));
    let detail = move || text(error?.get("details")?.get("error_code"));
    let extension = || text(body.get("errors")?.get(0)?.get("extensions")?.get("code"));
    [of_error("type"), of_error("code"), of_error("status"), detail(), extension()].into_iter().flatten()
}

/// Shopify's GraphQL refuses with a status of success.
fn is_throttled(body: &Map<String, Value>) -> bool {
    words_of(body).any(|word| word == "THROTTLED")
}

/// Google's details of an error.
fn details(body: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let details = || body.get("error")?.get("details")?.as_array();
    details().into_iter().flatten()
}

/// `google.rpc.RetryInfo`.
fn delay(body: &Map<String, Value>) -> Option<Duration> {
    details(body).filter_map(|detail| proto_duration(text(detail.get("retryDelay"))?)).max()
}

/// The violations of `google.rpc.QuotaFailure`.
fn violations(body: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    details(body).filter_map(|detail| detail.get("violations")?.as_array()).flatten()
}

/// A quota by the day is not there again after the delay that stands beside it, nor is one of zero.
fn is_daily(body: &Map<String, Value>) -> bool {
    violations(body).any(|violation| {
        let by_day = |id: &str| id.contains("PerDay") || id.contains("Daily");
        text(violation.get("quotaId")).is_some_and(by_day) || text(violation.get("quotaValue")) == Some("0")
    })
}

/// A quota of Google's that was passed.
fn violated(violation: &Value) -> Option<Window> {
    let metric = text(violation.get("quotaMetric"))?;
    let id = text(violation.get("quotaId")).unwrap_or_default();
    let dimension = match metric {
        _ if metric.contains("input_token") => Dimension::InputTokens,
        _ if metric.contains("token") => Dimension::Tokens,
        _ if metric.contains("request") => Dimension::Requests,
        _ => Dimension::Other,
    };
    const PERIODS: [(&str, u64); 3] = [("PerMinute", 60), ("PerHour", 3_600), ("PerDay", 86_400)];
    let period = PERIODS.iter().find(|(word, _)| id.contains(word));
    Some(Window {
        limit: text(violation.get("quotaValue")).and_then(count),
        remaining: Some(0),
        period: period.map(|(_, seconds)| Period::Span(Duration::from_secs(*seconds))),
        ..Window::new(dimension)
    })
}

fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str()
}

/// A number of seconds. One that is too long to be written without an exponent is [`LONGEST`].
fn number(value: &Value) -> Option<Duration> {
    let number = value.as_number()?;
    let is_huge = number.as_f64().is_some_and(|seconds| seconds >= LONGEST.as_secs_f64());
    if is_huge { Some(LONGEST) } else { seconds(&number.to_string()).or_else(|| tiny(number.as_f64()?)) }
}

/// What is so short that it is written with an exponent, rounded up to a nanosecond.
fn tiny(seconds: f64) -> Option<Duration> {
    (seconds > 0.0 && seconds < 1.0).then(|| capped((seconds * 1e9).ceil() as u128))
}

/// A count, rounded down; some are written as `1000.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| decimal(&value.as_number()?.to_string()).map(|number| number.whole))
}
