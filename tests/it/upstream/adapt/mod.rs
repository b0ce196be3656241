//! `AdaptiveRate`: what moves the rate, and what does not.

mod answers;
mod gate;
mod picture;
mod properties;
mod silent;
mod steps;
mod stream;
mod stress;

use std::sync::Arc;
use std::time::Duration;

use tollgate::upstream::{AdaptiveRate, AdaptiveRateBuilder, AdaptiveRateError, HeldBack, Trial};
use tollgate::{Denied, Manual, Nanos, Quota, quota};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

type Rate = AdaptiveRate<Arc<Manual>>;
type Sent = Trial<Arc<Manual>>;

/// So wide that no call waits for a token.
const BASE: Quota = quota!("1000/s burst 1M");

fn built(builder: AdaptiveRateBuilder) -> Rate {
    builder.build_with_clock(Arc::new(Manual::new())).unwrap()
}

fn rate() -> Rate {
    built(AdaptiveRate::builder(BASE))
}

fn send(rate: &Rate) -> Sent {
    rate.try_send().unwrap()
}

fn succeed(rate: &Rate, times: u32) {
    for _ in 0..times {
        send(rate).succeeded();
    }
}

/// With an answer that takes so long.
fn succeed_in(rate: &Rate, latency: Duration) {
    let call = send(rate);
    rate.clock().advance(latency);
    call.succeeded();
}

fn tokens_a_second(rate: &Rate) -> u64 {
    let quota = rate.quota();
    assert_eq!(quota.period(), S);
    quota.tokens()
}

#[test]
fn four_events_and_eleven_successes() {
    let rate = rate();
    let mut seen = Vec::new();
    for _ in 0..4 {
        send(&rate).refused(None);
        seen.push(tokens_a_second(&rate));
    }
    assert_eq!(seen, [500, 250, 125, 100]);
    succeed(&rate, 10);
    assert_eq!(tokens_a_second(&rate), 100, "ten in a row are what must come first");
    succeed(&rate, 1);
    assert_eq!(tokens_a_second(&rate), 200);
}

/// The same after the base was accepted for long, and with many refusals an event.
#[test]
fn four_events_of_many_refusals() {
    let rate = rate();
    succeed(&rate, 1_000);
    for expected in [500, 250, 125, 100] {
        let calls: Vec<_> = (0..50).map(|_| send(&rate)).collect();
        calls.into_iter().for_each(|call| call.refused(None));
        assert_eq!(tokens_a_second(&rate), expected);
    }
    succeed(&rate, 11);
    assert_eq!(tokens_a_second(&rate), 200);
}

#[test]
fn a_failure_ends_the_run() {
    let rate = rate();
    send(&rate).refused(None);
    succeed(&rate, 10);
    send(&rate).refused(None);
    assert_eq!(rate.permille(), 250);
    succeed(&rate, 10);
    assert_eq!(rate.permille(), 250);
    drop(send(&rate));
    succeed(&rate, 1);
    assert!(rate.permille() > 250, "what nobody tells of neither counts nor ends it");
}

/// Ten successes of calls that were sent at the higher rate, and one call at the lower.
#[test]
fn successes_from_before_a_decrease_do_not_count() {
    let rate = rate();
    let before: Vec<_> = (0..20).map(|_| send(&rate)).collect();
    send(&rate).refused(None);
    before.into_iter().for_each(Trial::succeeded);
    succeed(&rate, 10);
    assert_eq!(rate.permille(), 500);
    succeed(&rate, 1);
    assert_eq!(rate.permille(), 600);
}

/// Those of an increase tell nothing of the higher rate either, but a refusal of them is an event.
#[test]
fn calls_from_before_an_increase() {
    let rate = rate();
    send(&rate).refused(None);
    let before: Vec<_> = (0..20).map(|_| send(&rate)).collect();
    let late = send(&rate);
    succeed(&rate, 11);
    assert_eq!(rate.permille(), 600);
    before.into_iter().for_each(Trial::succeeded);
    assert_eq!(rate.permille(), 600);
    late.refused(None);
    assert_eq!(rate.permille(), 300);
}

#[test]
fn mild_signs_take_a_fifth() {
    let slow = rate();
    succeed_in(&slow, 30 * S);
    assert_eq!(slow.permille(), 1_000, "thirty seconds are not above thirty seconds");
    succeed_in(&slow, 30 * S + Duration::from_nanos(1));
    assert_eq!(slow.permille(), 800);
    let silent = rate();
    send(&silent).timed_out();
    send(&silent).timed_out();
    assert_eq!(silent.permille(), 640);
    let gone = rate();
    send(&gone).stalled();
    assert_eq!(gone.permille(), 800);
}

#[test]
fn a_doubled_percentile_takes_a_fifth() {
    let rate = rate();
    (0..100).for_each(|index| succeed_in(&rate, MS * (10 + index % 2)));
    succeed_in(&rate, 22 * MS);
    succeed_in(&rate, 21 * MS);
    assert_eq!(rate.permille(), 1_000, "one of a hundred may take as long as it likes");
    succeed_in(&rate, 22 * MS);
    assert_eq!(rate.permille(), 800);
}

/// A time-out first, and refusals of the same event afterwards: as if the refusals had come first.
#[test]
fn the_worst_sign_of_an_event_decides() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let rate = rate();
        let mut calls: Vec<_> = (0..3).map(|_| Some(send(&rate))).collect();
        for index in order {
            let call = calls[index].take().unwrap();
            if index == 1 { call.refused(None) } else { call.timed_out() }
        }
        assert_eq!(rate.permille(), 500, "{order:?}");
    }
}

/// A very late refusal of a call that was sent before the event before the last: it is of neither.
#[test]
fn an_event_that_is_over_is_not_made_worse() {
    let rate = rate();
    let late = send(&rate);
    send(&rate).timed_out();
    send(&rate).timed_out();
    assert_eq!(rate.permille(), 640);
    late.refused(None);
    assert_eq!(rate.permille(), 640);
    let last = send(&rate);
    send(&rate).timed_out();
    succeed(&rate, 10);
    last.refused(None);
    assert_eq!(rate.permille(), 512, "what has been borne out since is not cut");
}

/// The rates on the way to a ceiling of 500 that was found by a run at 500: half of the way, never less than ten.
#[test]
fn steps_shrink_towards_the_ceiling_and_grow_from_there() {
    let rate = built(AdaptiveRate::builder(BASE).bounds_permille(100, 1_000));
    send(&rate).refused(None);
    succeed(&rate, 10);
    send(&rate).refused(None);
    assert_eq!((rate.permille(), rate.ceiling_permille()), (250, Some(500)));
    let mut seen = Vec::new();
    for _ in 0..20 {
        let before = rate.permille();
        let mut needed = 0;
        while rate.permille() == before && needed < 100 {
            succeed(&rate, 1);
            needed += 1;
        }
        seen.push((rate.permille(), needed));
    }
    let expected = [
        (350, 11),
        (425, 11),
        (462, 11),
        (481, 11),
        (491, 31),
        (501, 31),
        (511, 31),
        (521, 31),
        (531, 11),
        (546, 11),
        (569, 11),
        (603, 11),
        (654, 11),
        (731, 11),
        (831, 11),
        (931, 11),
        (1_000, 11),
    ];
    assert_eq!(seen[..expected.len()], expected);
}

/// The upstream accepts ten in a second, and bursts: what it accepted from event to event is half of the estimate.
#[test]
fn the_ceiling_is_between_the_rate_and_what_was_accepted() {
    let rate = rate();
    succeed(&rate, 10);
    send(&rate).refused(None);
    assert_eq!(rate.ceiling_permille(), Some(1_000), "nothing to measure from");
    succeed(&rate, 10);
    rate.clock().advance(S / 20);
    send(&rate).refused(None);
    assert_eq!(rate.ceiling_permille(), Some((500 + 200) / 2), "10 in a twentieth of a second");
}

#[test]
fn costs_are_tokens_and_stay_charged() {
    let rate = built(AdaptiveRate::builder(quota!("100/s burst 100")));
    rate.try_send_n(60).unwrap().timed_out();
    assert_eq!(rate.peek().available(), 40);
    let refusal = rate.try_send_n(60).unwrap_err();
    assert_eq!(refusal.wait(), Some(S / 4), "20 of 80 a second");
    assert!(matches!(rate.try_send_n(101), Err(HeldBack::Denied(Denied::OverCapacity { .. }))));
    assert_eq!(rate.try_send_n(0).unwrap_err().wait(), None);
    let call = rate.try_send_n(40).unwrap();
    assert_eq!((call.cost(), call.sent_at()), (40, Nanos::ZERO));
    drop(call);
    assert_eq!(rate.peek().available(), 0);
}

/// A change gives no tokens, and time counts at the rate of its own time.
#[test]
fn a_change_keeps_what_is_held() {
    let rate = built(AdaptiveRate::builder(quota!("100/s burst 100")));
    let call = rate.try_send_n(100).unwrap();
    rate.clock().advance(S / 10);
    call.refused(None);
    assert_eq!(rate.peek().available(), 10);
    rate.clock().advance(S / 10);
    assert_eq!(rate.peek().available(), 15);
    let before = Nanos::from(S / 20);
    assert_eq!(rate.try_send_at(before).unwrap_err().wait(), Some(S / 20), "not from before the change");
}

/// An answer whose reading is older than that of an admission: the time between them has been counted at the old rate.
#[test]
fn an_old_answer_counts_no_time_twice() {
    let rate = built(AdaptiveRate::builder(quota!("100/s burst 20")));
    (0..4).for_each(|_| send(&rate).refused(None));
    succeed(&rate, 10);
    let last = send(&rate);
    rate.clock().advance(S);
    let all = rate.try_send_n(rate.peek().available()).unwrap();
    assert_eq!((all.cost(), rate.peek().available()), (15, 0));
    last.succeeded_at(Nanos::ZERO);
    assert_eq!((rate.permille(), rate.peek().available()), (200, 0));
    rate.clock().advance(S / 2);
    assert_eq!(rate.peek().available(), 10);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let with = |set: fn(AdaptiveRateBuilder) -> AdaptiveRateBuilder| {
        set(AdaptiveRate::builder(BASE))
            .build_with_clock(Manual::new())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!(with(|set| set), Ok(()));
    let texts = [
        with(|set| set.bounds_permille(0, 1_000)),
        with(|set| set.bounds_permille(600, 500)),
        with(|set| set.bounds_permille(1, 10_001)),
        with(|set| set.refusal_permille(1_000)),
        with(|set| set.congestion_permille(0)),
        with(|set| set.step_permille(0)),
        with(|set| set.smallest_step_permille(101)),
        with(|set| set.run(0)),
        with(|set| set.growth_permille(1_000)),
        with(|set| set.latency(Duration::ZERO)),
        with(|set| set.silence(Duration::ZERO)),
        with(|set| set.probe_deadline(Duration::ZERO)),
    ];
    let expected = [
        "`bounds_permille` of 0: must be from 1 to 1000",
        "`bounds_permille` of 600: must be from 1 to 500",
        "`bounds_permille` of 10001: must be from 1 to 10000",
        "`refusal_permille` of 1000: must be from 1 to 999",
        "`congestion_permille` of 0: must be from 1 to 999",
        "`step_permille` of 0: must be from 1 to 10000",
        "`smallest_step_permille` of 101: must be from 1 to 100",
        "`run` of 0: must be from 1 to 1000000",
        "`growth_permille` of 1000: must be from 1001 to 1000000",
        "`latency` of 0 ns: must be at least 1 ns",
        "`silence` of 0 ns: must be at least 1 ns",
        "`probe_deadline` of 0 ns: must be at least 1 ns",
    ];
    assert_eq!(texts, expected.map(|text| Err(text.to_string())));
}

#[test]
fn a_base_without_room_for_its_parts() {
    let fast =
        AdaptiveRate::builder(quota!("6G/s")).bounds_permille(100, 2_000).build_with_clock(Manual::new());
    assert_eq!(fast.map(drop), Err(AdaptiveRateError::Base { base: quota!("6G/s"), permille: 2_000 }));
    let long = Quota::new(1, Duration::MAX).unwrap();
    let long = AdaptiveRate::builder(long).build_with_clock(Manual::new());
    assert!(matches!(long.map(drop), Err(AdaptiveRateError::Base { permille: 100, .. })));
    let text = AdaptiveRateError::Base { base: quota!("6G/s"), permille: 2_000 }.to_string();
    assert!(text.contains("2000 thousandths") && text.contains("10^10"), "{text}");
}

#[test]
fn the_defaults_are_settings() {
    let set = AdaptiveRate::builder(BASE)
        .bounds_permille(300, 2_000)
        .refusal_permille(700)
        .congestion_permille(900)
        .step_permille(50)
        .smallest_step_permille(50)
        .run(2)
        .latency(S)
        .growth_permille(3_000);
    let rate = built(set);
    send(&rate).refused(None);
    assert_eq!(rate.permille(), 700);
    succeed_in(&rate, S + MS);
    assert_eq!(rate.permille(), 630);
    succeed(&rate, 3);
    assert_eq!(rate.permille(), 680);
    succeed(&rate, 3 * 30);
    assert_eq!(rate.permille(), 2_000);
    (0..10).for_each(|_| send(&rate).refused(None));
    assert_eq!(rate.permille(), 300);
}

#[test]
fn clones_share_it() {
    let rate = rate();
    let other = rate.clone();
    send(&other).refused(None);
    assert_eq!((rate.permille(), rate.base()), (500, BASE));
    let text = format!("{rate:?}");
    assert!(text.contains("permille: 500") && text.contains("1k/s"), "{text}");
}
