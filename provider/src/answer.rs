//! What each family's answers look like.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::http::response::Builder;
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::settings::Family;
use crate::state::{Cost, Figures, State, Verdict};

/// The answer: its head and its body, which is sent later.
pub(crate) fn answer(state: &State, verdict: Verdict, cost: Cost, now: f64) -> Option<(Builder, String)> {
    let family = state.settings.family;
    let (status, body) = match verdict {
        Verdict::Admitted => (StatusCode::OK, usage(family, cost.tokens)),
        Verdict::Refused(wait) => refusal(family, wait),
        Verdict::Exhausted => exhausted(family),
        Verdict::Overloaded => overloaded(family),
        Verdict::Dead | Verdict::Stalled => return None,
    };
    let mut head = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    for (kind, figures) in [("requests", state.requests(now)), ("tokens", state.tokens(now))] {
        if let Some(figures) = figures {
            head = limits(head, family, kind, figures);
        }
    }
    if let Verdict::Refused(wait) = verdict {
        head = retry_after(head, family, wait, !state.settings.penalty.is_zero());
    }
    Some((head, body))
}

/// What is said of one limit.
fn limits(head: Builder, family: Family, kind: &str, of: Figures) -> Builder {
    let field = |head: Builder, what: &str, value: &dyn Display| {
        head.header(format!("x-ratelimit-{what}-{kind}"), value.to_string())
    };
    match family {
        Family::OpenAi | Family::Azure => {
            let head = field(field(head, "limit", &of.size), "remaining", &of.left);
            if family == Family::OpenAi {
                return field(head, "reset", &go_duration(of.reset));
            }
            let head = field(head, "reset", &of.reset.as_millis());
            field(head, "renewalperiod", &of.period.as_secs())
        }
        Family::Anthropic => anthropic(head, kind, of),
        Family::GitHub if kind == "requests" => head
            .header("x-ratelimit-limit", of.size)
            .header("x-ratelimit-remaining", of.left)
            .header("x-ratelimit-used", of.size.saturating_sub(of.left))
            .header("x-ratelimit-reset", timestamp(of.reset).as_second())
            .header("x-ratelimit-resource", "core"),
        Family::GitHub | Family::Gemini | Family::Silent => head,
    }
}

fn anthropic(head: Builder, kind: &str, of: Figures) -> Builder {
    let (kind, left) = match kind {
        "tokens" => ("input-tokens", (of.left + 500) / 1000 * 1000),
        _ => (kind, of.left),
    };
    // Whole seconds, up: a client that trusts it comes back no earlier than it should.
    let reset = timestamp(of.reset + Duration::from_millis(999)).as_second();
    let reset = Timestamp::from_second(reset).unwrap_or_default();
    head.header(format!("anthropic-ratelimit-{kind}-limit"), of.size)
        .header(format!("anthropic-ratelimit-{kind}-remaining"), left)
        .header(format!("anthropic-ratelimit-{kind}-reset"), reset.to_string())
}

fn retry_after(head: Builder, family: Family, wait: Duration, stated: bool) -> Builder {
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    match family {
        Family::OpenAi | Family::Anthropic => head.header(RETRY_AFTER, seconds.to_string()),
        Family::Azure => head
            .header(RETRY_AFTER, seconds.to_string())
            .header("retry-after-ms", (wait.as_micros().div_ceil(1000)).to_string()),
        // Only its secondary limits ask to wait; of the primary one the reset tells.
        Family::GitHub if stated => head.header(RETRY_AFTER, seconds.to_string()),
        Family::GitHub | Family::Gemini | Family::Silent => head,
    }
}

fn usage(family: Family, tokens: u64) -> String {
    let usage = match family {
        Family::Anthropic => json!({ "usage": { "input_tokens": tokens, "output_tokens": 0 } }),
        Family::Gemini => {
            json!({ "usageMetadata": { "promptTokenCount": tokens, "totalTokenCount": tokens } })
        }
        _ => json!({
            "usage": { "prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens }
        }),
    };
    usage.to_string()
}

fn refusal(family: Family, wait: Duration) -> (StatusCode, String) {
    let status = StatusCode::TOO_MANY_REQUESTS;
    match family {
        Family::OpenAi | Family::Azure => {
            (status, error("rate_limit_exceeded", "Rate limit reached for requests"))
        }
        Family::Anthropic => (status, anthropic_error("rate_limit_error", Value::Null)),
        Family::Gemini => (status, exhausted_resource(wait, "GenerateRequestsPerMinutePerProjectPerModel")),
        Family::GitHub => {
            (StatusCode::FORBIDDEN, json!({ "message": "API rate limit exceeded" }).to_string())
        }
        Family::Silent => (status, String::new()),
    }
}

fn exhausted(family: Family) -> (StatusCode, String) {
    let body = match family {
        Family::Anthropic => {
            let details = json!({ "error_code": "enforced_spend_limit_reached" });
            anthropic_error("rate_limit_error", details)
        }
        Family::Gemini => {
            exhausted_resource(Duration::from_secs(3), "GenerateRequestsPerDayPerProjectPerModel")
        }
        _ => error("insufficient_quota", "You exceeded your current quota, please check your plan."),
    };
    (StatusCode::TOO_MANY_REQUESTS, body)
}

fn overloaded(family: Family) -> (StatusCode, String) {
    match family {
        Family::Anthropic => {
            let status = StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            (status, anthropic_error("overloaded_error", Value::Null))
        }
        _ => (StatusCode::SERVICE_UNAVAILABLE, error("server_is_overloaded", "The server is overloaded.")),
    }
}

fn error(code: &str, message: &str) -> String {
    json!({ "error": { "message": message, "type": code, "param": null, "code": code } }).to_string()
}

fn anthropic_error(kind: &str, details: Value) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": "", "details": details } }).to_string()
}

fn exhausted_resource(wait: Duration, quota: &str) -> String {
    let delay = format!("{}.{:09}s", wait.as_secs(), wait.subsec_nanos());
    let details = json!([
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{ "quotaId": quota }] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
    ]);
    json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "", "details": details } })
        .to_string()
}

/// As Go prints durations, to the millisecond: `0s`, `6ms`, `1.182s`, `20m52.666s`, `1h0m0s`.
fn go_duration(span: Duration) -> String {
    let millis = span.as_millis();
    let (seconds, millis) = (millis / 1000, millis % 1000);
    if seconds == 0 && millis > 0 {
        return format!("{millis}ms");
    }
    let part = format!(".{millis:03}");
    let part = part.trim_end_matches('0').trim_end_matches('.');
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}{part}s"),
        (0, _) => format!("{minutes}m{rest}{part}s"),
        _ => format!("{hours}h{minutes}m{rest}{part}s"),
    }
}

fn timestamp(after: Duration) -> Timestamp {
    Timestamp::try_from(SystemTime::now() + after).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_go_does() {
        let cases = [
            (0, "0s"),
            (6, "6ms"),
            (1_000, "1s"),
            (1_182, "1.182s"),
            (360_000, "6m0s"),
            (1_252_666, "20m52.666s"),
            (3_600_000, "1h0m0s"),
        ];
        for (millis, text) in cases {
            assert_eq!(go_duration(Duration::from_millis(millis)), text);
        }
    }
}
