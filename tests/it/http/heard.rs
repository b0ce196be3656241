//! What is written is understood: by the crate's own reader, which knows nothing of it but the standards.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Response, StatusCode};
use tollgate::http::{Fields, Policy, Refusal, Verdict};
use tollgate::upstream::{Class, Dimension, Pushback, Reader, Reset, RetrySource};
use tollgate::{Bucket, Manual, quota};

#[test]
fn a_refusal_is_read_as_it_was_meant() {
    let quota = quota!("60/min");
    let (bucket, policy) =
        (Bucket::with_clock(quota, Manual::new()), Policy::of("per \"user\"", &quota).unwrap());
    bucket.charge(100);
    let refusal = Refusal::from(bucket.try_acquire().unwrap_err()).by(policy.at(&bucket.peek()));
    let response: Response<String> = refusal.response(&Fields::new());
    let reading = Reader::new().read(response.status(), response.headers(), SystemTime::now());
    assert_eq!(reading.wait(), Some(Duration::from_secs(41)));
    assert!(reading.malformed().is_empty());
    let window = reading.window(Dimension::Requests).unwrap();
    assert_eq!((window.limit, window.remaining), (Some(60), Some(0)));
    assert_eq!(window.reset, Some(Reset::EffectiveWindow(Duration::from_secs(41))));
    assert_eq!(window.name.as_deref(), Some("per \"user\""));
    assert_eq!(reading.with_body(response.body().as_bytes()).class(), Some(Class::RateLimit));
}

#[test]
fn a_status_of_grpc_is_read_as_it_was_meant() {
    let read = |refusal: Refusal<'_>, without_pushback: bool| {
        let mut headers = HeaderMap::new();
        refusal.grpc().write(&mut headers);
        if without_pushback {
            headers.remove("grpc-retry-pushback-ms");
        }
        let headers = Box::leak(Box::new(headers));
        Reader::new().read(StatusCode::TOO_MANY_REQUESTS, headers, SystemTime::now())
    };
    let later = Refusal::new(Verdict::Later { wait: Duration::new(3, 7) }).named("calls");
    assert_eq!(read(later, false).class(), Some(Class::RateLimit));
    assert_eq!(read(later, false).pushback(), Some(Pushback::After(Duration::from_millis(3001))));
    let told = read(later, true).retry_after().unwrap();
    assert_eq!((told.wait, told.source), (Duration::new(3, 7), RetrySource::StatusDetails));
    let never = read(Refusal::new(Verdict::Never { cost: 2, most: 1 }), false);
    assert_eq!(never.pushback(), Some(Pushback::Never));
}
