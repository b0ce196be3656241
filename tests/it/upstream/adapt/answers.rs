//! Answers as they come: what status, headers and bodies count as.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::upstream::{HeldBack, Reader};

use super::{Rate, S, rate, send};

/// What became of the rate of a call that was answered so.
fn after(status: u16, headers: &[(&'static str, &str)], body: Option<&str>) -> Rate {
    let rate = rate();
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    let (status, headers): (_, HeaderMap) =
        (StatusCode::from_u16(status).unwrap(), headers.iter().map(pair).collect());
    let mut reading = Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH);
    if let Some(body) = body {
        reading = reading.with_body(body.as_bytes());
    }
    send(&rate).answered(status, &reading);
    rate
}

#[test]
fn a_status_is_a_sign_or_none() {
    for (status, permille) in
        [(200, 1_000), (204, 1_000), (400, 1_000), (401, 1_000), (500, 1_000), (502, 1_000)]
    {
        assert_eq!(after(status, &[], None).permille(), permille, "{status}");
    }
    for status in [429, 503, 529] {
        assert_eq!(after(status, &[], None).permille(), 500, "{status}");
    }
    for status in [408, 504] {
        assert_eq!(after(status, &[], None).permille(), 800, "{status}");
    }
}

#[test]
fn success_counts_and_an_error_does_not() {
    for (status, rises) in [(200, true), (400, false)] {
        let rate = after(429, &[], None);
        let status = StatusCode::from_u16(status).unwrap();
        let headers = HeaderMap::new();
        for _ in 0..11 {
            send(&rate).answered(status, &Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH));
        }
        assert_eq!(rate.permille() > 500, rises, "{status}");
    }
}

#[test]
fn a_wait_pauses() {
    let paused = |rate: &Rate| rate.try_send().err() == Some(HeldBack::Paused { wait: 7 * S });
    assert!(paused(&after(429, &[("retry-after", "7")], None)));
    assert!(paused(&after(503, &[("retry-after", "7")], None)));
    assert!(paused(&after(200, &[("grpc-retry-pushback-ms", "7000")], None)), "gRPC refuses with 200");
    assert!(!paused(&after(200, &[("retry-after", "7")], None)), "some send it without meaning it");
}

/// To send less would not help, and later calls will tell.
#[test]
fn a_quota_that_is_used_up_is_no_congestion() {
    let body = r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let rate = after(429, &[], Some(body));
    assert_eq!(rate.permille(), 1_000);
    assert!(rate.try_send().is_ok());
    assert_eq!(after(200, &[("grpc-retry-pushback-ms", "-1")], None).permille(), 1_000, "never retry");
}

/// Whatever the status.
#[test]
fn a_refusal_by_its_body() {
    let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down"}}"#;
    assert_eq!(after(400, &[], Some(body)).permille(), 500);
    let body = r#"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}"#;
    assert_eq!(after(200, &[], Some(body)).permille(), 500);
}
