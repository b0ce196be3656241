//! C37, C43, C46, C64, C81 and C101: estimates, late refunds, reservations at once, streams without a usage figure, which limit a
//! refusal speaks of.

use tollgate::budget::{AllOf, Budget, Estimate, Unsettled};
use tollgate::{Bucket, Denied, Manual};

use crate::support::{MINUTE, MS, S, at, quota, wait_of};

fn budget(tokens: u64, period: u64, burst: u64) -> Budget<Manual> {
    Budget::with_clock(quota(tokens, period, burst), Manual::new())
}

#[test]
fn c37_a_default_estimate_is_cut_down_to_the_capacity() {
    let limit = budget(100, MINUTE, 100);
    assert_eq!(limit.reserve(1024).err(), Some(Denied::OverCapacity { cost: 1024, capacity: 100 }));
    let call = limit.reserve(Estimate::Defaulted(1024)).unwrap();
    assert_eq!(call.settle(30).unwrap().given_back, 70);
    assert_eq!(limit.peek().available(), 70);
}

#[test]
fn c43_what_is_cancelled_a_moment_later_comes_back() {
    for moment in [1, MS, S - 1, S] {
        let limit = budget(1, S, 5);
        let call = limit.reserve(1).unwrap();
        limit.clock().set(at(moment));
        let _released = call.release().unwrap();
        assert_eq!((limit.peek().available(), limit.peek().time_to_full().as_nanos()), (5, 0));
    }
}

/// Idle, nothing is due back; busy, all of it is. The plain clamp would give 60 000 in both.
#[test]
fn c46_a_late_cancel_gives_back_what_refill_has_not() {
    let idle = budget(60_000, MINUTE, 60_000);
    let first = idle.reserve(50_000).unwrap();
    idle.clock().set(at(65 * S));
    let second = idle.reserve(40_000).unwrap();
    idle.clock().set(at(70 * S));
    let released = first.release().unwrap();
    assert_eq!((released.given_back, released.withheld, idle.peek().available()), (0, 50_000, 25_000));
    second.keep();

    let busy = budget(60_000, MINUTE, 60_000);
    let first = busy.reserve(50_000).unwrap();
    busy.reserve(10_000).unwrap().keep();
    for second in 1..=70 {
        busy.clock().set(at(second * S));
        busy.reserve(1_000).unwrap().keep();
    }
    assert_eq!(busy.peek().available(), 0);
    let released = first.release().unwrap();
    assert_eq!((released.given_back, released.withheld, busy.peek().available()), (50_000, 0, 50_000));
}

#[test]
fn c64_five_reservations_do_not_share_a_budget_that_holds_one() {
    let limit = budget(100, MINUTE, 100);
    limit.reserve(58).unwrap().keep();
    assert_eq!(wait_of(limit.reserve(80).unwrap_err()), 22_800 * MS);
    for _ in 0..3 {
        assert_eq!(limit.reserve(175).err(), Some(Denied::OverCapacity { cost: 175, capacity: 100 }));
    }
    assert_eq!(limit.peek().available(), 42);
}

/// 2000 bytes were streamed, a quarter of a token each, when the client went away before the usage figure.
#[test]
fn c81_a_stream_without_a_usage_figure_is_charged_for_what_was_seen() {
    let builder = Budget::builder(quota(10_000, MINUTE, 10_000)).dropped(Unsettled::Observed);
    let limit = builder.build_with_clock(Manual::new()).unwrap();
    let mut stream = limit.reserve(1_000).unwrap();
    stream.observe(2_000 / 4);
    drop(stream);
    assert_eq!(limit.peek().available(), 9_500);
    for policy in [Unsettled::Keep, Unsettled::Observed, Unsettled::Refund] {
        let limit = Budget::builder(quota(10_000, MINUTE, 10_000)).dropped(policy);
        let limit = limit.build_with_clock(Manual::new()).unwrap();
        let mut stream = limit.reserve(1_000).unwrap();
        stream.observe(1);
        drop(stream);
        assert!(limit.peek().available() < 10_000, "output has begun: {policy:?}");
    }
}

/// The limit that denies is named, not one that has passed; of two that deny the one with the longer wait.
#[test]
fn c101_a_refusal_is_that_of_the_limit_that_denied() {
    let limit = |tokens, period, burst| Bucket::with_clock(quota(tokens, period, burst), Manual::new());
    let (minute, hour) = (limit(100, MINUTE, 100), limit(1, 3_000 * S, 1));
    for names in [["minute", "hour"], ["hour", "minute"]] {
        hour.reset();
        let ask = || {
            let refusal = match names {
                ["minute", _] => AllOf::new(names, (&minute, &hour)).try_acquire([1, 1]).err(),
                _ => AllOf::new(names, (&hour, &minute)).try_acquire([1, 1]).err(),
            };
            refusal.map(|refused| (refused.name(), refused.retry_after().map(|wait| wait.as_secs())))
        };
        assert_eq!(ask(), None);
        assert_eq!(ask(), Some(("hour", Some(3_000))));
        minute.drain();
        assert_eq!(ask(), Some(("hour", Some(3_000))), "the longer wait");
        minute.reset();
    }
}
