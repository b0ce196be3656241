//! `Quota`: building, text, errors, shares.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{Fill, Quota, QuotaError, quota};

use crate::quotas::{Plain, quotas, rates, sized};
use crate::support::{S, nanos, quota as plain};

const SECOND: Duration = Duration::from_secs(1);

// Everything that builds a quota works in a constant.
const HUNDRED: Quota = match Quota::per_second(100) {
    Ok(quota) => quota,
    Err(_) => panic!("100 a second is a quota"),
};
const WITH_BURST: Quota = match HUNDRED.burst(200) {
    Ok(quota) => quota,
    Err(_) => panic!("200 is a capacity"),
};
const HALF_FULL: Quota = match WITH_BURST.fill(Fill::Tokens(100)) {
    Ok(quota) => quota,
    Err(_) => panic!("100 of 200 is a fill"),
};
const PARSED: Quota = match Quota::parse("5 per 1.5s") {
    Ok(quota) => quota,
    Err(_) => panic!("a quota"),
};
const FROM_TEXT: Quota = quota!("100/s burst 200 holding 100");

#[test]
fn constants_are_quotas_like_any_other() {
    assert_eq!(HALF_FULL, FROM_TEXT);
    assert_eq!((HUNDRED.tokens(), HUNDRED.period(), HUNDRED.capacity()), (100, SECOND, 100));
    assert_eq!((WITH_BURST.capacity(), WITH_BURST.initial()), (200, Fill::Full));
    assert_eq!((HALF_FULL.initial(), HALF_FULL.capacity()), (Fill::Tokens(100), 200));
    assert_eq!((PARSED.tokens(), PARSED.period()), (5, Duration::from_millis(1500)));
}

#[test]
fn the_named_rates() {
    let rates = [
        (Quota::per_second(7), 1),
        (Quota::per_minute(7), 60),
        (Quota::per_hour(7), 3600),
        (Quota::per_day(7), 86_400),
    ];
    for (quota, seconds) in rates {
        assert_eq!(quota, Quota::new(7, Duration::from_secs(seconds)));
        assert_eq!(quota, Quota::with_burst(7, Duration::from_secs(seconds), 7));
        assert_eq!(quota.unwrap().initial_tokens(), 7);
    }
}

#[test]
fn the_texts_of_the_documentation() {
    let texts = [
        ("100/s", plain(100, S, 100)),
        ("100/s burst 200", plain(100, S, 200)),
        ("5 per 1.5s", plain(5, 1_500_000_000, 5)),
        ("500k/min burst 750k", plain(500_000, 60 * S, 750_000)),
        ("500k/min burst x1.5", plain(500_000, 60 * S, 750_000)),
        ("1/day burst 1 empty", plain(1, 86_400 * S, 1).fill(Fill::Empty).unwrap()),
        ("300000/min burst 450000", plain(300_000, 60 * S, 450_000)),
        ("300/min burst 30", plain(300, 60 * S, 30)),
        ("10/s full", plain(10, S, 10)),
        ("10/s holding 3", plain(10, S, 10).fill(Fill::Tokens(3)).unwrap()),
        ("1_000_000/hour", plain(1_000_000, 3600 * S, 1_000_000)),
        ("1.5k/ms", plain(1500, 1_000_000, 1500)),
        ("2M per 3 days", plain(2_000_000, 3 * 86_400 * S, 2_000_000)),
        ("1G/s burst 2T", plain(1_000_000_000, S, 2_000_000_000_000)),
        ("7 per 90 seconds", plain(7, 90 * S, 7)),
        ("3/10us", plain(3, 10_000, 3)),
        ("9 per ns", plain(9, 1, 9)),
        ("10/s burst x0.55", plain(10, S, 5)),
        ("10/s  burst   x2", plain(10, S, 20)),
        ("  10 / s burst x2  ", plain(10, S, 20)),
    ];
    for (text, quota) in texts {
        assert_eq!(text.parse(), Ok(quota), "{text}");
        assert_eq!(quota.to_string().parse(), Ok(quota), "{text} as {quota}");
    }
}

#[test]
fn a_quota_is_shown_in_its_shortest_form() {
    for text in [
        "100/s",
        "5 per 1.5s",
        "500k/min burst 750k",
        "1/day burst 1k empty",
        "3/h holding 2",
        "1 per 1.000000001s",
        "10/ns",
        "7 per 15us",
        "7 per 1.5us",
        "1 per 2.25ms",
        "2 per 3h",
        "1M per 2day burst 1T",
    ] {
        assert_eq!(text.parse::<Quota>().map(|quota| quota.to_string()), Ok(text.to_string()));
    }
    assert_eq!(quota!("1000/s burst 1000 full").to_string(), "1k/s");
    assert_eq!(quota!("60 per 60s").to_string(), "60/min");
}

/// Each error with a way to make it, and what its message must name.
fn errors() -> Vec<(Result<Quota, QuotaError>, QuotaError, &'static [&'static str])> {
    let (limit, millennium) = (1_u64 << 61, Duration::from_secs(1));
    let too_fast = QuotaError::RateTooHigh { tokens: 10_000_000_001, period: millennium };
    let share = |shares| HUNDRED.split(shares).map(|_| HUNDRED);
    let slow = Quota::new(3, Duration::MAX).unwrap();
    vec![
        (Quota::new(0, SECOND), QuotaError::ZeroTokens, &["0 tokens", "at least 1"]),
        (Quota::new(1, Duration::ZERO), QuotaError::ZeroPeriod, &["0 ns", "at least 1"]),
        (Quota::with_burst(1, SECOND, 0), QuotaError::ZeroCapacity, &["0 tokens", "at least 1"]),
        (
            Quota::with_burst(1, SECOND, limit),
            QuotaError::CapacityTooLarge { capacity: limit },
            &["2305843009213693952", "2305843009213693951", "2^61"],
        ),
        (Quota::new(10_000_000_001, SECOND), too_fast, &["10000000001", "1s", "10^10"]),
        (
            HUNDRED.fill(Fill::Tokens(101)),
            QuotaError::FillAboveCapacity { tokens: 101, capacity: 100 },
            &["101", "100"],
        ),
        (HALF_FULL.burst(99), QuotaError::FillAboveCapacity { tokens: 100, capacity: 99 }, &["100", "99"]),
        (share(0), QuotaError::ShareZero { capacity: 100, shares: 0 }, &["0 shares", "100"]),
        (share(101), QuotaError::ShareZero { capacity: 100, shares: 101 }, &["101 shares", "from 1 to 100"]),
        (
            slow.split(2).map(|_| slow),
            QuotaError::ShareTooSlow { period: Duration::MAX, shares: 2 },
            &["2 shares", "18446744073709551615.999999999s"],
        ),
        (Quota::parse("100/s bur 3"), QuotaError::Syntax { at: 6, expected: "" }, &["byte 6", "burst"]),
        (
            Quota::parse("18446744073709551616/s"),
            QuotaError::NumberTooLarge { at: 0 },
            &["byte 0", "18446744073709551615"],
        ),
    ]
}

#[test]
fn every_error_names_the_value_and_the_limit() {
    for (result, expected, parts) in errors() {
        let error = result.unwrap_err();
        let same = match (error, expected) {
            (QuotaError::Syntax { at, .. }, QuotaError::Syntax { at: place, .. }) => at == place,
            _ => error == expected,
        };
        assert!(same, "{error:?} instead of {expected:?}");
        for part in parts {
            assert!(error.to_string().contains(part), "no `{part}` in `{error}`");
        }
        assert!(error.reason().contains("must") || matches!(error, QuotaError::Syntax { .. }), "{error:?}");
        let _: &dyn std::error::Error = &error;
    }
}

#[test]
fn every_name_of_a_unit_has_its_length() {
    let units = [
        ("ns", 1),
        ("us µs", 1_000),
        ("ms", 1_000_000),
        ("s sec secs second seconds", S),
        ("m min mins minute minutes", 60 * S),
        ("h hr hour hours", 3_600 * S),
        ("d day days", 86_400 * S),
    ];
    for (names, length) in units {
        for name in names.split(' ') {
            let expected = Quota::new(1, nanos(length));
            assert_eq!(Quota::parse(&format!("1/{name}")), expected, "{name}");
            assert_eq!(
                Quota::parse(&format!("2 per 2 {name} burst 1")).map(|quota| quota.period()),
                Ok(2 * nanos(length))
            );
        }
    }
}

#[test]
fn numbers_beyond_any_width_are_too_large() {
    let most = u128::MAX.to_string();
    for number in [most.clone(), most.replace("455", "459"), format!("{most}0"), "9".repeat(400)] {
        for text in [format!("{number}/s"), format!("{number}.5k/s"), format!("1/{number}s")] {
            let error = Quota::parse(&text).unwrap_err();
            assert!(matches!(error, QuotaError::NumberTooLarge { at: 0 | 2 }), "{text}: {error:?}");
        }
    }
}

#[test]
fn the_largest_number_is_read_and_the_next_is_not() {
    let largest = Quota::parse("18446744073709551615/d").unwrap_err();
    assert!(matches!(largest, QuotaError::RateTooHigh { tokens: u64::MAX, .. }), "{largest:?}");
    assert_eq!(Quota::parse("18446744073709551616/d"), Err(QuotaError::NumberTooLarge { at: 0 }));
}

#[test]
fn a_share_of_the_rate_is_fewer_tokens_or_a_longer_period() {
    let first = |quota: Quota, shares| quota.split(shares).unwrap().next().unwrap();
    let quarter = first(quota!("100/s"), 4);
    assert_eq!((quarter.tokens(), quarter.period()), (25, Duration::from_secs(1)));
    let third = first(quota!("100/s"), 3);
    assert_eq!((third.tokens(), third.period()), (100, Duration::from_secs(3)));
}

#[test]
fn eighteen_decimals_are_read_and_no_more() {
    let with = |zeros| Quota::parse(&format!("1.{}k/s", "0".repeat(zeros)));
    assert_eq!([0, 1, 17, 18].map(|zeros| with(zeros).is_ok()), [false, true, true, true]);
    let refused =
        |zeros| matches!(with(zeros), Err(QuotaError::Syntax { at: 2, expected: "at most 18 decimals" }));
    assert_eq!([18, 19, 20, 30].map(refused), [false, true, true, true]);
}

#[test]
fn a_text_that_is_none_says_what_was_expected_even_in_fixed_words() {
    let error = Quota::parse("100 a fortnight").unwrap_err();
    assert_eq!(error.to_string(), format!("at byte 4: expected {}", error.reason()));
    assert!(error.reason().contains("period"), "{}", error.reason());
}

#[test]
fn the_limits_themselves_are_allowed() {
    assert!(Quota::with_burst(1, nanos(1), (1 << 61) - 1).is_ok());
    assert!(Quota::per_second(10_000_000_000).is_ok());
    assert!(Quota::new(10, nanos(1)).is_ok());
    assert!(Quota::new(11, nanos(1)).is_err());
    assert!(Quota::with_burst(u64::MAX, Duration::from_secs(1_844_674_408), 1).is_ok());
    assert!(Quota::new(1, Duration::MAX).is_ok());
    assert!(HUNDRED.split(100).is_ok());
    assert!(HUNDRED.fill(Fill::Tokens(100)).is_ok());
    assert!(HUNDRED.fill(Fill::Tokens(0)).is_ok());
}

#[test]
fn texts_that_are_no_quota_are_errors_with_their_place() {
    let texts = [
        ("", 0),
        ("/s", 0),
        ("100", 3),
        ("100/", 4),
        ("100/fortnight", 4),
        ("-1/s", 0),
        ("+1/s", 0),
        ("1e3/s", 1),
        ("1 0/s", 2),
        ("1__0/s", 2),
        ("1_/s", 2),
        ("1.5/s", 0),
        ("1.0005k/s", 0),
        ("100/s burst", 11),
        ("100/s burst x", 13),
        ("100/s burst -1", 12),
        ("100/s burst 1 burst 2", 14),
        ("100/s empty full", 12),
        ("100/sec.", 7),
        ("100/s holding", 13),
        ("100 pers", 4),
        ("100/1.0000000001s", 4),
        ("0x10/s", 1),
        ("NaN/s", 0),
        ("\u{663}/s", 0),
    ];
    for (text, place) in texts {
        match Quota::parse(text) {
            Err(QuotaError::Syntax { at, expected }) => {
                assert!(
                    at == place && !expected.is_empty(),
                    "`{text}`: expected {expected} at {at}, not {place}"
                );
            }
            other => panic!("`{text}`: {other:?}"),
        }
    }
}

#[test]
fn a_text_is_refused_for_its_values_like_any_quota() {
    assert_eq!(Quota::parse("0/s"), Err(QuotaError::ZeroTokens));
    assert_eq!(Quota::parse("1/0s"), Err(QuotaError::ZeroPeriod));
    assert_eq!(Quota::parse("1/s burst 0"), Err(QuotaError::ZeroCapacity));
    assert_eq!(
        Quota::parse("1/s burst 9999999T"),
        Err(QuotaError::CapacityTooLarge { capacity: 9_999_999_000_000_000_000 })
    );
    assert_eq!(Quota::parse("11/ns"), Err(QuotaError::RateTooHigh { tokens: 11, period: nanos(1) }));
    assert_eq!(Quota::parse("1/s holding 2"), Err(QuotaError::FillAboveCapacity { tokens: 2, capacity: 1 }));
    for text in [
        "99999999999999999999/s",
        "1/99999999999999999999s",
        "18446744073709551615k/s",
        "1/s burst 99999999T",
    ] {
        assert!(matches!(Quota::parse(text), Err(QuotaError::NumberTooLarge { .. })), "{text}");
    }
    let digits = "9".repeat(200);
    for text in [
        format!("{digits}/s"),
        format!("1/{digits}s"),
        format!("1/s burst x{digits}"),
        format!("1.{digits}/s"),
    ] {
        assert!(Quota::parse(&text).is_err(), "{text}");
    }
}

fn any_quota() -> impl Strategy<Value = Quota> {
    let period = prop_oneof![
        sized().prop_map(nanos),
        (sized(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        (sized(), 1..86_401_u64).prop_map(|(secs, unit)| Duration::from_secs((secs % 1000 + 1) * unit)),
    ];
    let quota = prop_oneof![
        (rates(), sized()).prop_map(|((tokens, period), burst)| (tokens, nanos(period), burst)),
        (sized(), period, sized()),
    ];
    let fill = prop_oneof![Just(Fill::Full), Just(Fill::Empty), sized().prop_map(Fill::Tokens)];
    (quota, fill).prop_filter_map("not a quota", |((tokens, period, burst), fill)| {
        let quota = Quota::with_burst(tokens, period, burst).ok()?;
        Some(quota.fill(fill).unwrap_or(quota))
    })
}

proptest! {
    #[test]
    fn what_is_shown_is_read_back_as_the_same(quota in any_quota()) {
        prop_assert_eq!(Quota::parse(&quota.to_string()), Ok(quota));
        prop_assert_eq!(quota.to_string().parse(), Ok(quota));
    }

    #[test]
    fn a_count_with_a_suffix_is_that_many(count in 1..1_000_000_u64, decimals in 0..1000_u64) {
        let text = format!("{count}.{decimals:03}k/day burst {count}_000");
        let quota = Quota::parse(&text).unwrap();
        prop_assert_eq!((quota.tokens(), quota.capacity()), (count * 1000 + decimals, count * 1000));
    }

    #[test]
    fn a_burst_in_periods_is_rounded_down(tokens in 1..1_000_000_u64, whole in 1..100_u64, hundredths in 0..100_u64) {
        let quota = Quota::parse(&format!("{tokens}/s burst x{whole}.{hundredths:02}")).unwrap();
        prop_assert_eq!(quota.capacity(), tokens * (whole * 100 + hundredths) / 100);
    }

    #[test]
    fn no_text_panics(text in ".{0,40}", near in "[0-9._kMx/ ]{0,12}(per|/| burst | empty|s|min|day)[0-9x. a-z]{0,12}") {
        for text in [text, near] {
            if let Ok(quota) = Quota::parse(&text) {
                prop_assert_eq!(quota.to_string().parse(), Ok(quota), "{}", text);
            }
        }
    }

    /// Shares have the same rate each and sum to the whole, or one of them would be zero.
    #[test]
    fn shares_sum_exactly_to_the_whole(plain_quota in quotas(), shares in 0..1000_u32, held in any::<u64>()) {
        let Plain { tokens, period, burst } = plain_quota;
        for fill in [Fill::Full, Fill::Empty, Fill::Tokens(held % (burst + 1))] {
            let whole = plain(tokens, period, burst).fill(fill).unwrap();
            let parts: Vec<Quota> = match whole.split(shares) {
                Ok(parts) => parts.collect(),
                Err(error) => {
                    prop_assert_eq!(error, QuotaError::ShareZero { capacity: burst, shares });
                    prop_assert!(shares == 0 || u64::from(shares) > burst);
                    continue;
                }
            };
            prop_assert_eq!(parts.len(), shares as usize);
            prop_assert_eq!(parts.iter().map(Quota::capacity).sum::<u64>(), burst);
            prop_assert_eq!(parts.iter().map(Quota::initial_tokens).sum::<u64>(), whole.initial_tokens());
            let (most, least) = (parts[0].capacity(), parts[parts.len() - 1].capacity());
            prop_assert!(least >= 1 && most - least <= 1);
            for part in parts {
                prop_assert!(part.initial_tokens() <= part.capacity());
                let rate = u128::from(part.tokens()) * u128::from(shares) * u128::from(period);
                prop_assert_eq!(rate, u128::from(tokens) * part.period().as_nanos());
            }
        }
    }
}

#[cfg(feature = "serde")]
mod with_serde {
    use super::*;

    #[test]
    fn a_quota_is_its_text() {
        assert_eq!(serde_json::to_string(&quota!("500k/min burst 750k")).unwrap(), "\"500k/min burst 750k\"");
        assert_eq!(serde_json::from_str::<Quota>("\"100/s burst x2\"").unwrap(), WITH_BURST);
        for text in ["\"100\"", "\"0/s\"", "100", "null", "{}"] {
            assert!(serde_json::from_str::<Quota>(text).is_err(), "{text}");
        }
        let error = serde_json::from_str::<Quota>("7").unwrap_err().to_string();
        assert!(error.contains("expected a quota such as"), "{error}");
        let error = serde_json::from_str::<Quota>("\"1/s burst 0\"").unwrap_err().to_string();
        assert!(error.contains("capacity of 0 tokens"), "{error}");
    }

    proptest! {
        #[test]
        fn every_quota_survives(quota in any_quota()) {
            let text = serde_json::to_string(&quota).unwrap();
            prop_assert_eq!(serde_json::from_str::<Quota>(&text).unwrap(), quota);
        }
    }
}
