//! C57, C67 to C77, C101 and C114: what responses say, and whether and when a call is tried again.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::upstream::{
    Dimension, LONGEST, Provider, Reader, Reading, Reset, Retry, RetryBudget, RetryPolicy, Tries,
};
use tollgate::wait::Jitter;

fn at(now: &str) -> SystemTime {
    let nanos = now.parse::<jiff::Timestamp>().unwrap().as_nanosecond();
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos.try_into().unwrap())
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(pair).collect()
}

/// The reset of OpenAI's requests, with whether it was malformed.
fn duration(value: &str) -> Option<Duration> {
    let headers = headers(&[("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", value)]);
    let reading = Reader::of(Provider::OpenAi).read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
    let window = &reading.windows()[0];
    assert_eq!(window.remaining, Some(1), "the field beside it is read");
    assert_eq!(window.reset.is_none(), !reading.malformed().is_empty());
    window.reset.map(Reset::span)
}

fn refused<'h>(headers: &'h HeaderMap, now: SystemTime) -> Reading<'h> {
    Reader::new().read(StatusCode::TOO_MANY_REQUESTS, headers, now)
}

fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    refused(&headers(&[("retry-after", value)]), now).retry_after().map(|asked| asked.wait)
}

fn seconds(seconds: f64) -> Option<Duration> {
    Some(Duration::from_secs_f64(seconds))
}

/// What a client that waits for at most 60 s because it was asked to makes of a field.
fn retry_by(policy: &RetryPolicy, value: &str, now: SystemTime) -> Retry {
    policy.decide(&refused(&headers(&[("retry-after", value)]), now), &mut Tries::new())
}

fn retry(value: &str, now: SystemTime) -> Retry {
    retry_by(&RetryPolicy::new().longest_hint(Duration::from_secs(60)), value, now)
}

/// As long as was asked for, and up to a fifth more.
fn is_honoured(retry: Retry, seconds: f64) -> bool {
    let asked = Duration::from_secs_f64(seconds);
    matches!(retry, Retry::After(wait) if (asked..=asked + asked / 5).contains(&wait))
}

#[test]
fn c57_thirty_clients_do_not_come_back_at_once() {
    let client = || {
        let policy = RetryPolicy::new().longest_hint(Duration::from_secs(3_600));
        match retry_by(&policy, "600", SystemTime::UNIX_EPOCH) {
            Retry::After(wait) => wait,
            other => panic!("{other:?}"),
        }
    };
    let waits: BTreeSet<_> = (0..30).map(|_| client()).collect();
    let (least, most) = (Duration::from_secs(600), Duration::from_secs(630));
    assert!(waits.iter().all(|wait| (least..=most).contains(wait)), "{waits:?}");
    assert!(waits.len() > 20, "{waits:?}");
}

#[test]
fn c67_units_of_durations() {
    let read = [
        ("17ms", 0.017),
        ("1.5s", 1.5),
        ("500ms", 0.5),
        ("1.2s", 1.2),
        ("1m30s", 90.0),
        ("6m0s", 360.0),
        ("20m", 1_200.0),
        ("23h47m36.648s", 85_656.648),
        ("0s", 0.0),
    ];
    for (value, expected) in read {
        assert_eq!(duration(value), seconds(expected), "{value}");
    }
    for value in ["", "soon", "5x", "-5s"] {
        assert_eq!(duration(value), None, "{value}");
    }
}

#[test]
fn c68_points_in_time_are_not_read_as_their_year() {
    let reset = |value, now| {
        let headers = headers(&[("anthropic-ratelimit-tokens-reset", value)]);
        let reading = Reader::new().read(StatusCode::OK, &headers, at(now));
        reading.windows()[0].reset.map(Reset::span)
    };
    let now = "2026-08-07T20:59:30Z";
    assert_eq!(reset("2026-08-07T21:00:00Z", now), seconds(30.0));
    assert_eq!(reset("2026-08-07T23:00:00+02:00", now), seconds(30.0));
    assert_eq!(reset("2026-08-07T21:00:00.250Z", now), seconds(30.25));
    assert_eq!(reset("2026-08-07T20:00:00Z", now), seconds(0.0));
    assert_eq!(reset("2026-09-11T06:27:29Z", "2026-09-11T06:27:20Z"), seconds(9.0));
    assert_eq!(duration("2m59.56s"), seconds(179.56));
    assert_eq!(duration("7.66s"), seconds(7.66));
}

#[test]
fn c69_nanoseconds_of_durations() {
    let read = [
        ("510.790006ms", 510_790_006),
        ("304.641338ms", 304_641_338),
        ("373.801628ms", 373_801_628),
        ("45.837906927s", 45_837_906_927),
        ("26.660853464s", 26_660_853_464),
    ];
    for (value, nanos) in read {
        assert_eq!(duration(value), Some(Duration::from_nanos(nanos)), "{value}");
    }
}

#[test]
fn c70_what_is_not_known_is_neither_endless_nor_exhausted() {
    let fields = headers(&[
        ("x-ratelimit-limit-tokens", "-1"),
        ("x-ratelimit-remaining-tokens", "-1"),
        ("x-ratelimit-reset-tokens", "0"),
    ]);
    let reading = refused(&fields, SystemTime::UNIX_EPOCH);
    assert_eq!((reading.windows(), reading.wait()), (&[][..], None));
    assert!(reading.malformed().is_empty());

    let fields = headers(&[("x-ratelimit-remaining-tokens", "7")]);
    let reading = refused(&fields, SystemTime::UNIX_EPOCH);
    let tokens = reading.window(Dimension::Tokens).unwrap();
    assert_eq!((tokens.limit, tokens.remaining, tokens.reset), (None, Some(7), None));
}

#[test]
fn c71_c72_what_is_no_number_of_seconds_is_absent() {
    let bad = ["-1", "-5", "-0.5", "nan", "NaN", "inf", "-inf", "Infinity", "1e999", "1e3", "0x10", "", " "];
    for value in bad.into_iter().chain(["5 seconds", "+5", "1.-5", "1_0", ".5", "5.", "٥"]) {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        let headers = HeaderMap::from_iter([(HeaderName::from_static("retry-after"), value.clone())]);
        let reading = refused(&headers, SystemTime::UNIX_EPOCH);
        assert_eq!(reading.retry_after(), None, "{value:?}");
        assert_eq!(reading.malformed(), ["retry-after"], "{value:?}");
    }
    assert_eq!(retry_after("0", SystemTime::UNIX_EPOCH), seconds(0.0));
}

#[test]
fn c73_a_huge_wait_is_never_a_short_one() {
    let now = SystemTime::UNIX_EPOCH;
    for value in ["9223372036", "9223372037", "31622400", "999999999999999999"] {
        assert_eq!(retry_after(value, now), Some(LONGEST), "{value}");
    }
    assert_eq!(retry_after("31622399", now), Some(LONGEST - Duration::from_secs(1)));
    // More digits than the grammar has. What to wait is told nevertheless: not to come back.
    for value in ["9223372036854775807", "18446744073709551616", "18446744073709551616.5"] {
        assert_eq!(retry_after(value, now), None, "{value}");
        assert_eq!(refused(&headers(&[("retry-after", value)]), now).wait(), Some(LONGEST), "{value}");
        let beside = headers(&[("retry-after-ms", value), ("retry-after", "7")]);
        assert_eq!(refused(&beside, now).wait(), seconds(7.0), "{value}");
        let body = br#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}"#;
        assert_eq!(refused(&headers(&[("retry-after", value)]), now).with_body(body).wait(), Some(LONGEST));
    }
    for value in ["9223372036", "9223372037", "9223372036854775807", "18446744073709551616"] {
        assert_eq!(retry(value, now), Retry::TooLong(LONGEST), "{value}");
        let patient = RetryPolicy::new().longest_hint(Duration::MAX);
        assert_eq!(
            retry_by(&patient, value, now),
            Retry::TooLong(LONGEST),
            "it may have been longer: {value}"
        );
    }
    for value in ["184467440737095516160x", "-18446744073709551616", "99999999999999999999."] {
        assert_eq!(refused(&headers(&[("retry-after", value)]), now).wait(), None, "{value}");
    }
}

#[test]
fn c74_the_table_of_retry_after() {
    let now = at("1994-11-06T08:49:30Z");
    let read = [
        ("5", Some(5.0)),
        ("1.5", Some(1.5)),
        ("999999", Some(999_999.0)),
        ("2abc", None),
        ("0", Some(0.0)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7.0)),
        ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0.0)),
    ];
    for (value, expected) in read {
        assert_eq!(retry_after(value, now), expected.and_then(seconds), "{value}");
    }
    assert_eq!(refused(&HeaderMap::new(), now).retry_after(), None);
}

/// With a cap of 60 s. The table's 60 for `999999` is what one would wait if one waited: here it is not tried again, for
/// 60 s would be too early (C76).
#[test]
fn c74_what_is_made_of_the_table() {
    let now = at("1994-11-06T08:49:30Z");
    for (value, seconds) in [("5", 5.0), ("1.5", 1.5), ("0", 0.0)] {
        assert!(is_honoured(retry(value, now), seconds), "{value}");
    }
    assert!(is_honoured(retry("Sun, 06 Nov 1994 08:49:37 GMT", now), 7.0));
    assert_eq!(retry("Sun, 06 Nov 1994 08:49:00 GMT", now), Retry::After(Duration::ZERO));
    assert_eq!(retry("999999", now), Retry::TooLong(Duration::from_secs(999_999)));
    // What is absent is up to the client.
    let policy = RetryPolicy::new().jitter(Jitter::with_seed(3));
    let own =
        [retry_by(&policy, "2abc", now), policy.decide(&refused(&HeaderMap::new(), now), &mut Tries::new())];
    for retry in own {
        assert!(matches!(retry, Retry::After(wait) if wait <= Duration::from_millis(500)), "{retry:?}");
    }
}

#[test]
fn c75_the_reset_of_what_is_exhausted() {
    let wait = |requests, tokens, reset_of_tokens| {
        let headers = headers(&[
            ("date", "Thu, 01 Jan 2026 19:59:59 GMT"),
            ("anthropic-ratelimit-requests-remaining", requests),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T20:00:00Z"),
            ("anthropic-ratelimit-tokens-remaining", tokens),
            ("anthropic-ratelimit-tokens-reset", reset_of_tokens),
        ]);
        refused(&headers, SystemTime::UNIX_EPOCH).wait()
    };
    assert_eq!(wait("0", "16000", "2026-01-01T20:00:00Z"), seconds(1.0));
    assert_eq!(wait("0", "16000", "2026-01-01T20:01:00Z"), seconds(1.0));
    assert_eq!(wait("0", "0", "2026-01-01T20:01:00Z"), seconds(61.0));
    assert_eq!(wait("1", "16000", "2026-01-01T20:00:00Z"), None);
}

/// What is above a cap is the caller's to refuse; so it is read as it stands.
#[test]
fn c76_waits_are_read_as_they_stand() {
    for (value, expected) in [("60", 60.0), ("60.001", 60.001), ("0", 0.0)] {
        assert_eq!(retry_after(value, SystemTime::UNIX_EPOCH), seconds(expected));
    }
}

#[test]
fn c76_above_the_cap_nothing_is_tried_earlier() {
    let now = SystemTime::UNIX_EPOCH;
    for seed in 0..200 {
        let policy = RetryPolicy::new().longest_hint(Duration::from_secs(60)).jitter(Jitter::with_seed(seed));
        assert!(is_honoured(retry_by(&policy, "60", now), 60.0), "{seed}");
        let too_long = Retry::TooLong(Duration::from_millis(60_001));
        assert_eq!(retry_by(&policy, "60.001", now), too_long, "{seed}");
        assert_eq!(retry_by(&policy, "0", now), Retry::After(Duration::ZERO), "{seed}");
    }
}

#[test]
fn c77_a_span_or_an_epoch_by_its_size() {
    let reset = |value, now: u64| {
        let headers = headers(&[("x-ratelimit-reset", value)]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now);
        let reading = Reader::new().read(StatusCode::OK, &headers, now);
        reading.windows().first().and_then(|window| window.reset).map(Reset::span)
    };
    assert_eq!(reset("1372700873", 1_372_699_626), seconds(1_247.0));
    assert_eq!(reset("2513", 1_372_699_626), seconds(2_513.0));
    assert_eq!(reset("1562287945706", 1_562_287_940), seconds(5.706));
    assert_eq!(reset("1562287945706000", 1_562_287_940), seconds(5.706));
    assert_eq!(reset("1562287945.706", 1_562_287_940), seconds(5.706));
    assert_eq!(reset("999999999", 0), Some(LONGEST));
    assert_eq!(reset("100000000000000000", 0), None);
}

/// The headers of a limit that passed stand beside the body and headers of the one that refused: the longer counts.
#[test]
fn c101_the_wait_of_the_limit_that_refused() {
    let fields = [
        ("x-ratelimit-limit-requests-minute", "60"),
        ("x-ratelimit-remaining-requests-minute", "56"),
        ("x-ratelimit-reset-requests-minute", "12"),
        ("x-ratelimit-limit-requests-hour", "1000"),
        ("x-ratelimit-remaining-requests-hour", "0"),
        ("x-ratelimit-reset-requests-hour", "3000"),
    ];
    assert_eq!(refused(&headers(&fields), SystemTime::UNIX_EPOCH).wait(), seconds(3_000.0));
    let asked = headers(&[&fields[..], &[("retry-after", "3001")]].concat());
    assert_eq!(refused(&asked, SystemTime::UNIX_EPOCH).wait(), seconds(3_001.0));
}

#[test]
fn c114_successes_bring_the_retries_back() {
    let budget = RetryBudget::default();
    let policy = RetryPolicy::new().budget(budget.clone());
    let is_allowed = || matches!(policy.decide_unanswered(&mut Tries::new()), Retry::After(_));
    assert_eq!((0..1_000).filter(|_| is_allowed()).count(), 100, "of a capacity of 500, at 5 each");
    assert_eq!(budget.available(), 0);
    let succeed = || policy.succeeded(&mut Tries::new());
    (0..4).for_each(|_| succeed());
    assert!(!is_allowed());
    succeed();
    assert_eq!(budget.available(), 5);
    assert!(is_allowed() && !is_allowed());
    (0..1_000).for_each(|_| succeed());
    assert_eq!(budget.available(), 500);
}
