//! What is told of each kind of refusal, in each form.

use std::time::Duration;

use http::{HeaderMap, Response};
use tollgate::http::{Fields, Policy, Refusal, Verdict};
use tollgate::{Bucket, Manual, quota};

use super::told;

fn later(wait: Duration) -> Refusal<'static> {
    Refusal::new(Verdict::Later { wait })
}

#[test]
fn only_what_can_be_retried_has_a_status_that_clients_retry() {
    let never = Verdict::Never { cost: 9, most: 5 };
    let cases = [(Verdict::Busy, 429, false), (never, 413, true), (Verdict::Invalid, 500, true)];
    for (verdict, status, is_final) in cases {
        let refusal = Refusal::new(verdict).named("n");
        assert_eq!((refusal.status().as_u16(), refusal.is_final()), (status, is_final), "{verdict:?}");
        assert_eq!(refusal.retry_after(), None, "{verdict:?}");
    }
    assert_eq!(later(Duration::ZERO).status(), 429);
    assert_eq!(later(Duration::ZERO).as_overload().status(), 503);
    assert_eq!(Refusal::new(never).as_overload().status(), 413);
    assert_eq!(later(Duration::MAX).retry_after(), Some(Duration::from_secs(18_446_744_074)));
}

#[test]
fn a_refusal_for_ever_tells_no_wait() {
    let quota = quota!("5/s");
    let (bucket, policy) = (Bucket::with_clock(quota, Manual::new()), Policy::of("p", &quota).unwrap());
    let refusal = Refusal::from(bucket.try_acquire_n(9).unwrap_err()).by(policy.at(&bucket.peek()));
    let response: Response<String> = refusal.response(&Fields::new().with_x_ratelimit());
    assert_eq!(response.status(), 413);
    let expected = [
        ("content-type", "application/problem+json"),
        ("cache-control", "no-store"),
        ("ratelimit-policy", "\"p\";q=5;w=1"),
        ("ratelimit", "\"p\";r=5;t=0"),
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "5"),
        ("x-ratelimit-reset", "0"),
    ];
    assert_eq!(told(response.headers()), expected);
    let problem: serde_json::Value = serde_json::from_str(response.body()).unwrap();
    assert_eq!(problem["type"], "about:blank");
    assert_eq!(problem["title"], "Payload Too Large");
    assert_eq!(problem["detail"], "The limit `p` never admits a cost of 9: at most 5 at once.");
}

#[test]
fn problems_have_the_types_of_the_draft() {
    let kind = |refusal: Refusal<'_>| refusal.problem()["type"].as_str().unwrap().to_string();
    let prefix = "https://iana.org/assignments/http-problem-types#";
    assert_eq!(kind(Refusal::new(Verdict::Busy)), format!("{prefix}quota-exceeded"));
    let overload = Refusal::new(Verdict::Busy).as_overload();
    assert_eq!(kind(overload), format!("{prefix}temporary-reduced-capacity"));
    let nameless = overload.problem();
    assert!(nameless.get("violated-policies").is_none());
    assert_eq!(nameless["detail"], "A limit has too much in flight: try again later.");
    assert_eq!(nameless["status"], 503);
    assert_eq!(later(Duration::from_millis(1)).named("a \"b\"").problem()["violated-policies"][0], "a \"b\"");
}

#[test]
fn a_hint_is_told_where_nobody_knows() {
    let busy = Refusal::new(Verdict::Busy).or_after(Duration::from_millis(1500));
    let mut headers = HeaderMap::new();
    Fields::new().refused(&busy, &mut headers);
    assert_eq!(told(&headers), [("retry-after", "2")]);
    assert_eq!(
        later(Duration::from_secs(9)).or_after(Duration::from_secs(1)).wait(),
        Some(Duration::from_secs(9))
    );
    let never = Refusal::new(Verdict::Invalid).or_after(Duration::from_secs(1));
    assert_eq!(never.wait(), None);
}

#[cfg(feature = "inflight")]
#[test]
fn work_in_flight_is_busy_or_never() {
    use tollgate::inflight::{InFlight, Joint};
    let limit = InFlight::new(1).unwrap();
    let bucket = Bucket::with_clock(quota!("1/s"), Manual::new());
    let held = limit.try_acquire().unwrap();
    let verdict = |no| Refusal::from(no).verdict();
    assert_eq!(verdict(limit.try_acquire().unwrap_err()), Verdict::Busy);
    assert_eq!(verdict(limit.try_acquire_n(2).unwrap_err()), Verdict::Never { cost: 2, most: 1 });
    assert_eq!(verdict(limit.try_acquire_n(0).unwrap_err()), Verdict::Invalid);
    let joint = Joint::new(&bucket, &limit);
    assert_eq!(Refusal::from(joint.try_acquire().unwrap_err()).verdict(), Verdict::Busy);
    drop(held);
    bucket.try_acquire().unwrap();
    let wait = Duration::from_secs(1);
    assert_eq!(Refusal::from(joint.try_acquire().unwrap_err()).verdict(), Verdict::Later { wait });
}

/// A server that shuts down. Nobody has asked too often, and nothing is in flight.
#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_queue_that_is_closed_is_no_fault_of_the_client() {
    use tollgate::wait::{Entry, Queue, Rest, TokioTimer};
    let queue = Queue::new(Bucket::new(quota!("1/s")), Duration::from_secs(5), TokioTimer);
    queue.close(Rest::Refuse);
    let refusal = Refusal::from(queue.acquire(Entry::new(1)).await.unwrap_err()).named("n");
    assert_eq!((refusal.verdict(), refusal.status().as_u16()), (Verdict::Closed, 503));
    assert_eq!((refusal.is_final(), refusal.wait()), (false, None));
    assert_eq!(refusal.or_after(Duration::from_secs(3)).wait(), Some(Duration::from_secs(3)));
    let problem = refusal.problem();
    assert_eq!(problem["detail"], "The limit `n` is closed: try again later.");
    let kind = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    assert_eq!((&problem["type"], &problem["status"]), (&kind.into(), &503.into()));
    assert_eq!(refusal.grpc().code(), 14);
    let result = refusal.tool_result();
    assert_eq!((&result.json()["outcome"], &result.json()["retry"]), (&"try_later".into(), &true.into()));
    assert_eq!(
        result.sentence(),
        "Not now: the limit `n` is closed. Wait a little, then make the same call again."
    );
}

#[cfg(feature = "budget")]
#[test]
fn the_limit_that_refused_among_several_is_named() {
    use tollgate::budget::{Demand, acquire_all};
    let (fast, slow) =
        (Bucket::with_clock(quota!("9/s"), Manual::new()), Bucket::with_clock(quota!("1/h"), Manual::new()));
    slow.try_acquire().unwrap();
    let demands =
        [Demand { name: "fast", limit: &fast, cost: 1 }, Demand { name: "slow", limit: &slow, cost: 1 }];
    let refused = acquire_all(&demands).err().unwrap();
    let refusal = Refusal::from(refused);
    assert_eq!((refusal.name(), refusal.retry_after()), (Some("slow"), Some(Duration::from_secs(3600))));
}

mod grpc {
    use super::*;

    fn headers(refusal: Refusal<'_>) -> HeaderMap {
        refusal.grpc().response::<()>().headers().clone()
    }

    #[test]
    fn a_status_is_written_as_trailers_are() {
        let headers = headers(later(Duration::from_nanos(500_000_001)).named("100 % für"));
        assert_eq!(headers["content-type"], "application/grpc");
        assert_eq!(headers["grpc-status"], "8");
        let message = "The limit `100 %25 f%C3%BCr` is used up: try again in 1 second.";
        assert_eq!(headers["grpc-message"], message);
        assert_eq!(headers["grpc-retry-pushback-ms"], "501");
        assert!(!headers["grpc-status-details-bin"].to_str().unwrap().ends_with('='));
    }

    #[test]
    fn what_is_final_is_not_to_be_retried() {
        let pushback = |refusal| headers(refusal).get("grpc-retry-pushback-ms").cloned();
        assert_eq!(pushback(Refusal::new(Verdict::Never { cost: 2, most: 1 })).unwrap(), "-1");
        assert_eq!(pushback(Refusal::new(Verdict::Busy)), None);
        assert_eq!(pushback(later(Duration::ZERO)).unwrap(), "1", "not at once");
        assert_eq!(pushback(later(Duration::MAX)).unwrap(), i32::MAX.to_string().as_str());
        let code = |refusal: Refusal<'_>| refusal.grpc().code();
        assert_eq!(code(Refusal::new(Verdict::Never { cost: 2, most: 1 })), 8);
        assert_eq!(code(Refusal::new(Verdict::Busy).as_overload()), 14);
        assert_eq!(code(Refusal::new(Verdict::Invalid).as_overload()), 13);
    }

    /// By hand: code 8, the message, and `RetryInfo` of 1.5 s.
    #[test]
    fn details_are_the_bytes_of_google_rpc_status() {
        let status = later(Duration::from_millis(1500)).grpc();
        let text = status.message().as_bytes();
        let uri = b"type.googleapis.com/google.rpc.RetryInfo";
        let info = [0x0a, 8, 0x08, 1, 0x10, 0x80, 0xca, 0xb5, 0xee, 0x01];
        let mut expected = vec![0x08, 8, 0x12, text.len() as u8];
        expected.extend(text);
        expected.extend([0x1a, (4 + uri.len() + info.len()) as u8, 0x0a, uri.len() as u8]);
        expected.extend(uri);
        expected.extend([0x12, info.len() as u8]);
        expected.extend(info);
        assert_eq!(status.details(), expected);
    }

    /// By hand: code 8, the message, and `QuotaFailure` with the name of the limit and the message.
    #[test]
    fn details_name_the_limit_that_refused() {
        let status = Refusal::new(Verdict::Busy).named("n").grpc();
        let text = status.message().as_bytes();
        let uri = b"type.googleapis.com/google.rpc.QuotaFailure";
        let violation = [&[0x0a, 1, b'n', 0x12, text.len() as u8], text].concat();
        let failure = [&[0x0a, violation.len() as u8][..], &violation].concat();
        let detail = [&[0x0a, uri.len() as u8], &uri[..], &[0x12, failure.len() as u8], &failure].concat();
        let head = [&[0x08, 8, 0x12, text.len() as u8], text, &[0x1a, detail.len() as u8]].concat();
        assert_eq!(status.details(), [head, detail].concat());
    }
}
