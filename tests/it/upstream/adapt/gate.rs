//! Pauses: one probe at their end, and a rate that comes back gradually.

use std::time::Duration;

use super::{MS, Rate, S, Sent, built, rate, send, succeed};
use tollgate::upstream::{AdaptiveRate, HeldBack};
use tollgate::{Nanos, quota};

/// Refused with a wait of a minute, which is over.
fn after_a_pause() -> Rate {
    let rate = rate();
    send(&rate).refused(Some(60 * S));
    rate.clock().advance(60 * S);
    rate
}

fn probing(rate: &Rate) -> Option<Duration> {
    match rate.try_send() {
        Err(HeldBack::Probing { wait }) => Some(wait),
        _ => None,
    }
}

#[test]
fn a_pause_holds_everyone_to_its_end() {
    let rate = rate();
    let late = send(&rate);
    send(&rate).refused(Some(60 * S));
    rate.clock().advance(59 * S);
    assert_eq!(rate.try_send().err(), Some(HeldBack::Paused { wait: S }));
    assert_eq!(rate.peek().paused_for(), S);
    late.refused(Some(10 * S));
    assert_eq!(rate.try_send().unwrap_err().wait(), Some(10 * S), "the same event, and a longer wait");
    rate.clock().advance(10 * S);
    assert!(rate.try_send().is_ok());
}

/// No wait, and a shorter one, change nothing; one that has passed pauses nobody.
#[test]
fn waits_that_are_none() {
    let rate = rate();
    let late = send(&rate);
    send(&rate).refused(Some(Duration::ZERO));
    assert!(rate.try_send().is_ok());
    rate.clock().advance(S);
    rate.pause_until(Nanos::from(S));
    assert!(rate.try_send().is_ok());
    rate.pause_for(10 * S);
    late.refused(Some(S));
    assert_eq!(rate.try_send().unwrap_err().wait(), Some(10 * S));
}

#[test]
fn one_probe_and_no_herd() {
    let rate = after_a_pause();
    let probe = send(&rate);
    // Come back in as long as it has been out.
    for (after, wait) in [(0, 300), (200, 300), (300, 500), (500, 1_000), (19_000, 10_000)] {
        rate.clock().advance(MS * after);
        assert_eq!(probing(&rate), Some(MS * wait));
    }
    probe.succeeded();
    assert!(rate.try_send().is_ok());
}

/// After the probe the tokens of the pause are gone: those who waited come at the lowest rate, and then at ever higher ones.
#[test]
fn the_rate_comes_back_with_ten_successes() {
    let rate = after_a_pause();
    assert_eq!(rate.permille(), 100);
    send(&rate).succeeded();
    assert_eq!(rate.peek().available(), 0);
    assert_eq!(
        rate.try_send().unwrap_err().wait(),
        Some(Duration::from_nanos(7_142_858)),
        "one of 140 a second"
    );
    let mut seen = vec![rate.permille()];
    for _ in 0..9 {
        rate.clock().advance(10 * MS);
        succeed(&rate, 1);
        seen.push(rate.permille());
    }
    assert_eq!(seen, [140, 180, 220, 260, 300, 340, 380, 420, 460, 500]);
    rate.clock().advance(S);
    succeed(&rate, 10);
    assert_eq!(rate.permille(), 500, "a run at the rate that it came back to");
    succeed(&rate, 1);
    assert_eq!(rate.permille(), 600);
}

#[test]
fn a_refusal_on_the_way_back_cuts_the_rate_of_then() {
    let rate = after_a_pause();
    send(&rate).succeeded();
    rate.clock().advance(S);
    succeed(&rate, 4);
    assert_eq!(rate.permille(), 300);
    send(&rate).refused(None);
    assert_eq!(rate.permille(), 150);
    succeed(&rate, 11);
    assert_eq!(rate.permille(), 250, "and it rises as from any other");
}

/// Whatever becomes of the probe but success, the next call is the probe; and so it is when nothing becomes of it.
#[test]
fn a_lost_probe_makes_room_for_another() {
    let ends: [fn(Sent); 4] =
        [drop, |probe| probe.timed_out(), |probe| probe.stalled(), |probe| probe.refused(None)];
    for end in ends {
        let rate = after_a_pause();
        end(send(&rate));
        rate.clock().advance(S);
        let next = send(&rate);
        assert!(probing(&rate).is_some());
        next.succeeded();
        rate.clock().advance(S);
        assert!(rate.try_send().is_ok() && rate.try_send().is_ok());
    }
    let rate = after_a_pause();
    let lost = send(&rate);
    rate.clock().advance(30 * S - MS);
    assert_eq!(probing(&rate), Some(MS));
    rate.clock().advance(MS);
    let next = send(&rate);
    assert_eq!(probing(&rate), Some(300 * MS));
    drop(lost);
    assert!(probing(&rate).is_some(), "the lost one is not the probe any more");
    next.succeeded();
    rate.clock().advance(S);
    assert!(rate.try_send().is_ok());
}

/// It was late and not lost: it tells the same.
#[test]
fn a_late_probe_opens() {
    let rate = after_a_pause();
    let late = send(&rate);
    rate.clock().advance(30 * S);
    let _next = send(&rate);
    late.succeeded();
    rate.clock().advance(S);
    assert!(rate.try_send().is_ok());
}

#[test]
fn a_refused_probe_pauses_again() {
    let rate = after_a_pause();
    let probe = send(&rate);
    probe.refused(Some(5 * S));
    assert_eq!(rate.try_send().err(), Some(HeldBack::Paused { wait: 5 * S }));
    rate.clock().advance(5 * S);
    let _probe = send(&rate);
    assert!(probing(&rate).is_some());
}

/// The upstream's bucket has filled up in the pause, so what was accepted since the event before tells nothing of its rate.
#[test]
fn a_pause_does_not_lower_the_ceiling() {
    let rate = after_a_pause();
    send(&rate).succeeded();
    rate.clock().advance(S);
    succeed(&rate, 9);
    assert_eq!(rate.permille(), 500);
    succeed(&rate, 10);
    rate.clock().advance(60 * S);
    send(&rate).refused(None);
    assert_eq!(rate.ceiling_permille(), Some(500));
}

/// Calls from before the pause tell nothing of what comes after it.
#[test]
fn a_success_from_before_the_pause_does_not_open() {
    let rate = rate();
    let before = send(&rate);
    let early = send(&rate);
    send(&rate).refused(Some(60 * S));
    early.succeeded();
    assert!(matches!(rate.try_send(), Err(HeldBack::Paused { .. })));
    rate.clock().advance(60 * S);
    let _probe = send(&rate);
    before.succeeded();
    assert!(probing(&rate).is_some());
}

#[test]
fn a_probe_keeps_to_the_rate_itself() {
    let rate = built(AdaptiveRate::builder(quota!("1/s burst 10")));
    rate.try_send_n(10).unwrap().refused(Some(S));
    rate.clock().advance(S);
    assert!(matches!(rate.try_send(), Err(HeldBack::Denied(_))), "a tenth of a token has come");
    rate.clock().advance(9 * S);
    let _probe = send(&rate);
    assert!(probing(&rate).is_some());
}

#[test]
fn an_operator_ends_it() {
    let rate = rate();
    rate.pause_for(60 * S);
    assert!(rate.try_send().is_err());
    rate.resume();
    assert!(rate.try_send().is_ok() && rate.try_send().is_ok());
    assert_eq!(rate.permille(), 100, "the rate comes back gradually");
}

#[test]
fn a_pause_without_end_stays() {
    let rate = rate();
    send(&rate).refused(Some(Duration::MAX));
    rate.clock().set(Nanos::new(u64::MAX - 1));
    assert_eq!(rate.try_send().err(), Some(HeldBack::Paused { wait: Duration::from_nanos(1) }));
}
