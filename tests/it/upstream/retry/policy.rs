//! `RetryPolicy`: whether, when and how often.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use tollgate::upstream::{Backoff, Class, LONGEST, Reader, Retry, RetryBudget, RetryPolicy, Tries};
use tollgate::wait::Jitter;

const NONE: &[(&str, &str)] = &[];

/// A policy with a known generator, and a budget that is never the reason.
fn policy() -> RetryPolicy {
    let budget = RetryBudget::new(u64::MAX, 1, 1).unwrap();
    RetryPolicy::new().budget(budget).jitter(Jitter::with_seed(1))
}

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| -> (HeaderName, HeaderValue) {
        (name.parse().unwrap(), value.parse().unwrap())
    };
    fields.iter().map(pair).collect()
}

fn decide_by(policy: &RetryPolicy, status: u16, fields: &[(&str, &str)], tries: &mut Tries) -> Retry {
    let (status, headers) = (StatusCode::from_u16(status).unwrap(), headers(fields));
    policy.decide(&Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH), tries)
}

fn decide(status: u16, fields: &[(&str, &str)]) -> Retry {
    decide_by(&policy(), status, fields, &mut Tries::new())
}

fn is_after(retry: Retry) -> bool {
    matches!(retry, Retry::After(_))
}

#[test]
fn what_may_be_retried_by_its_status() {
    let retried: Vec<_> = (100..600).filter(|status| is_after(decide(*status, NONE))).collect();
    let expected: Vec<_> = [408, 425, 429, 500, 502, 503, 504].into_iter().chain(506..600).collect();
    assert_eq!(retried, expected);
    assert_eq!(decide(400, NONE), Retry::Never(Class::Unknown));
}

#[test]
fn the_upstream_may_say_otherwise() {
    assert!(is_after(decide(400, &[("x-should-retry", "true")])));
    assert_eq!(
        decide(429, &[("x-should-retry", "false"), ("retry-after", "1")]),
        Retry::Never(Class::Unknown)
    );
    assert!(is_after(decide(403, &[("retry-after", "1")])), "GitHub's secondary limits");
    assert_eq!(decide(403, NONE), Retry::Never(Class::Unknown));
    assert!(is_after(decide(200, &[("grpc-retry-pushback-ms", "1500")])));
    assert_eq!(decide(200, &[("grpc-retry-pushback-ms", "-1")]), Retry::Never(Class::Unknown));
    assert_eq!(decide(200, &[("retry-after", "1")]), Retry::Never(Class::Unknown), "a success");
}

#[test]
fn a_quota_that_is_used_up_is_never_retried() {
    let (headers, body) = (
        headers(&[("retry-after", "1"), ("x-should-retry", "true")]),
        br#"{"error":{"code":"insufficient_quota"}}"#,
    );
    let reading = Reader::new().read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::UNIX_EPOCH);
    let (policy, mut tries) = (policy(), Tries::new());
    assert!(is_after(policy.decide(&reading, &mut tries)), "the headers alone do not tell");
    assert_eq!(policy.decide(&reading.with_body(body), &mut tries), Retry::Never(Class::QuotaTerminal));
    assert_eq!(tries.retries(), 1);
}

/// Whatever the status is.
#[test]
fn what_the_body_tells_to_be_a_limit_or_an_overload_is_retried() {
    let (policy, headers) = (policy(), headers(NONE));
    let bodies = [
        (400, r#"{"error":{"type":"overloaded_error"}}"#, true),
        (400, r#"{"error":{"type":"rate_limit_error"}}"#, true),
        (400, r#"{"error":{"type":"invalid_request_error"}}"#, false),
        (200, r#"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#, true),
        (200, r#"{"data":{}}"#, false),
    ];
    for (status, body, retried) in bodies {
        let reader = Reader::new();
        let reading = reader.read(StatusCode::from_u16(status).unwrap(), &headers, SystemTime::UNIX_EPOCH);
        let reading = reading.with_body(body.as_bytes());
        assert_eq!(is_after(policy.decide(&reading, &mut Tries::new())), retried, "{status} {body}");
    }
}

/// Where nothing is asked for in so many words, the reset of what is exhausted is the hint.
#[test]
fn a_reset_of_what_is_exhausted_is_a_hint() {
    let fields = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "40"), ("x-ratelimit-limit", "10")];
    let Retry::After(wait) = decide(429, &fields) else { panic!() };
    assert!((40..=48).contains(&wait.as_secs()), "{wait:?}");
    let fields = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "61"), ("x-ratelimit-limit", "10")];
    assert_eq!(decide(429, &fields), Retry::TooLong(Duration::from_secs(61)));
}

#[test]
fn the_retries_of_a_call_are_counted_and_paid_for() {
    let budget = RetryBudget::new(100, 10, 1).unwrap();
    let (policy, mut tries) = (policy().retries(3).budget(budget.clone()), Tries::new());
    let answers = [(); 5].map(|()| decide_by(&policy, 503, NONE, &mut tries));
    assert_eq!(answers.map(is_after), [true, true, true, false, false]);
    assert_eq!((answers[4], tries.retries(), budget.available()), (Retry::Exhausted, 3, 70));
    policy.succeeded(&mut tries);
    policy.succeeded(&mut tries);
    assert_eq!(budget.available(), 71, "one call, one success");
    assert_eq!(policy.retries(0).decide_unanswered(&mut Tries::new()), Retry::Exhausted);
}

#[test]
fn what_is_not_retried_costs_nothing() {
    let budget = RetryBudget::new(100, 10, 1).unwrap();
    let (policy, mut tries) = (policy().budget(budget.clone()), Tries::new());
    assert_eq!(decide_by(&policy, 404, NONE, &mut tries), Retry::Never(Class::Unknown));
    assert_eq!(
        decide_by(&policy, 429, &[("retry-after", "90")], &mut tries),
        Retry::TooLong(Duration::from_secs(90))
    );
    assert_eq!((tries.retries(), budget.available()), (0, 100));
}

#[test]
fn an_empty_budget_stops_the_retries_of_every_call() {
    let budget = RetryBudget::new(10, 5, 1).unwrap();
    let policy = policy().retries(9).budget(budget.clone());
    let answers = [(); 3].map(|()| policy.decide_unanswered(&mut Tries::new()));
    assert_eq!(answers.map(is_after), [true, true, false]);
    for _ in 0..5 {
        policy.succeeded(&mut Tries::new());
    }
    assert!(is_after(policy.decide_unanswered(&mut Tries::new())));
    assert_eq!(policy.decide_unanswered(&mut Tries::new()), Retry::Exhausted);
}

/// Sends until the layer gives up, then lets the layer above try again.
fn send_through(layers: &[RetryPolicy], tries: &mut Tries, sent: &mut u32) {
    let Some((layer, below)) = layers.split_first() else {
        *sent += 1;
        return;
    };
    loop {
        send_through(below, tries, sent);
        if !is_after(layer.decide_unanswered(tries)) {
            return;
        }
    }
}

/// Three layers with three retries each would send 64 times.
#[test]
fn a_retry_within_a_retry_is_not_multiplied() {
    let budget = RetryBudget::new(1_000, 1, 1).unwrap();
    let layers = [(); 3].map(|()| policy().retries(3).budget(budget.clone()));
    let (mut tries, mut sent) = (Tries::new(), 0);
    send_through(&layers, &mut tries, &mut sent);
    // Each of the layers above sends again only what it was allowed to.
    assert_eq!((sent, tries.retries(), budget.available()), (4, 3, 997));
}

/// Full jitter: from none to the longest, evenly, and the longest doubles up to its bound.
#[test]
fn a_backoff_takes_all_of_its_span() {
    let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(6));
    let policy = policy().retries(5).backoff(backoff);
    let mut calls = [const { Vec::new() }; 5];
    for _ in 0..3_000 {
        let mut tries = Tries::new();
        for waits in &mut calls {
            let Retry::After(wait) = policy.decide_unanswered(&mut tries) else { panic!() };
            waits.push(wait.as_secs_f64());
        }
    }
    for (waits, longest) in calls.iter().zip([1.0, 2.0, 4.0, 6.0, 6.0]) {
        let mut tenths = [0; 10];
        waits.iter().for_each(|wait| tenths[(wait / longest * 9.999_999) as usize] += 1);
        assert!(tenths.iter().all(|count| (220..380).contains(count)), "{longest}: {tenths:?}");
    }
    assert_eq!(Backoff::new(Duration::MAX, Duration::MAX).longest(u32::MAX), Duration::MAX);
    assert_eq!(
        Backoff::new(Duration::from_nanos(1), Duration::MAX).longest(40),
        Duration::from_nanos(u32::MAX.into())
    );
}

/// The issue's words: 30 clients that are told 600 s come back in [600, 630] s, over many seeds; and all over it.
#[test]
fn thirty_clients_spread_over_their_interval() {
    for seed in 0..1_000 {
        let seconds: Vec<_> = (0..30).map(|client| client_told(600, seed * 30 + client)).collect();
        assert!(seconds.iter().all(|wait| (600.0..=630.0).contains(wait)), "{seed}: {seconds:?}");
        let mut thirds = [0; 3];
        seconds.iter().for_each(|wait| thirds[((wait - 600.0) / 10.000_001) as usize] += 1);
        assert!(thirds.iter().all(|clients| *clients > 0), "{seed}: {thirds:?}");
        let most_at_once = seconds.iter().map(|at| close_to(*at, &seconds)).max();
        assert!(most_at_once.unwrap() <= 12, "{seed}: {most_at_once:?} in 2 s");
    }
}

/// What a client of its own, with a seed of its own, makes of it.
fn client_told(seconds: u64, seed: u64) -> f64 {
    let policy = policy().longest_hint(Duration::from_secs(3_600)).jitter(Jitter::with_seed(seed));
    let seconds = seconds.to_string();
    let retry = decide_by(&policy, 429, &[("retry-after", &seconds)], &mut Tries::new());
    let Retry::After(wait) = retry else { panic!("{retry:?}") };
    wait.as_secs_f64()
}

fn close_to(at: f64, waits: &[f64]) -> usize {
    waits.iter().filter(|wait| (at..at + 2.0).contains(wait)).count()
}

proptest! {
    /// A hint is never undercut: it is honoured, or later by a fifth and 30 s at most, or too long and told as it is.
    #[test]
    fn never_before_the_hint(hint in 0_u64..2_000_000, longest in 0_u64..2_000_000, seed in any::<u64>()) {
        let policy = policy().longest_hint(Duration::from_millis(longest)).jitter(Jitter::with_seed(seed));
        let (text, hint) = (hint.to_string(), Duration::from_millis(hint));
        // A zero in milliseconds means nothing beside another field, and there is none.
        let retry = decide_by(&policy, 503, &[("retry-after-ms", &text)], &mut Tries::new());
        if hint > Duration::from_millis(longest) {
            prop_assert_eq!(retry, Retry::TooLong(hint));
        } else {
            let Retry::After(wait) = retry else { panic!("{retry:?}") };
            prop_assert!(wait >= hint && wait <= hint + (hint / 5).min(Duration::from_secs(30)));
        }
    }

    /// Whatever the field says: no panic, and a wait that is too long to be told is too long for everybody.
    #[test]
    fn any_field_is_decided(status in 100_u16..1_000, text in "[0-9]{0,40}|\\PC{0,8}") {
        let status = StatusCode::from_u16(status).unwrap();
        let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) else { return Ok(()) };
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, value)]);
        let reading = Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH);
        let retry = policy().longest_hint(Duration::MAX).decide(&reading, &mut Tries::new());
        let asked = text.parse::<u128>().ok().filter(|_| text.len() < 30 && !status.is_success());
        if let (Some(asked), Retry::After(wait)) = (asked, retry) {
            prop_assert!(u128::from(wait.as_secs()) >= asked);
        }
        if let Retry::TooLong(hint) = retry {
            prop_assert_eq!(hint, LONGEST);
        }
    }
}
