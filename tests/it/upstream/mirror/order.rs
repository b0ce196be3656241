//! Responses out of order, from caches, and with figures that cannot be.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use tollgate::quota;
use tollgate::upstream::{Cost, Dimension, Heard, Reader, Refused};

use super::support::{OnManual, SECOND, answer, available, on_manual, one, requests, told};

const ONE: Cost = Cost::requests(1);

/// Leaves 20 of 60, with nothing on its way.
fn low() -> (std::sync::Arc<tollgate::Manual>, OnManual) {
    let (clock, mirror) = one(quota!("60/min"));
    told(mirror.try_send(&ONE).unwrap(), 60, 20, "40s");
    assert_eq!(available(&mirror), 20);
    (clock, mirror)
}

fn observed(mirror: &OnManual, headers: &HeaderMap) -> Heard {
    mirror.observe(&Reader::new().read(StatusCode::OK, headers, SystemTime::UNIX_EPOCH))
}

#[test]
fn a_later_response_is_not_outranked_by_an_earlier_one() {
    let (_clock, mirror) = one(quota!("60/min"));
    let (earlier, later) = (mirror.try_send(&ONE).unwrap(), mirror.try_send(&ONE).unwrap());
    told(later, 60, 40, "20s");
    assert_eq!(available(&mirror), 39, "the earlier one may or may not be in it");
    told(earlier, 60, 59, "1s");
    assert_eq!(available(&mirror), 39, "not raised");
    let (earlier, later) = (mirror.try_send(&ONE).unwrap(), mirror.try_send(&ONE).unwrap());
    told(later, 60, 38, "22s");
    told(earlier, 60, 5, "55s");
    assert_eq!(available(&mirror), 37, "nor lowered: it speaks of the past");
}

#[test]
fn an_earlier_response_still_pauses_and_closes() {
    let (clock, mirror) = one(quota!("60/min"));
    let (earlier, later) = (mirror.try_send(&ONE).unwrap(), mirror.try_send(&ONE).unwrap());
    told(later, 60, 40, "20s");
    assert_eq!(answer(earlier, 429, &[("retry-after", "30")]), Heard::RetryAfter(30 * SECOND));
    assert_eq!(mirror.try_send(&ONE).unwrap_err(), Refused::Paused { wait: 30 * SECOND });
    clock.advance(30 * SECOND);
    assert!(mirror.try_send(&ONE).is_ok());
}

#[test]
fn nothing_is_raised_while_a_later_call_is_on_its_way() {
    let (_clock, mirror) = one(quota!("60/min"));
    // It never arrived, which nobody knows.
    drop(mirror.try_send(&Cost::requests(40)).unwrap());
    let (first, second) = (mirror.try_send(&ONE).unwrap(), mirror.try_send(&ONE).unwrap());
    told(first, 60, 59, "1s");
    assert_eq!(available(&mirror), 18, "the second is outstanding");
    told(second, 60, 58, "2s");
    assert_eq!(available(&mirror), 57, "the first was answered while the second was on its way");
    told(mirror.try_send(&ONE).unwrap(), 60, 57, "3s");
    assert_eq!(available(&mirror), 57);
}

#[test]
fn what_was_observed_elsewhere_raises_if_nothing_is_on_its_way() {
    let (_clock, mirror) = one(quota!("60/min"));
    drop(mirror.try_send(&Cost::requests(40)).unwrap());
    let sent = mirror.try_send(&ONE).unwrap();
    observed(&mirror, &requests(60, 58, "2s"));
    assert_eq!(available(&mirror), 19);
    sent.not_sent();
    observed(&mirror, &requests(60, 58, "2s"));
    assert_eq!(available(&mirror), 58);
}

#[test]
fn it_is_raised_by_what_was_sent_after_all_that_is_on_its_way() {
    let (clock, mirror) = low();
    let first = mirror.try_send(&ONE).unwrap();
    clock.advance(10 * SECOND);
    let second = mirror.try_send(&ONE).unwrap();
    assert_eq!(available(&mirror), 28);
    clock.advance(5 * SECOND);
    // Both were counted ten and five seconds ago: of the deficit of 41 then 15 and five have been made good.
    told(second, 60, 33, "27s");
    assert_eq!(available(&mirror), 32, "the first may or may not be in it");
    drop(first);
    assert_eq!(available(&mirror), 32);
}

#[test]
fn what_was_answered_meanwhile_may_not_be_in_the_figures() {
    let (_clock, mirror) = low();
    let (long, short) = (mirror.try_send(&ONE).unwrap(), mirror.try_send(&Cost::requests(5)).unwrap());
    let last = mirror.try_send(&ONE).unwrap();
    answer(short, 200, &[]);
    answer(long, 200, &[]);
    assert_eq!(available(&mirror), 13);
    told(last, 60, 19, "41s");
    assert_eq!(available(&mirror), 13, "19 less the six that were answered while it was on its way");
}

#[test]
fn it_is_lowered_at_once() {
    let (_clock, mirror) = low();
    let calls: Vec<_> = (0..5).map(|_| mirror.try_send(&ONE).unwrap()).collect();
    for (number, call) in calls.into_iter().enumerate() {
        let left = 10 - number as u64;
        told(call, 60, left, &format!("{}s", 60 - left));
    }
    assert_eq!(available(&mirror), 6);
    observed(&mirror, &requests(60, 4, "56s"));
    assert_eq!(available(&mirror), 4);
}

#[test]
fn a_cache_says_nothing() {
    let (_clock, mirror) = low();
    let call = mirror.try_send(&ONE).unwrap();
    let mut headers = requests(60, 60, "0s");
    headers.insert("age", "12".parse().unwrap());
    call.answered(&Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH));
    assert_eq!(available(&mirror), 19);
    headers.insert("x-ratelimit-remaining-requests", "0".parse().unwrap());
    headers.insert("x-ratelimit-reset-requests", "60s".parse().unwrap());
    observed(&mirror, &headers);
    assert_eq!(available(&mirror), 19);
    headers.insert("age", "0".parse().unwrap());
    observed(&mirror, &headers);
    assert_eq!(available(&mirror), 0);
}

#[test]
fn what_was_made_before_never_raises() {
    let (clock, mirror) = one(quota!("60/min"));
    let dated = |second: u64, left: u64, reset: &str| {
        let mut headers = requests(60, left, reset);
        headers.insert("date", format!("Tue, 13 May 2025 14:20:{second:02} GMT").parse().unwrap());
        headers
    };
    observed(&mirror, &dated(30, 20, "40s"));
    clock.advance(10 * SECOND);
    assert_eq!(available(&mirror), 30);
    observed(&mirror, &dated(29, 50, "10s"));
    assert_eq!(available(&mirror), 30, "not raised");
    observed(&mirror, &dated(29, 25, "35s"));
    assert_eq!(available(&mirror), 25, "but lowered");
    observed(&mirror, &dated(40, 30, "30s"));
    assert_eq!(available(&mirror), 30, "raised by what was made later");
}

#[test]
fn more_than_there_is_never_raises() {
    let (_clock, mirror) = low();
    told(mirror.try_send(&ONE).unwrap(), 60, 61, "0s");
    assert_eq!(available(&mirror), 19);
}

#[test]
fn more_than_refill_brings_never_raises() {
    let (clock, mirror) = low();
    clock.advance(10 * SECOND);
    // 20 were left ten seconds ago, so 30 are now at most, and one less after this call.
    told(mirror.try_send(&ONE).unwrap(), 60, 45, "15s");
    assert_eq!(available(&mirror), 29);
    clock.advance(40 * SECOND);
    told(mirror.try_send(&ONE).unwrap(), 60, 59, "1s");
    assert_eq!(available(&mirror), 59, "once it can be full it is believed");
}

#[test]
fn what_was_given_back_explains_more() {
    let (_clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Tokens, quota!("60k/min")).build().unwrap();
    let headers = |left: u64, reset: &str| {
        let fields = [
            ("x-ratelimit-limit-tokens", "60000".to_string()),
            ("x-ratelimit-remaining-tokens", left.to_string()),
            ("x-ratelimit-reset-tokens", reset.to_string()),
        ];
        super::support::fields(
            &fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>(),
        )
    };
    let hear = |left, reset: &str, used| {
        let sent = mirror.try_send(&Cost::of(Dimension::Tokens, 10_000)).unwrap();
        let headers = headers(left, reset);
        let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
        sent.answered_with(&reading, &Cost::of(Dimension::Tokens, used));
        mirror.level(Dimension::Tokens).unwrap().available()
    };
    assert_eq!(hear(10_000, "50s", 10_000), 10_000);
    // It used 1000 of 10 000, and the upstream knew of somebody's 3000 too.
    assert_eq!(hear(12_000, "48s", 1_000), 12_000, "up to 9000 more are explained");
    assert_eq!(hear(40_000, "20s", 1_000), 11_000, "28 000 are not");
}

#[test]
fn in_a_window_more_than_was_told_never_raises() {
    let (clock, builder) = on_manual();
    let mirror = builder.window(Dimension::Requests, 60, Duration::from_secs(60)).build().unwrap();
    let hear = |left: &str, reset: &str| {
        let fields =
            [("x-ratelimit-limit", "60"), ("x-ratelimit-remaining", left), ("x-ratelimit-reset", reset)];
        answer(mirror.try_send(&ONE).unwrap(), 200, &fields);
        available(&mirror)
    };
    assert_eq!(hear("40", "30"), 40);
    assert_eq!(hear("50", "30"), 39, "in one window it only becomes less");
    assert_eq!(hear("30", "30"), 30);
    clock.advance(30 * SECOND);
    assert_eq!(available(&mirror), 60);
    assert_eq!(hear("20", "60"), 20);
    clock.advance(SECOND);
    // A window that has ended earlier than was told.
    assert_eq!(hear("59", "120"), 59);
}

#[test]
fn what_is_counted_about_the_end_of_a_window_counts_in_both() {
    let (clock, builder) = on_manual();
    let mirror = builder.window(Dimension::Requests, 60, Duration::from_secs(60)).build().unwrap();
    let first = mirror.try_send(&ONE).unwrap();
    clock.advance(10 * SECOND);
    answer(
        first,
        200,
        &[("x-ratelimit-limit", "60"), ("x-ratelimit-remaining", "59"), ("x-ratelimit-reset", "30")],
    );
    // It ends between 30 and 40 seconds.
    clock.advance(19 * SECOND);
    answer(mirror.try_send(&Cost::requests(10)).unwrap(), 200, &[]);
    clock.advance(5 * SECOND);
    answer(mirror.try_send(&Cost::requests(5)).unwrap(), 200, &[]);
    assert_eq!(available(&mirror), 44);
    clock.advance(6 * SECOND);
    assert_eq!(available(&mirror), 55, "the five may belong to this one");
    clock.advance(60 * SECOND);
    assert_eq!(available(&mirror), 60);
}

#[test]
fn of_a_window_whose_end_nobody_told_two_share_what_there_is() {
    let (clock, builder) = on_manual();
    let mirror = builder.window(Dimension::Requests, 60, Duration::from_secs(60)).build().unwrap();
    answer(mirror.try_send(&Cost::requests(20)).unwrap(), 200, &[]);
    clock.advance(59 * SECOND);
    answer(mirror.try_send(&Cost::requests(30)).unwrap(), 200, &[]);
    assert_eq!(mirror.wait_for(&Cost::requests(11)), Ok(SECOND));
    clock.advance(SECOND);
    assert_eq!(available(&mirror), 10, "in any 60 seconds no more than 60");
    clock.advance(60 * SECOND);
    assert_eq!(available(&mirror), 60);
}

#[test]
fn no_pause_is_shortened() {
    let (clock, mirror) = one(quota!("60/min"));
    let (first, second, third) =
        (mirror.try_send(&ONE).unwrap(), mirror.try_send(&ONE).unwrap(), mirror.try_send(&ONE).unwrap());
    answer(first, 429, &[("retry-after", "30")]);
    clock.advance(SECOND);
    answer(second, 429, &[("retry-after", "1")]);
    assert_eq!(mirror.try_send(&ONE).unwrap_err(), Refused::Paused { wait: 29 * SECOND });
    mirror.pause_for(2 * SECOND);
    told(third, 60, 60, "0s");
    assert_eq!(mirror.clone().try_send(&ONE).unwrap_err(), Refused::Paused { wait: 29 * SECOND });
    assert_eq!((mirror.wait_for(&ONE), mirror.headroom(&ONE)), (Ok(29 * SECOND), 0));
    clock.advance(29 * SECOND);
    assert!(mirror.try_send(&ONE).is_ok());
}

#[test]
fn a_pause_and_a_limit_are_waited_for_together() {
    let (_clock, mirror) = one(quota!("60/min"));
    drop(mirror.try_send(&Cost::requests(60)).unwrap());
    mirror.pause_for(2 * SECOND);
    let refused = mirror.try_send(&Cost::requests(5)).unwrap_err();
    assert_eq!(refused, Refused::Paused { wait: 5 * SECOND });
}

#[test]
fn a_retry_after_on_success_means_nothing() {
    let (_clock, mirror) = one(quota!("60/min"));
    assert_eq!(answer(mirror.try_send(&ONE).unwrap(), 200, &[("retry-after", "53")]), Heard::Fine);
    assert!(mirror.try_send(&ONE).is_ok());
}

#[test]
fn clocks_that_step_back_and_huge_spans_do_no_harm() {
    let (clock, mirror) = one(quota!("60/min"));
    clock.set(tollgate::Nanos::new(50_000_000_000));
    drop(mirror.try_send(&Cost::requests(60)).unwrap());
    clock.set(tollgate::Nanos::ZERO);
    assert!(matches!(mirror.try_send(&ONE), Err(Refused::NotYet { wait: SECOND, .. })));
    clock.set(tollgate::Nanos::new(u64::MAX - 1));
    let refused = mirror.try_send(&ONE).unwrap_err();
    assert!(matches!(refused, Refused::NotYet { .. }), "past the horizon everything is refused");
    mirror.pause_until(tollgate::Nanos::MAX);
    assert!(mirror.try_send(&ONE).is_err());
    observed(&mirror, &requests(u64::MAX, u64::MAX, "9999999h"));
    observed(&mirror, &requests(0, 0, "0s"));
    assert!(mirror.terminal().is_none(), "no refusal");
}

#[test]
fn where_calls_are_known_to_be_counted_soon_slow_answers_hold_nothing_up() {
    let sent_in_five_seconds = |is_counted_soon: bool| {
        let (clock, builder) = on_manual();
        let builder = builder.limit(Dimension::Requests, quota!("100/s"));
        let soon = Duration::from_millis(100);
        let mirror = if is_counted_soon { builder.counted_within(soon) } else { builder }.build().unwrap();
        let mut sent = Vec::new();
        for _ in 0..5_000 {
            sent.extend(mirror.try_send(&ONE));
            clock.advance(Duration::from_millis(1));
        }
        sent.len()
    };
    assert_eq!(sent_in_five_seconds(false), 100, "they may all be counted at this moment");
    // A hundred at first, then as many as are refilled after they were counted at the latest.
    let sent = sent_in_five_seconds(true);
    assert!((580..=600).contains(&sent), "{sent}");
}

#[test]
fn what_was_counted_long_ago_is_not_given_back_as_if_it_had_not() {
    let (clock, builder) = on_manual();
    let builder = builder.limit(Dimension::Requests, quota!("60/min")).counted_within(SECOND);
    let mirror = builder.build().unwrap();
    let (soon, late) =
        (mirror.try_send(&Cost::requests(20)).unwrap(), mirror.try_send(&Cost::requests(30)).unwrap());
    clock.advance(SECOND - Duration::from_nanos(1));
    soon.not_sent();
    assert_eq!(available(&mirror), 30);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(available(&mirror), 30);
    late.not_sent();
    assert_eq!(available(&mirror), 30, "it may have been counted");
}

#[test]
fn a_reset_alone_lowers_as_it_is_and_raises_by_what_is_sure() {
    let (_clock, mirror) = one(quota!("60/min"));
    let tell = |reset| {
        answer(mirror.try_send(&ONE).unwrap(), 200, &[("x-ratelimit-reset-requests", reset)]);
        available(&mirror)
    };
    assert_eq!(tell("20s"), 40);
    assert_eq!(tell("10s"), 49, "up to a second may have been cut off");
    assert_eq!(tell("8.5s"), 51, "or a millisecond");
}
