//! What is learned from figures that do not say it.

use std::time::Duration;

use tollgate::quota;
use tollgate::upstream::{Charged, Cost, Dimension};

use super::support::{OnManual, SECOND, answer, available, on_manual, one, told};

const ONE: Cost = Cost::requests(1);
const DAY: Duration = Duration::from_secs(86_400);

fn tell(mirror: &OnManual, left: u64, reset: &str) {
    told(mirror.try_send(&ONE).unwrap(), 200, left, reset);
}

#[test]
fn a_window_is_learned_where_two_responses_agree() {
    let (clock, mirror) = one(quota!("200/min"));
    tell(&mirror, 190, "1h12m0s");
    assert_eq!(mirror.learned_window(Dimension::Requests), None, "one is not enough");
    tell(&mirror, 189, "1h19m12s");
    let learned = mirror.learned_window(Dimension::Requests).unwrap();
    assert_eq!(learned.length(), DAY);
    let (shortest, longest) = learned.range();
    assert!(shortest <= DAY && DAY <= longest && longest * 4 <= shortest * 5, "{learned:?}");
    // So much a day, not so much a minute.
    clock.advance(Duration::from_secs(60));
    assert_eq!(available(&mirror), 189);
    clock.advance(Duration::from_secs(7 * 60 + 12));
    assert_eq!(available(&mirror), 190);
}

#[test]
fn a_window_is_not_learned_from_too_little() {
    // The recorded 20m52.666s of a limit of 200: with three or fewer missing a day is only one of many lengths.
    let (_clock, mirror) = one(quota!("200/min"));
    for _ in 0..5 {
        tell(&mirror, 197, "20m52.666s");
    }
    assert_eq!(mirror.learned_window(Dimension::Requests), None);
}

#[test]
fn figures_that_do_not_agree_begin_anew() {
    let (_clock, mirror) = one(quota!("200/day"));
    tell(&mirror, 100, "12h0m0s");
    tell(&mirror, 100, "30s");
    assert_eq!(mirror.learned_window(Dimension::Requests), None);
    tell(&mirror, 99, "30.3s");
    assert_eq!(mirror.learned_window(Dimension::Requests).unwrap().length(), Duration::from_secs(60));
    let to_full = mirror.level(Dimension::Requests).unwrap().time_to_full();
    assert!(to_full >= DAY / 2, "never more than configured: {to_full:?}");
}

#[test]
fn the_charge_of_a_call_is_the_difference_of_two_figures() {
    let (clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Tokens, quota!("60k/min")).build().unwrap();
    let call = |expected: u64, left: u64| {
        let sent = mirror.try_send(&Cost::of(Dimension::Tokens, expected)).unwrap();
        let reset = format!("{}ms", 60_000 - left);
        let fields = [
            ("x-ratelimit-limit-tokens", "60000".to_string()),
            ("x-ratelimit-remaining-tokens", left.to_string()),
            ("x-ratelimit-reset-tokens", reset),
        ];
        answer(sent, 200, &fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
        mirror.last_charge(Dimension::Tokens)
    };
    assert_eq!(call(100, 59_000), None, "of the first nothing is known");
    clock.advance(Duration::from_millis(200));
    // 200 have come back, and 350 are gone.
    assert_eq!(call(100, 58_850), Some(Charged { least: 350, most: 350 }));
    let beside = mirror.try_send(&Cost::of(Dimension::Tokens, 1)).unwrap();
    assert_eq!(call(100, 58_000), Some(Charged { least: 350, most: 350 }), "not with a call beside it");
    drop(beside);
}

#[test]
fn the_charge_is_a_range_where_time_or_rounding_leave_it_open() {
    let (clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::InputTokens, quota!("60k/min")).build().unwrap();
    let call = |left: &str, takes: u64| {
        let sent = mirror.try_send(&Cost::of(Dimension::InputTokens, 1)).unwrap();
        clock.advance(Duration::from_millis(takes));
        let fields = [
            ("anthropic-ratelimit-input-tokens-limit", "60000"),
            ("anthropic-ratelimit-input-tokens-remaining", left),
        ];
        answer(sent, 200, &fields);
        mirror.last_charge(Dimension::InputTokens)
    };
    call("50000", 100);
    // 5000 less, each to the nearest 1000, and refill of at most the time of both calls.
    let charged = call("45000", 200).unwrap();
    assert!(charged.least <= 5_000 && charged.most >= 5_000, "{charged:?}");
    assert_eq!((charged.least, charged.most), (4_001, 6_299));
}

#[test]
fn in_a_window_the_charge_is_exact() {
    let (clock, builder) = on_manual();
    let mirror = builder.window(Dimension::Requests, 60, Duration::from_secs(60)).build().unwrap();
    let call = |left: &str, reset: &str| {
        let pairs =
            [("x-ratelimit-limit", "60"), ("x-ratelimit-remaining", left), ("x-ratelimit-reset", reset)];
        answer(mirror.try_send(&ONE).unwrap(), 200, &pairs);
        mirror.last_charge(Dimension::Requests)
    };
    call("50", "30");
    clock.advance(SECOND);
    assert_eq!(call("47", "29"), Some(Charged { least: 3, most: 3 }));
    clock.advance(29 * SECOND);
    assert_eq!(call("59", "60"), Some(Charged { least: 3, most: 3 }), "not across windows");
}
