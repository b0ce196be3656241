//! Any response is read without a panic; no wait is shorter than stated or longer than the longest; and of what is malformed
//! nothing is read.
//!
//! The input is lines: the first is the body, the second has a byte for the status and one for the provider, and the rest are
//! pairs of a name and a value. A name may be one of those that are known, by its number.

#![no_main]

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use libfuzzer_sys::fuzz_target;
use tollgate::upstream::{IetfDraft, LONGEST, Provider, Reader, Reading, RetrySource};

const STATUSES: [u16; 6] = [200, 403, 429, 429, 503, 529];
const PROVIDERS: [Provider; 8] = [
    Provider::OpenAi,
    Provider::Azure,
    Provider::Anthropic,
    Provider::Groq,
    Provider::Mistral,
    Provider::Discord,
    Provider::GitHub,
    Provider::Generic,
];
const NAMES: [&str; 37] = [
    "date",
    "age",
    "retry-after",
    "retry-after-ms",
    "x-amz-retry-after",
    "grpc-retry-pushback-ms",
    "grpc-status-details-bin",
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-bucket",
    "x-ratelimit-global",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-renewalperiod-tokens",
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-limit-req-5-minute",
    "x-ratelimit-limit-tokens-month",
    "x-ratelimit-reset-requests-day",
    "x-ratelimit-tokens-query-cost",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-unified-5h-utilization",
    "anthropic-ratelimit-unified-5h-reset",
    "anthropic-ratelimit-unified-5h-status",
    "x-shopify-shop-api-call-limit",
    "x-rate-limit-reset",
    "x-should-retry",
];

fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let body = lines.next().unwrap_or_default();
    let choice = lines.next().unwrap_or_default();
    let chosen = |at: usize| choice.get(at).copied().unwrap_or_default().into();
    let (status, provider): (usize, usize) = (chosen(0), chosen(1));
    let headers = headers(&lines.collect::<Vec<_>>());
    let status = StatusCode::from_u16(STATUSES[status % STATUSES.len()]).unwrap();
    let reader = PROVIDERS.get(provider % (2 * PROVIDERS.len())).map_or(Reader::new(), |it| Reader::of(*it));
    for reader in [reader, reader.with_draft(IetfDraft::UpTo10)] {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let reading = reader.read(status, &headers, now);
        check(&reading, status, &headers);
        let complete = reading.clone().with_body(body);
        check(&complete, status, &headers);
        if let Some(asked) = reading.retry_after() {
            assert_eq!(complete.retry_after(), Some(asked), "headers outrank the body");
        }
    }
});

fn headers(lines: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for pair in lines.chunks_exact(2).take(100) {
        let (name, value) = (pair[0], pair[1]);
        let name = match name {
            [number] if usize::from(*number) < NAMES.len() => {
                HeaderName::from_static(NAMES[usize::from(*number)])
            }
            _ => match HeaderName::from_bytes(name) {
                Ok(name) => name,
                Err(_) => continue,
            },
        };
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(name, value);
        }
    }
    headers
}

fn check(reading: &Reading<'_>, status: StatusCode, headers: &HeaderMap) {
    for window in reading.windows() {
        let span = window.reset.map_or(Duration::ZERO, |reset| reset.span());
        assert!(span <= LONGEST, "{window:?}");
        assert!(window.utilization.is_none_or(f64::is_finite), "{window:?}");
        let waits = [1, 2, 1_000, u64::MAX].map(|cost| window.wait_for(cost));
        let known = waits.iter().flatten();
        assert!(known.clone().is_sorted(), "a larger cost waits no less: {waits:?} {window:?}");
        assert!(known.clone().all(|wait| *wait <= LONGEST), "{waits:?}");
    }
    assert!(reading.malformed().iter().all(|name| headers.contains_key(name)));
    let asked = reading.retry_after();
    let is_grpc = |source| matches!(source, RetrySource::Pushback | RetrySource::StatusDetails);
    let may_ask = |source| !status.is_success() || is_grpc(source);
    assert!(asked.is_none_or(|asked| may_ask(asked.source)), "a success asks for no wait, but gRPC's");
    if let Some(asked) = asked {
        assert!(asked.wait <= LONGEST && reading.wait() == Some(asked.wait));
        // Another way to the same number: whole seconds are never cut short.
        let said = headers.get("retry-after").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if let (RetrySource::RetryAfter, Some(said)) = (asked.source, said) {
            assert_eq!(asked.wait, Duration::from_secs(said).min(LONGEST));
        }
    }
}
