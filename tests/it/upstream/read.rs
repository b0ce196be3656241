//! Readings beyond the vectors: meanings, bodies, and what any fields must leave true.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use tollgate::upstream::{
    Class, Dimension, IetfDraft, LONGEST, Period, Provider, Reader, Reading, Reset, RetrySource,
};

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn read<'h>(status: u16, headers: &'h HeaderMap) -> Reading<'h> {
    Reader::new().read(StatusCode::from_u16(status).unwrap(), headers, SystemTime::UNIX_EPOCH)
}

#[test]
fn resets_have_the_meaning_of_their_convention() {
    let second = Duration::from_secs(1);
    let cases = [
        ("x-ratelimit-reset-tokens", "1s", Reset::TimeToFull(second)),
        ("anthropic-ratelimit-tokens-reset", "1970-01-01T00:00:01Z", Reset::TimeToFull(second)),
        ("x-ratelimit-reset", "1", Reset::WindowEnd(second)),
        ("x-rate-limit-reset", "1", Reset::WindowEnd(second)),
        ("ratelimit", "\"p\";r=1;t=1", Reset::EffectiveWindow(second)),
    ];
    for (name, value, reset) in cases {
        let headers = headers(&[(name, value)]);
        assert_eq!(read(200, &headers).windows()[0].reset, Some(reset), "{name}");
    }
    let headers = headers(&[("ratelimit", "p;r=1;t=1")]);
    let reader = Reader::new().with_draft(IetfDraft::UpTo10);
    let reading = reader.read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
    assert_eq!(reading.windows()[0].reset, Some(Reset::NextUnit(second)));
}

#[test]
fn a_limit_of_the_ietf_has_what_its_policy_says() {
    let headers = headers(&[
        ("RateLimit-Policy", "\"a\";q=10;w=60, \"b\";q=99;qu=\"content-bytes\""),
        ("RateLimit", "\"b\";r=7"),
        ("RateLimit", "\"a\";r=3;t=5, \"c\";r=0"),
    ]);
    let reading = read(200, &headers);
    let bytes = reading.window(Dimension::ContentBytes).unwrap();
    assert_eq!((bytes.limit, bytes.remaining, bytes.period), (Some(99), Some(7), None));
    let requests = reading.window(Dimension::Requests).unwrap();
    assert_eq!((requests.limit, requests.remaining), (Some(10), Some(3)));
    assert_eq!(requests.period, Some(Period::Span(Duration::from_secs(60))));
    assert_eq!(reading.window(Dimension::Other).unwrap().name.as_deref(), Some("c"));
}

#[test]
fn windows_by_the_period_in_their_names_are_kept_apart() {
    let headers = headers(&[
        ("x-ratelimit-limit-tokens-5-minute", "5"),
        ("x-ratelimit-limit-tokens-month", "1000"),
        ("x-ratelimit-remaining-tokens-5-minute", "4"),
        ("x-ratelimit-limit-req-second", "2"),
        ("x-ratelimit-tokens-query-cost", "17"),
        ("ratelimitbysize-reset", "13"),
    ]);
    let reading = read(200, &headers);
    assert_eq!((reading.provider(), reading.query_cost()), (Some(Provider::Mistral), Some(17)));
    assert_eq!(reading.windows().len(), 4);
    let five = reading.windows().iter().find(|window| window.limit == Some(5)).unwrap();
    assert_eq!((five.remaining, five.period), (Some(4), Some(Period::Span(Duration::from_secs(300)))));
    let month = reading.windows().iter().find(|window| window.limit == Some(1_000)).unwrap();
    assert_eq!((month.remaining, month.period), (None, Some(Period::Month)));
}

#[test]
fn waits_of_windows_follow_their_meaning() {
    let mut window = tollgate::upstream::Window::new(Dimension::Requests);
    (window.limit, window.remaining) = (Some(60), Some(0));
    assert_eq!(window.wait_for(1), None, "no reset");
    window.reset = Some(Reset::WindowEnd(Duration::from_secs(60)));
    assert_eq!(window.wait_for(1), Some(Duration::from_secs(60)));
    window.reset = Some(Reset::TimeToFull(Duration::from_secs(60)));
    assert_eq!(window.wait_for(1), Some(Duration::from_secs(1)));
    assert_eq!(window.wait_for(60), Some(Duration::from_secs(60)));
    assert_eq!((window.wait_for(61), window.wait_for(0)), (None, Some(Duration::ZERO)));
    window.remaining = Some(70);
    assert_eq!(window.wait_for(60), Some(Duration::ZERO), "more may be left than the limit");
    (window.granularity, window.limit, window.remaining) = (1_000, Some(100_000), Some(50_000));
    assert_eq!(window.wait_for(49_500), Some(Duration::ZERO));
    assert!(window.wait_for(50_000) > Some(Duration::ZERO), "it may be 500 too high");
}

#[test]
fn what_no_wait_mends_is_terminal() {
    let mistral = headers(&[("x-ratelimit-limit-req-minute", "0")]);
    assert!(read(429, &mistral).is_terminal() && !read(200, &mistral).is_terminal());
    for pair in [("x-should-retry", "false"), ("grpc-retry-pushback-ms", "-1")] {
        assert!(read(429, &headers(&[pair])).is_terminal(), "{pair:?}");
    }
    let spent = br#"{"type":"error","error":{"type":"rate_limit_error",
        "details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    let none = HeaderMap::new();
    assert!(read(429, &none).with_body(spent).is_terminal());
    assert!(!read(429, &none).is_terminal());
}

/// gRPC refuses with the status 200 and says so in its trailers.
#[test]
fn a_success_asks_for_no_wait_but_grpc_s_pushback() {
    let fields = headers(&[("retry-after", "53"), ("retry-after-ms", "7"), ("x-amz-retry-after", "7")]);
    assert_eq!(read(200, &fields).wait(), None);
    let trailers = headers(&[("grpc-retry-pushback-ms", "1500")]);
    assert_eq!(read(200, &trailers).wait(), Some(Duration::from_millis(1_500)));
}

/// `google.rpc.Status` as Google's own library writes it.
#[test]
fn grpc_tells_the_delay_in_the_details_of_its_status() {
    const QUOTA_FAILURE_AND_34_074824224_S: &str = concat!(
        "CAgSE1Jlc291cmNlIGV4aGF1c3RlZC4aTwordHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlF1b3RhRmFpbHVyZRIgCh4KCXBy",
        "b2plY3Q6MRIRbGltaXQgb2YgcmVxdWVzdHMaNQoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIJCgcIIhCg",
        "9NYj",
    );
    const TWO_S_AND_7_000000001_S: &str = concat!(
        "CAgSE1Jlc291cmNlIGV4aGF1c3RlZC4aMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIAhoyCih0",
        "eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuUmV0cnlJbmZvEgYKBAgHEAEaTwordHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUu",
        "cnBjLlF1b3RhRmFpbHVyZRIgCh4KCXByb2plY3Q6MRIRbGltaXQgb2YgcmVxdWVzdHM=",
    );
    const MINUS_5_S: &str = concat!(
        "CAgSE1Jlc291cmNlIGV4aGF1c3RlZC4aOQoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxINCgsI+///////",
        "////AQ==",
    );
    const TEN_THOUSAND_YEARS: &str = "CAgSE1Jlc291cmNlIGV4aGF1c3RlZC4aNQoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIJCgcIgLyuzpcJ";
    let told = |details: &str| {
        let trailers = headers(&[("grpc-status", "8"), ("grpc-status-details-bin", details)]);
        let reading = read(200, &trailers);
        assert_eq!(reading.class(), Some(Class::RateLimit));
        (reading.wait(), reading.malformed().len())
    };
    assert_eq!(told(QUOTA_FAILURE_AND_34_074824224_S), (Some(Duration::new(34, 74_824_224)), 0));
    assert_eq!(told(TWO_S_AND_7_000000001_S), (Some(Duration::new(7, 1)), 0));
    assert_eq!(told(TWO_S_AND_7_000000001_S.trim_end_matches('=')), (Some(Duration::new(7, 1)), 0));
    assert_eq!(told(MINUS_5_S), (None, 0));
    assert_eq!(told(TEN_THOUSAND_YEARS), (Some(LONGEST), 0));
    let short = &QUOTA_FAILURE_AND_34_074824224_S[..200];
    for malformed in [short, "CAgS*", "=", "\u{e9}"] {
        assert_eq!(told(malformed), (None, 1), "{malformed}");
    }
    assert_eq!(told(""), (None, 0), "an empty status has no details");
}

#[test]
fn grpc_s_pushback_outranks_the_details_of_its_status() {
    let details = "GjAKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SBAoCCAI";
    let alone = headers(&[("grpc-status", "14"), ("grpc-status-details-bin", details)]);
    assert_eq!(read(200, &alone).wait(), Some(Duration::from_secs(2)));
    assert_eq!(read(200, &alone).retry_after().unwrap().source, RetrySource::StatusDetails);
    assert_eq!(read(200, &alone).class(), Some(Class::Overloaded));
    let both = headers(&[("grpc-retry-pushback-ms", "1500"), ("grpc-status-details-bin", details)]);
    assert_eq!(read(200, &both).wait(), Some(Duration::from_millis(1_500)));
    let never = headers(&[("grpc-retry-pushback-ms", "-1"), ("grpc-status-details-bin", details)]);
    assert!(read(200, &never).is_terminal());
}

#[test]
fn shopify_tells_its_points_in_the_body_of_a_success() {
    let body = br#"{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":101,
        "actualQueryCost":null,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":54,"restoreRate":50.0}}}}"#;
    let none = HeaderMap::new();
    let reading = read(200, &none).with_body(body);
    assert_eq!((reading.class(), reading.query_cost()), (Some(Class::RateLimit), Some(101)));
    let points = reading.window(Dimension::Points).unwrap();
    assert_eq!((points.limit, points.remaining), (Some(1_000), Some(54)));
    assert_eq!(points.reset, Some(Reset::TimeToFull(Duration::from_millis(18_920))));
    assert_eq!(points.wait_for(101), Some(Duration::from_millis(940)));
}

#[test]
fn a_quota_of_google_s_that_was_passed_is_a_window() {
    let body = br#"{"error":{"code":429,"details":[{"violations":[{"quotaMetric":"x/generate_content_input_token_count",
        "quotaId":"InputTokensPerMinute","quotaValue":"250000"}]}]}}"#;
    let none = HeaderMap::new();
    let reading = read(429, &none).with_body(body);
    let window = reading.window(Dimension::InputTokens).unwrap();
    assert_eq!((window.limit, window.remaining), (Some(250_000), Some(0)));
    assert_eq!(window.period, Some(Period::Span(Duration::from_secs(60))));
}

#[test]
fn waits_in_bodies_are_rounded_up_and_stop_at_the_longest() {
    let cases = [("1e30", LONGEST), ("1e-7", Duration::from_nanos(100)), ("0", Duration::ZERO)];
    let none = HeaderMap::new();
    for (value, wait) in cases {
        let reading = read(429, &none).with_body(format!("{{\"retry_after\":{value}}}").as_bytes());
        let asked = reading.retry_after().unwrap();
        assert_eq!((asked.wait, asked.source), (wait, RetrySource::Body), "{value}");
    }
    let reading = read(429, &none).with_body(br#"{"retry_after":-1}"#);
    assert_eq!((reading.retry_after(), reading.class()), (None, Some(Class::RateLimit)));
}

proptest! {
    /// What is malformed leaves what stands beside it as it was.
    #[test]
    fn a_field_that_is_malformed_drops_itself_only(value in "[ -~]{0,20}") {
        let name = "x-ratelimit-limit-tokens";
        prop_assume!(value.trim().parse::<u64>().is_err() && value.trim() != "-1");
        let fields = headers(&[(name, &value), ("x-ratelimit-remaining-tokens", "5"), ("retry-after", "9")]);
        let reading = read(429, &fields);
        prop_assert_eq!(reading.malformed(), [name]);
        prop_assert_eq!(reading.windows()[0].remaining, Some(5));
        prop_assert_eq!(reading.wait(), Some(Duration::from_secs(9)));
    }

    /// Rounded up, and never shorter than was said, beside exact arithmetic.
    #[test]
    fn spans_are_never_shorter_than_said(whole in 0_u64..1 << 59, places in "[0-9]{1,20}") {
        let text = format!("{whole}.{places}");
        let fields = headers(&[("retry-after", &text)]);
        let wait = read(429, &fields).retry_after().unwrap().wait;
        let said: u128 = format!("{whole}{places:0<20}").parse().unwrap_or(u128::MAX);
        let nanos = said.div_ceil(100_000_000_000);
        prop_assert_eq!(wait.as_nanos(), nanos.min(LONGEST.as_nanos()));
    }
}
