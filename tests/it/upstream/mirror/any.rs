//! Any calls and any responses, extremes among them: nothing panics, and what is told holds together.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::upstream::{Cost, Dimension, Reader};
use tollgate::{Nanos, Quota, quota};

use super::support::{OnManual, on_manual};

const NAMES: [&str; 20] = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-unified-5h-utilization",
    "anthropic-ratelimit-unified-5h-status",
    "ratelimit-policy",
    "ratelimit",
    "retry-after",
    "age",
    "date",
];
const VALUES: [&str; 22] = [
    "0",
    "1",
    "7",
    "60",
    "61",
    "1000",
    "18446744073709551615",
    "-1",
    "0s",
    "6ms",
    "59.999999999s",
    "1h",
    "99999999h",
    "0.5",
    "1.0",
    "rejected",
    "2025-05-13T14:20:03Z",
    "Tue, 13 May 2025 14:20:00 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "\"a\";q=60;w=60",
    "\"a\";r=7;t=30",
    "\"a\";r=0;t=999999999",
];

#[derive(Clone, Debug)]
enum Act {
    Send(u64, u64),
    Answer { which: usize, status: u16, fields: Vec<(&'static str, &'static str)>, used: Option<u64> },
    Head { which: usize, fields: Vec<(&'static str, &'static str)> },
    Observe(Vec<(&'static str, &'static str)>),
    NotSent(usize),
    Drop(usize),
    Pass(u64),
    Pause(u64),
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..80_u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn act() -> impl Strategy<Value = Act> {
    let fields = || prop::collection::vec((select(&NAMES[..]), select(&VALUES[..])), 0..6);
    let which = || 0..20_usize;
    prop_oneof![
        6 => (amount(), amount()).prop_map(|(requests, tokens)| Act::Send(requests, tokens)),
        4 => (which(), select(vec![200, 429, 503]), fields(), prop::option::of(amount()))
            .prop_map(|(which, status, fields, used)| Act::Answer { which, status, fields, used }),
        1 => (which(), fields()).prop_map(|(which, fields)| Act::Head { which, fields }),
        1 => fields().prop_map(Act::Observe),
        1 => which().prop_map(Act::NotSent),
        1 => which().prop_map(Act::Drop),
        4 => prop_oneof![0..60_000_000_000_u64, any::<u64>().prop_map(|nanos| nanos >> 8)].prop_map(Act::Pass),
        1 => prop_oneof![0..1_000_000_u64, any::<u64>()].prop_map(Act::Pause),
    ]
}

fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    fields.iter().map(pair).collect()
}

fn holds_together(mirror: &OnManual, in_flight: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!(mirror.in_flight(), in_flight);
    let cost = Cost::requests(1).with(Dimension::Tokens, 1);
    match mirror.wait_for(&cost) {
        Ok(Duration::ZERO) => mirror.try_send(&cost).unwrap().not_sent(),
        Ok(_) => prop_assert_eq!(mirror.headroom(&cost), 0),
        Err(refused) => prop_assert_eq!(refused.wait(), None),
    }
    for dimension in [Dimension::Requests, Dimension::Tokens] {
        let left = mirror.level(dimension).unwrap();
        prop_assert!(left.available() <= left.limit(), "{:?}", left);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        acts in prop::collection::vec(act(), 1..60),
        quota in select(vec![quota!("60/min"), quota!("7/s burst 1000"), quota!("600/min burst 3")]),
        large in select(vec![1_u64 << 60, 1000]),
        is_shared in any::<bool>(),
        within in prop::option::of(0..60_000_000_000_u64),
    ) {
        let (clock, builder) = on_manual();
        let tokens = Quota::new(large, Duration::from_secs(1_000_000_000)).unwrap();
        let builder = builder
            .limit(Dimension::Requests, quota)
            .window(Dimension::Requests, 1_000, Duration::from_secs(86_400))
            .limit(Dimension::Tokens, tokens)
            .window(Dimension::Unified5h, 1_000, Duration::from_secs(18_000))
            .keep(Dimension::Requests, 2);
        let builder = if is_shared { builder.shared() } else { builder };
        let builder = match within {
            Some(nanos) => builder.counted_within(Duration::from_nanos(nanos)),
            None => builder,
        };
        let mirror = builder.build().unwrap();
        let mut sent = Vec::new();
        for act in acts {
            match act {
                Act::Send(requests, tokens) => {
                    sent.extend(mirror.try_send(&Cost::requests(requests).with(Dimension::Tokens, tokens)));
                }
                Act::Answer { which, status, fields, used } if !sent.is_empty() => {
                    let headers = headers(&fields);
                    let status = StatusCode::from_u16(status).unwrap();
                    let reading = Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH);
                    let call = sent.swap_remove(which % sent.len());
                    match used {
                        Some(used) => call.answered_with(&reading, &Cost::requests(1).with(Dimension::Tokens, used)),
                        None => call.answered(&reading),
                    };
                }
                Act::Head { which, fields } if !sent.is_empty() => {
                    let headers = headers(&fields);
                    let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
                    sent[which % sent.len()].head(&reading);
                }
                Act::Observe(fields) => {
                    let headers = headers(&fields);
                    mirror.observe(&Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH));
                }
                Act::NotSent(which) if !sent.is_empty() => sent.swap_remove(which % sent.len()).not_sent(),
                Act::Drop(which) if !sent.is_empty() => drop(sent.swap_remove(which % sent.len())),
                Act::Pass(nanos) => clock.advance(Duration::from_nanos(nanos)),
                Act::Pause(nanos) => mirror.pause_until(Nanos::new(nanos)),
                _ => {}
            }
            holds_together(&mirror, sent.len())?;
        }
    }
}
