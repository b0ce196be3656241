//! Response fields: the vectors that are written, and what is told of one limit and of several.

use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;
use tollgate::http::{EffectiveWindow, Fields, Policy, PolicyError, Refusal, Standing, Unit};
use tollgate::{Bucket, Manual, Quota, quota};

use super::told;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/header_vectors.json");

/// A real bucket is brought to what the vector says is left, in parts of a token and in debt.
#[test]
fn header_vectors_that_are_written() {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(VECTORS).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let vectors: Vec<_> = vectors.iter().filter(|vector| vector["kind"] == "emit").collect();
    assert_eq!(vectors.len(), 3);
    for vector in vectors {
        let (policy, limit) = (&vector["input"]["policies"][0], &vector["input"]["limits"][0]);
        let (allowed, window) = (policy["q"].as_u64().unwrap(), policy["w"].as_u64());
        let quota = Quota::new(allowed, Duration::from_secs(window.unwrap_or(1))).unwrap();
        let name = policy["name"].as_str().unwrap();
        let told_policy = match window {
            Some(_) => Policy::of(name, &quota).unwrap(),
            None => Policy::new(name, allowed).unwrap(),
        };
        let bucket = left_with(quota, limit["remaining"].as_f64().unwrap());
        let key = limit["pk_hex"].as_str().map(bytes);
        let mut standing = told_policy.at(&bucket.peek());
        if let Some(key) = &key {
            standing = standing.of_partition(key);
        }
        let time = limit["t_us"].as_u64().map(Duration::from_micros);
        let effective = match time {
            Some(_) => EffectiveWindow::ToNext,
            None => EffectiveWindow::Untold,
        };
        let standing = standing.with_next(time.unwrap_or_default());
        let headers = admitted(Fields::new().effective_window(effective), &[standing]);
        for expected in vector["expect"].as_array().unwrap() {
            let (name, value) = (expected[0].as_str().unwrap(), expected[1].as_str().unwrap());
            assert_eq!(headers[name], value, "{}", vector["id"]);
        }
    }
}

fn left_with(quota: Quota, left: f64) -> Bucket<Manual> {
    let bucket = Bucket::with_clock(quota, Manual::new());
    bucket.charge((quota.capacity() as f64 - left.floor()) as u64);
    let part = (left - left.floor()) * quota.period().as_secs_f64() / quota.tokens() as f64;
    bucket.clock().advance(Duration::from_secs_f64(part));
    bucket
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn admitted(fields: Fields, limits: &[Standing<'_>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    fields.admitted(limits, &mut headers);
    headers
}

fn refused(fields: Fields, refusal: &Refusal<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    fields.refused(refusal, &mut headers);
    headers
}

#[test]
fn the_time_that_is_told_is_to_full_or_to_the_next() {
    let quota = quota!("10/s burst 100");
    let policy = Policy::of("p", &quota).unwrap();
    let bucket = Bucket::with_clock(quota, Manual::new());
    bucket.try_acquire_n(35).unwrap();
    let field = |fields: Fields| admitted(fields, &[policy.at(&bucket.peek())])["ratelimit"].clone();
    assert_eq!(field(Fields::new()), "\"p\";r=65;t=4");
    assert_eq!(field(Fields::new().effective_window(EffectiveWindow::ToNext)), "\"p\";r=65;t=1");
    bucket.try_acquire_n(65).unwrap();
    assert_eq!(field(Fields::new()), "\"p\";r=0;t=1", "with nothing left it is the next in either");
    bucket.charge(25);
    assert_eq!(field(Fields::new()), "\"p\";r=0;t=3", "after the debt");
    bucket.clock().advance(Duration::from_secs(60));
    assert_eq!(field(Fields::new()), "\"p\";r=100;t=0");
}

#[test]
fn a_pause_leaves_nothing() {
    let quota = quota!("10/s");
    let policy = Policy::of("p", &quota).unwrap();
    let bucket = Bucket::with_clock(quota, Manual::new());
    bucket.pause_for(Duration::from_millis(29_500));
    let refusal = Refusal::from(bucket.try_acquire().unwrap_err()).by(policy.at(&bucket.peek()));
    let headers = refused(Fields::new().with_x_ratelimit(), &refusal);
    let expected = [
        ("retry-after", "30"),
        ("ratelimit-policy", "\"p\";q=10;w=1"),
        ("ratelimit", "\"p\";r=0;t=30"),
        ("x-ratelimit-limit", "10"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "30"),
    ];
    assert_eq!(told(&headers), expected);
}

/// A cost above what is left is refused with something left: until its wait is over no more than that can be
/// used.
#[test]
fn a_refusal_with_something_left_tells_it() {
    let quota = quota!("10/min");
    let policy = Policy::of("p", &quota).unwrap();
    let bucket = Bucket::with_clock(quota, Manual::new());
    bucket.try_acquire_n(8).unwrap();
    let refusal = Refusal::from(bucket.try_acquire_n(5).unwrap_err()).by(policy.at(&bucket.peek()));
    let headers = refused(Fields::new(), &refusal);
    assert_eq!(
        (&headers["ratelimit"], &headers["retry-after"]),
        (&"\"p\";r=2;t=18".parse().unwrap(), &"18".parse().unwrap())
    );
}

/// With nothing left the window ends with the next token, and the wait of a larger cost is later.
#[test]
fn a_refusal_with_nothing_left_tells_two_times() {
    let quota = quota!("10/min");
    let policy = Policy::of("p", &quota).unwrap();
    let bucket = Bucket::with_clock(quota, Manual::new());
    bucket.try_acquire_n(10).unwrap();
    let refusal = Refusal::from(bucket.try_acquire_n(5).unwrap_err()).by(policy.at(&bucket.peek()));
    let headers = refused(Fields::new(), &refusal);
    assert_eq!(headers["ratelimit"], "\"p\";r=0;t=6");
    assert_eq!(headers["retry-after"], "30");
}

/// By the share that is left and not by the number.
#[test]
fn the_closest_limit_is_the_one_with_the_smallest_share() {
    let (minute, day) = (Policy::new("minute", 60).unwrap(), Policy::new("day", 1000).unwrap());
    for (left_of_minute, left_of_day, closest) in [(30, 900, "60"), (50, 800, "1000"), (60, 1000, "60")] {
        let limits = [
            Standing::new(&minute, left_of_minute, Duration::ZERO),
            Standing::new(&day, left_of_day, Duration::ZERO),
        ];
        let headers = admitted(Fields::new().with_x_ratelimit(), &limits);
        assert_eq!(headers["x-ratelimit-limit"], closest, "{left_of_minute} and {left_of_day}");
    }
}

#[test]
fn several_limits_are_told_in_one_list_and_the_closest_in_the_trio() {
    let (minute, day) = (Policy::of("minute", &quota!("60/min")).unwrap(), Policy::new("day", 1000).unwrap());
    let day = day.within(Duration::from_secs(86_400));
    let limits = [
        Standing::new(&minute, 30, Duration::from_secs(30)),
        Standing::new(&day, 400, Duration::from_millis(999_500)),
    ];
    let headers = admitted(Fields::new().with_x_ratelimit(), &limits);
    let expected = [
        ("ratelimit-policy", "\"minute\";q=60;w=60, \"day\";q=1000;w=86400"),
        ("ratelimit", "\"minute\";r=30;t=30, \"day\";r=400;t=1000"),
        ("x-ratelimit-limit", "1000"),
        ("x-ratelimit-remaining", "400"),
        ("x-ratelimit-reset", "1000"),
    ];
    assert_eq!(told(&headers), expected);
    let reversed = admitted(Fields::new().with_x_ratelimit(), &[limits[1], limits[0]]);
    assert_eq!(reversed["x-ratelimit-limit"], "1000", "in any order");
    assert_eq!(told(&admitted(Fields::new().with_x_ratelimit(), &[])), []);
}

#[cfg(feature = "window")]
#[test]
fn a_limit_by_windows_is_told_by_its_usage() {
    use tollgate::window::{Every, Fixed};
    let hourly = Every::new(Duration::from_secs(3600)).unwrap();
    let limit = Fixed::with_clock(100, hourly, Manual::new()).unwrap();
    let policy = Policy::new("hour", 100).unwrap().within(Duration::from_secs(3600));
    limit.try_acquire_n(100).unwrap();
    limit.clock().advance(Duration::from_secs(600));
    let refusal = Refusal::from(limit.try_acquire().unwrap_err()).by(policy.by(&limit.peek()));
    let headers = refused(Fields::new(), &refusal);
    assert_eq!(headers["retry-after"], "3000");
    assert_eq!(headers["ratelimit"], "\"hour\";r=0;t=3000");
}

#[test]
fn a_policy_tells_no_more_than_its_rate() {
    let window = |quota: Quota| Policy::of("p", &quota).unwrap().window().unwrap().as_secs();
    assert_eq!(window(quota!("100/min")), 60);
    assert_eq!(window(quota!("3600/h burst 6")), 6);
    assert_eq!(window(quota!("3/s burst 10")), 4, "10 in 3.34 s");
    assert_eq!(window(quota!("1000/s burst 1")), 1, "there is nothing below a second");
    let slow = Quota::with_burst(1, Duration::MAX, (1 << 61) - 1).unwrap();
    let policy = Policy::of("p", &slow).unwrap();
    assert_eq!(
        (policy.quota(), policy.window().unwrap().as_secs()),
        (999_999_999_999_999, 999_999_999_999_999)
    );
}

#[test]
fn what_cannot_be_told_is_no_policy() {
    for name in ["", "größe", "a\nb", "a\u{7f}", &"x".repeat(65)] {
        assert_eq!(Policy::new(name, 1), Err(PolicyError::Name { name: name.to_string() }));
    }
    assert!(Policy::new(&"~".repeat(64), 1).is_ok());
    let error = Policy::new("ü", 1).unwrap_err().to_string();
    assert_eq!(error, "the name \"ü\": it must be 1 to 64 bytes of printable ASCII");
    assert_eq!(Policy::new("p", 0), Err(PolicyError::ZeroQuota));
}

#[test]
fn units_are_told_and_figures_end_at_fifteen_digits() {
    let policy = Policy::new("p", u64::MAX).unwrap().counting(Unit::ContentBytes).within(Duration::MAX);
    let standing = Standing::new(&policy, u64::MAX, Duration::MAX);
    let headers = admitted(Fields::new(), &[standing]);
    assert_eq!(headers["ratelimit-policy"], "\"p\";q=999999999999999;qu=\"content-bytes\";w=999999999999999");
    assert_eq!(headers["ratelimit"], "\"p\";r=999999999999999;t=999999999999999");
    for (unit, told) in [(Unit::ConcurrentRequests, "concurrent-requests"), (Unit::Tokens, "tokens")] {
        let policy = Policy::new("p", 7).unwrap().counting(unit);
        let headers = admitted(Fields::new(), &[Standing::new(&policy, 9, Duration::ZERO)]);
        assert_eq!(headers["ratelimit-policy"], format!("\"p\";q=7;qu=\"{told}\"").as_str());
        assert_eq!(headers["ratelimit"], "\"p\";r=7;t=0", "no more than the policy allows");
    }
}

#[test]
fn fields_of_an_upstream_are_replaced() {
    let mut headers = HeaderMap::new();
    headers.append("ratelimit", "\"theirs\";r=5".parse().unwrap());
    headers.append("ratelimit", "\"too\";r=5".parse().unwrap());
    let policy = Policy::new("ours", 7).unwrap();
    Fields::new().admitted(&[Standing::new(&policy, 3, Duration::from_secs(2))], &mut headers);
    assert_eq!(told(&headers), [("ratelimit", "\"ours\";r=3;t=2"), ("ratelimit-policy", "\"ours\";q=7")]);
    Fields::new().without_rate_limit().admitted(&[Standing::new(&policy, 1, Duration::ZERO)], &mut headers);
    assert_eq!(headers["ratelimit"], "\"ours\";r=3;t=2");
}
