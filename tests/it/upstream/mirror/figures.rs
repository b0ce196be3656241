//! What one response makes of a mirror.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::upstream::{
    Class, Cost, Dimension, Heard, IetfDraft, Mirror, Provider, Reader, Refused, Reset,
};
use tollgate::{Quota, quota};

use super::support::{OnManual, SECOND, answer, available, fields, on_manual, one, requests, told};

const ONE: Cost = Cost::requests(1);

#[test]
fn time_to_full_becomes_the_arrival_point() {
    let (clock, mirror) = one(quota!("60/min"));
    let sent = mirror.try_send(&ONE).unwrap();
    assert_eq!(available(&mirror), 59, "in flight counts");
    assert_eq!(told(sent, 60, 40, "20s"), Heard::Fine);
    assert_eq!(available(&mirror), 40);
    assert_eq!(mirror.level(Dimension::Requests).unwrap().time_to_full(), 20 * SECOND);
    clock.advance(5 * SECOND);
    assert_eq!(available(&mirror), 45);
}

#[test]
fn a_reset_is_finer_than_rounded_tokens() {
    // To the nearest 1000: 49 500 to 50 500 are left. The reset tells which, to the second and in its millisecond.
    let left = |reset: &str| {
        let (_clock, builder) = on_manual();
        let mirror = builder.limit(Dimension::InputTokens, quota!("60k/min")).build().unwrap();
        let sent = mirror.try_send(&Cost::of(Dimension::InputTokens, 1)).unwrap();
        let headers = [
            ("date", "Tue, 13 May 2025 14:20:00 GMT"),
            ("anthropic-ratelimit-input-tokens-limit", "60000"),
            ("anthropic-ratelimit-input-tokens-remaining", "50000"),
            ("anthropic-ratelimit-input-tokens-reset", reset),
        ];
        answer(sent, 200, &headers);
        mirror.level(Dimension::InputTokens).unwrap().available()
    };
    assert_eq!(left("2025-05-13T14:20:09.749Z"), 50_250);
    assert_eq!(left("2025-05-13T14:20:10.249Z"), 49_750);
    assert_eq!(left("2025-05-13T14:20:11.249Z"), 49_500, "not below what the figure leaves open");
    assert_eq!(left("2025-05-13T14:20:05.249Z"), 50_499, "nor above");
    assert_eq!(left("2025-05-13T14:20:10Z"), 49_500, "a second was cut off, maybe");
    assert_eq!(left("soon"), 49_500, "without a reset the least");
}

#[test]
fn what_is_in_flight_is_subtracted() {
    let (_clock, mirror) = one(quota!("60/min"));
    let sent: Vec<_> = (0..10).map(|_| mirror.try_send(&ONE).unwrap()).collect();
    let last = mirror.try_send(&ONE).unwrap();
    told(last, 60, 50, "10s");
    assert_eq!(available(&mirror), 40);
    assert_eq!(mirror.in_flight(), 10);
    drop(sent);
    assert_eq!((available(&mirror), mirror.in_flight()), (40, 0), "they stay charged");
}

#[test]
fn a_call_that_never_left_gives_all_back() {
    let (clock, mirror) = one(quota!("60/min"));
    let sent = mirror.try_send(&Cost::requests(60)).unwrap();
    assert!(matches!(mirror.try_send(&ONE), Err(Refused::NotYet { wait: SECOND, .. })));
    clock.advance(30 * SECOND);
    sent.not_sent();
    assert_eq!(available(&mirror), 60);
}

#[test]
fn the_true_cost_takes_the_place_of_the_expected_one() {
    let (_clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Tokens, quota!("1000/min")).build().unwrap();
    let headers = HeaderMap::new();
    let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
    let used = |mirror: &OnManual, expected, used| {
        let sent = mirror.try_send(&Cost::of(Dimension::Tokens, expected)).unwrap();
        sent.answered_with(&reading, &Cost::of(Dimension::Tokens, used));
        mirror.level(Dimension::Tokens).unwrap().available()
    };
    assert_eq!(used(&mirror, 500, 120), 880);
    assert_eq!(used(&mirror, 100, 380), 500);
    assert_eq!(used(&mirror, 500, 600), 0, "debt");
}

#[test]
fn what_is_not_said_changes_nothing() {
    for headers in [
        vec![],
        vec![
            ("x-ratelimit-limit-requests", "-1"),
            ("x-ratelimit-remaining-requests", "-1"),
            ("x-ratelimit-reset-requests", "0"),
        ],
        vec![("x-ratelimit-remaining-tokens", "7")],
        vec![("x-ratelimit-remaining-requests", "many"), ("x-ratelimit-reset-requests", "soon")],
    ] {
        let (_clock, mirror) = one(quota!("60/min"));
        let sent = mirror.try_send(&ONE).unwrap();
        assert_eq!(answer(sent, 200, &headers), Heard::Fine, "{headers:?}");
        assert_eq!(available(&mirror), 59, "{headers:?}");
    }
}

#[test]
fn only_what_remains_may_be_said() {
    let (_clock, mirror) = one(quota!("60/min"));
    let sent = mirror.try_send(&ONE).unwrap();
    answer(sent, 200, &[("x-ratelimit-remaining-requests", "17")]);
    assert_eq!(available(&mirror), 17);
}

#[test]
fn a_lower_limit_counts_at_once_and_a_higher_one_as_far_as_configured() {
    let (clock, mirror) = one(quota!("60/min"));
    told(mirror.try_send(&ONE).unwrap(), 30, 29, "2s");
    assert_eq!((available(&mirror), mirror.level(Dimension::Requests).unwrap().limit()), (29, 30));
    assert!(matches!(mirror.try_send(&Cost::requests(31)), Err(Refused::OverCapacity { capacity: 30, .. })));
    clock.advance(2 * SECOND);
    assert_eq!(available(&mirror), 30, "it fills at the lower rate");
    told(mirror.try_send(&ONE).unwrap(), 1_000, 999, "60ms");
    assert_eq!(mirror.level(Dimension::Requests).unwrap().limit(), 60);
    assert_eq!(available(&mirror), 29, "a higher limit gives nothing at once");
    told(mirror.try_send(&ONE).unwrap(), 60, 59, "1s");
    assert_eq!(available(&mirror), 59);
}

#[test]
fn a_window_is_there_again_at_its_end_and_not_before() {
    let (clock, mirror) = one(quota!("60/min"));
    let reset = |seconds: u64| {
        [
            ("x-ratelimit-limit", "60".to_string()),
            ("x-ratelimit-remaining", "3".to_string()),
            ("x-ratelimit-reset", seconds.to_string()),
        ]
    };
    let headers = reset(40);
    let pairs: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    answer(mirror.try_send(&ONE).unwrap(), 200, &pairs);
    assert_eq!(available(&mirror), 3);
    clock.advance(40 * SECOND - Duration::from_nanos(1));
    assert_eq!(available(&mirror), 3, "nothing came back");
    assert_eq!(mirror.wait_for(&Cost::requests(4)), Ok(Duration::from_nanos(1)));
    clock.advance(Duration::from_nanos(1));
    assert_eq!(available(&mirror), 60);
}

#[test]
fn an_effective_window_rations_and_the_next_unit_is_the_next_unit() {
    let headers =
        fields(&[("ratelimit-policy", "\"default\";q=60;w=60"), ("ratelimit", "\"default\";r=50;t=30")]);
    let hear = |draft| {
        let (clock, mirror) = one(quota!("60/min"));
        let sent = mirror.try_send(&ONE).unwrap();
        let reading = Reader::new().with_draft(draft).read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
        let reset = reading.windows()[0].reset;
        sent.answered(&reading);
        (clock, mirror, reset)
    };
    let (clock, mirror, reset) = hear(IetfDraft::From11);
    assert_eq!(reset, Some(Reset::EffectiveWindow(30 * SECOND)));
    clock.advance(30 * SECOND - Duration::from_nanos(1));
    assert_eq!(available(&mirror), 50, "it must last so long");
    clock.advance(Duration::from_nanos(1));
    assert_eq!(available(&mirror), 60, "after it the bucket counts");
    let (clock, mirror, reset) = hear(IetfDraft::UpTo10);
    assert_eq!(reset, Some(Reset::NextUnit(30 * SECOND)));
    assert_eq!(available(&mirror), 50);
    clock.advance(SECOND);
    assert_eq!(available(&mirror), 51, "the figures leave no more open than a second");
}

#[test]
fn a_refused_call_costs_what_the_figures_say() {
    let (_clock, mirror) = one(quota!("60/min"));
    let sent = mirror.try_send(&Cost::requests(5)).unwrap();
    let headers = requests(60, 20, "40s");
    let reading = Reader::new().read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::UNIX_EPOCH);
    assert!(matches!(sent.answered(&reading), Heard::Limited(_)));
    assert_eq!(available(&mirror), 20);
    let sent = mirror.try_send(&Cost::requests(5)).unwrap();
    assert_eq!(answer(sent, 429, &[]), Heard::Limited(None));
    assert_eq!(available(&mirror), 4, "less than it costs was there");
}

/// C101: a refusal with the figures of a limit that had passed.
#[test]
fn a_refusal_is_not_of_a_limit_that_passed() {
    let (_clock, builder) = on_manual();
    let mirror = builder
        .limit(Dimension::Requests, quota!("60/min"))
        .limit(Dimension::Tokens, quota!("10k/hour"))
        .build()
        .unwrap();
    let sent = mirror.try_send(&ONE.with(Dimension::Tokens, 500)).unwrap();
    let passed = [
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "56"),
        ("x-ratelimit-reset-requests", "4s"),
    ];
    assert_eq!(answer(sent, 429, &passed), Heard::Limited(None));
    assert_eq!(available(&mirror), 56);
    assert_eq!(mirror.level(Dimension::Tokens).unwrap().available(), 499);
}

/// C75: only the exhausted dimension is waited for.
#[test]
fn only_what_is_exhausted_is_waited_for() {
    let (_clock, builder) = on_manual();
    let mirror = builder
        .limit(Dimension::Requests, quota!("60/min"))
        .limit(Dimension::Tokens, quota!("60k/min"))
        .build()
        .unwrap();
    let sent = mirror.try_send(&ONE.with(Dimension::Tokens, 10)).unwrap();
    let headers = [
        ("date", "Sun, 06 Nov 1994 19:59:59 GMT"),
        ("anthropic-ratelimit-requests-limit", "60"),
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "1994-11-06T20:00:59Z"),
        ("anthropic-ratelimit-tokens-limit", "60000"),
        ("anthropic-ratelimit-tokens-remaining", "16000"),
        ("anthropic-ratelimit-tokens-reset", "1994-11-06T20:00:43Z"),
    ];
    answer(sent, 200, &headers);
    let cost = ONE.with(Dimension::Tokens, 10_000);
    let refused = mirror.try_send(&cost).unwrap_err();
    assert_eq!(refused, Refused::NotYet { dimension: Dimension::Requests, wait: SECOND });
    assert_eq!(mirror.wait_for(&Cost::of(Dimension::Tokens, 10_000)), Ok(Duration::ZERO));
}

#[test]
fn several_limits_of_a_dimension_are_told_apart() {
    let (_clock, builder) = on_manual();
    let mirror = builder
        .limit(Dimension::Requests, quota!("30/min"))
        .limit(Dimension::Requests, quota!("14400/day"))
        .build()
        .unwrap();
    let sent = mirror.try_send(&ONE).unwrap();
    let headers = fields(&[
        ("x-ratelimit-limit-requests", "14400"),
        ("x-ratelimit-remaining-requests", "14370"),
        ("x-ratelimit-reset-requests", "2m59.56s"),
    ]);
    sent.answered(&Reader::of(Provider::Groq).read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH));
    assert_eq!(available(&mirror), 29, "the day's figures are not the minute's");
    for _ in 0..29 {
        drop(mirror.try_send(&ONE).unwrap());
    }
    assert!(matches!(mirror.try_send(&ONE), Err(Refused::NotYet { .. })));
}

#[test]
fn a_subscription_tells_the_share_that_is_used() {
    let (clock, builder) = on_manual();
    let mirror = builder.window(Dimension::Unified5h, 1_000, Duration::from_secs(18_000)).build().unwrap();
    let cost = Cost::of(Dimension::Unified5h, 1);
    let hear = |utilization, status| {
        let headers = [
            ("date", "Tue, 13 May 2025 14:20:00 GMT"),
            ("anthropic-ratelimit-unified-5h-utilization", utilization),
            ("anthropic-ratelimit-unified-5h-reset", "1747149600"),
            ("anthropic-ratelimit-unified-5h-status", status),
        ];
        answer(mirror.try_send(&cost).unwrap(), 200, &headers);
        mirror.level(Dimension::Unified5h).unwrap().available()
    };
    assert_eq!(hear("0.25", "allowed"), 750);
    assert_eq!(hear("0.3333", "allowed_warning"), 666);
    assert_eq!(hear("0.5", "rejected"), 0);
    assert!(matches!(mirror.try_send(&cost), Err(Refused::NotYet { .. })));
    clock.advance(Duration::from_secs(3_600));
    assert!(mirror.try_send(&cost).is_ok());
}

#[test]
fn terminal_quota_errors_close_it_until_it_is_opened() {
    let (clock, mirror) = one(quota!("60/min"));
    let sent = mirror.try_send(&ONE).unwrap();
    let body = br#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let headers = HeaderMap::new();
    let reading = Reader::of(Provider::OpenAi)
        .read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::UNIX_EPOCH)
        .with_body(body);
    assert_eq!(sent.answered(&reading), Heard::Terminal(Class::QuotaTerminal));
    clock.advance(Duration::from_secs(86_400));
    let refused = mirror.try_send(&ONE).unwrap_err();
    assert_eq!((refused, refused.wait()), (Refused::Terminal(Class::QuotaTerminal), None));
    assert_eq!(mirror.wait_for(&ONE), Err(refused));
    assert_eq!((mirror.terminal(), mirror.headroom(&ONE)), (Some(Class::QuotaTerminal), 0));
    mirror.reopen();
    assert!(mirror.try_send(&ONE).is_ok());
}

#[test]
fn a_call_that_is_not_to_be_repeated_closes_nothing() {
    let (_clock, mirror) = one(quota!("60/min"));
    assert_eq!(answer(mirror.try_send(&ONE).unwrap(), 400, &[("x-should-retry", "false")]), Heard::Final);
    assert!(mirror.try_send(&ONE).is_ok());
}

/// No recorded or made-up figures make more of a mirror than they say, nor less than they leave open.
#[test]
fn figures_of_all_vectors_are_followed() {
    let file = include_str!("../../../data/header_vectors.json");
    let file: serde_json::Value = serde_json::from_str(file).unwrap();
    let mut followed = 0;
    for vector in file["vectors"].as_array().unwrap().iter().filter(|vector| vector["kind"] == "headers") {
        let mut headers = HeaderMap::new();
        for pair in vector["headers"].as_array().unwrap() {
            let name: HeaderName = pair[0].as_str().unwrap().parse().unwrap();
            headers.append(name, HeaderValue::from_bytes(pair[1].as_str().unwrap().as_bytes()).unwrap());
        }
        let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
        for window in reading.windows() {
            let (Some(limit @ 1..), Some(remaining)) = (window.limit, window.remaining) else { continue };
            let period = window.period.map_or(Duration::from_secs(60), |period| period.longest());
            let (_clock, builder) = on_manual();
            let quota = Quota::new(limit, period).unwrap();
            let mirror = builder.limit(window.dimension, quota).build().unwrap();
            mirror.try_send(&Cost::of(window.dimension, 1)).unwrap().answered(&reading);
            let Some(same) = reading.windows().iter().find(|other| other.dimension == window.dimension)
            else {
                continue;
            };
            if same != window {
                continue;
            }
            let left = mirror.level(window.dimension).unwrap().available();
            let half = window.granularity / 2;
            let range = remaining.saturating_sub(half).min(limit)..=(remaining + half).min(limit);
            // A call was charged when it is not to be raised.
            // Where more is left than there can be, nothing is raised.
            assert!(range.contains(&left) || left + 1 == limit, "{}: {left} of {window:?}", vector["id"]);
            followed += 1;
        }
    }
    assert!(followed >= 50, "{followed}");
}

#[test]
fn headroom_is_the_least_share_of_what_the_cost_touches() {
    let (_clock, builder) = on_manual();
    let mirror = builder
        .limit(Dimension::Requests, quota!("100/min"))
        .limit(Dimension::Tokens, quota!("1000/min"))
        .build()
        .unwrap();
    let cost = ONE.with(Dimension::Tokens, 750);
    assert_eq!(mirror.headroom(&cost), 1000);
    let sent = mirror.try_send(&cost).unwrap();
    assert_eq!((mirror.headroom(&ONE), mirror.headroom(&Cost::of(Dimension::Tokens, 1))), (990, 250));
    assert_eq!(mirror.headroom(&cost), 0, "it would not be let through");
    assert_eq!(mirror.headroom(&Cost::default()), 1000);
    sent.not_sent();
}

#[test]
fn a_mirror_on_the_default_clock_and_its_texts() {
    let mirror = Mirror::builder().limit(Dimension::Requests, quota!("1/hour")).build().unwrap();
    let sent = mirror.try_send(&ONE).unwrap();
    assert!(format!("{sent:?}").contains("Sent"));
    let refused = mirror.try_send(&ONE).unwrap_err();
    assert!(refused.to_string().starts_with("not yet: Requests has enough in "), "{refused}");
    assert!(refused.wait().unwrap() <= Duration::from_secs(3_600));
    assert!(format!("{mirror:?}").contains("Requests"));
}

#[test]
fn of_two_figures_of_one_limit_the_lower_counts() {
    for windows in ["\"a\";r=50, \"b\";r=5", "\"b\";r=5, \"a\";r=50"] {
        let (_clock, mirror) = one(quota!("60/min"));
        drop(mirror.try_send(&Cost::requests(40)).unwrap());
        let policies = "\"a\";q=60, \"b\";q=60";
        let headers = fields(&[("ratelimit-policy", policies), ("ratelimit", windows)]);
        let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
        assert_eq!(reading.windows().len(), 2);
        mirror.try_send(&ONE).unwrap().answered(&reading);
        assert_eq!(available(&mirror), 5, "{windows}");
    }
}

#[test]
fn the_head_of_a_stream_is_heard_at_once_and_its_usage_at_the_end() {
    let (clock, builder) = on_manual();
    let mirror = builder
        .limit(Dimension::Requests, quota!("60/min"))
        .limit(Dimension::OutputTokens, quota!("6000/min"))
        .build()
        .unwrap();
    let output = |mirror: &OnManual| mirror.level(Dimension::OutputTokens).unwrap().available();
    let cost = ONE.with(Dimension::OutputTokens, 1_000);
    let sent = mirror.try_send(&cost).unwrap();
    let headers = requests(60, 30, "30s");
    assert_eq!(sent.head(&Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH)), Heard::Fine);
    assert_eq!((available(&mirror), output(&mirror)), (30, 5_000), "of the output nothing was told");
    clock.advance(20 * SECOND);
    assert_eq!((available(&mirror), output(&mirror)), (50, 5_000), "it is still on its way");
    sent.settled(&ONE.with(Dimension::OutputTokens, 400));
    assert_eq!((available(&mirror), output(&mirror)), (50, 5_600));
    let sent = mirror.try_send(&cost).unwrap();
    sent.head(&Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH));
    drop(sent);
    assert_eq!(output(&mirror), 4_600, "without usage it stays as expected");
}

/// A capacity other than what one period gives: however it was configured, no more is there than was told.
#[test]
fn what_remains_is_what_is_there_whatever_the_capacity() {
    let left = |quota: Quota, limit: u64, remaining: u64| {
        let (_clock, mirror) = one(quota);
        let sent = mirror.try_send(&ONE).unwrap();
        let (limit, remaining) = (limit.to_string(), remaining.to_string());
        let headers = [
            ("x-ratelimit-limit-requests", limit.as_str()),
            ("x-ratelimit-remaining-requests", remaining.as_str()),
        ];
        answer(sent, 200, &headers);
        (mirror.level(Dimension::Requests).unwrap().limit(), available(&mirror))
    };
    assert_eq!(left(quota!("50/s burst 1000"), 1_000, 40), (1_000, 40));
    assert_eq!(left(quota!("1/s burst 10"), 10, 0), (10, 0));
    assert_eq!(left(quota!("600/min burst 10"), 600, 595), (10, 5));
    assert_eq!(left(quota!("600/min burst 10"), 300, 299), (5, 4), "half of all");
    assert_eq!(left(quota!("50/s burst 1000"), 500, 499), (500, 499));
    assert_eq!(left(quota!("500k/min burst 750k"), 500_000, 499_999), (750_000, 499_999));
    assert_eq!(left(quota!("500k/min burst 750k"), 400_000, 399_999), (600_000, 399_999));
    assert_eq!(left(quota!("100/s"), 1_000, 500), (100, 99), "more than configured is not taken");
    assert_eq!(left(quota!("100/s"), 1_000, 7), (100, 7));
}
