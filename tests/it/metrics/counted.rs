//! Admissions and refusals, counted.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tollgate::metrics::Reason;
use tollgate::{Bucket, Denied, Limiter, Manual, quota};

use super::support::{Recorded, refused};

#[test]
fn calls_and_costs_are_counted_and_nothing_is_changed() {
    let recorded = Recorded::new();
    let clock = Arc::new(Manual::new());
    let (alone, inner) = (
        Bucket::with_clock(quota!("1/s burst 10"), Arc::clone(&clock)),
        Bucket::with_clock(quota!("1/s burst 10"), Arc::clone(&clock)),
    );
    let limit = recorded.take(|meters| meters.measured("api", inner));
    for cost in [4, 1, 7, 0, 11, 5, 1, 1] {
        let (expected, answer) = match cost {
            1 => (alone.try_acquire(), limit.try_acquire()),
            _ => (alone.try_acquire_n(cost), limit.try_acquire_n(cost)),
        };
        assert_eq!(answer, expected, "{cost}");
    }
    assert_eq!(limit.limiter().peek(), alone.peek());
    let seen = recorded.values("api", ["admitted_total", "admitted_tokens_total", "refused_tokens_total"]);
    assert_eq!(seen, [3.0, 10.0, 7.0 + 11.0 + 2.0]);
    let by_reason = Reason::ALL.map(|reason| recorded.value(&refused("api", reason.label())));
    assert_eq!(by_reason, [3.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn shadow_mode_refuses_nothing_and_counts_what_the_limit_would_have() {
    let recorded = Recorded::new();
    let clock = Arc::new(Manual::new());
    let alone = Bucket::with_clock(quota!("2/s burst 3"), Arc::clone(&clock));
    let inner = Bucket::with_clock(quota!("2/s burst 3"), Arc::clone(&clock));
    let limit = recorded.take(|meters| meters.shadow("trial", inner));
    let (mut calls, mut cost, mut would) = (0, 0, [0; Reason::ALL.len()]);
    let mut would_cost = 0;
    for turn in 0..200_u64 {
        let asked = turn % 5;
        let answer = if asked == 1 { limit.try_acquire() } else { limit.try_acquire_n(asked) };
        assert_eq!(answer, Ok(()));
        calls += 1;
        cost += asked;
        if let Err(denied) = alone.try_acquire_n(asked) {
            let reason = match denied {
                Denied::NotYet(_) => Reason::NotYet,
                Denied::OverCapacity { .. } => Reason::Never,
                _ => Reason::Invalid,
            };
            would[reason as usize] += 1;
            would_cost += asked;
        }
        clock.advance(Duration::from_millis(turn * 7 % 900));
    }
    assert!(would[0] > 20 && would[4] == 40 && would[5] == 40, "{would:?}");
    let seen =
        recorded.values("trial", ["admitted_total", "admitted_tokens_total", "would_refuse_tokens_total"]);
    assert_eq!(seen, [calls, cost, would_cost].map(|count| count as f64));
    for reason in Reason::ALL {
        let series = format!("tollgate_would_refuse_total{{limit=\"trial\",reason=\"{}\"}}", reason.label());
        assert_eq!(recorded.value(&series), f64::from(would[reason as usize]), "{reason:?}");
    }
    assert!(!recorded.text().contains("tollgate_refused_total{"), "nothing was refused");
}

/// Many who count, and many who publish at once: each call is told once.
#[test]
fn nothing_is_told_twice_and_nothing_is_lost() {
    const EACH: u64 = 10_000;
    let recorded = Recorded::new();
    let limit = recorded.take(|meters| meters.measured("api", Bucket::new(quota!("1/h burst 40000"))));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..EACH).for_each(|_| limit.try_acquire_n(2).unwrap_or(())));
            scope.spawn(|| (0..200).for_each(|_| recorded.meters.publish()));
        }
    });
    assert_eq!(recorded.values("api", ["admitted_total", "admitted_tokens_total"]), [20_000.0, 40_000.0]);
    assert_eq!(recorded.value(&refused("api", "not_yet")), 10_000.0);
    assert_eq!(recorded.values("api", ["admitted_total"]), [20_000.0], "told again it is the same");
}

#[test]
fn counts_of_one_name_add_up_and_those_of_two_do_not() {
    let recorded = Recorded::new();
    let bucket = || Bucket::new(quota!("100/h"));
    let [first, second, other] =
        ["api", "api", "batch"].map(|name| recorded.take(|meters| meters.measured(name, bucket())));
    for (limit, calls) in [(&first, 3), (&second, 4), (&other, 5)] {
        (0..calls).for_each(|_| limit.try_acquire().unwrap());
    }
    assert_eq!(recorded.values("api", ["admitted_total"]), [7.0]);
    assert_eq!(recorded.values("batch", ["admitted_total"]), [5.0]);
    drop((first, second));
    other.try_acquire().unwrap();
    assert_eq!(recorded.values("api", ["admitted_total"]), [7.0], "a limit that is gone has been counted");
}

#[test]
fn a_meter_counts_answers_of_any_kind() {
    let recorded = Recorded::new();
    let (meter, shadow) = recorded.take(|meters| (meters.meter("own"), meters.shadow_meter("trial")));
    assert_eq!(meter.count(3, Ok::<_, Reason>("yes")), Ok("yes"));
    for reason in Reason::ALL {
        assert_eq!(meter.count(2, Err::<(), _>(reason)), Err(reason));
        shadow.count(2, Err::<(), _>(reason));
    }
    assert_eq!(recorded.values("own", ["admitted_total", "admitted_tokens_total"]), [1.0, 3.0]);
    assert_eq!(recorded.values("own", ["refused_tokens_total"]), [14.0]);
    assert!(Reason::ALL.iter().all(|reason| recorded.value(&refused("own", reason.label())) == 1.0));
    assert_eq!(recorded.values("trial", ["admitted_total", "would_refuse_tokens_total"]), [7.0, 14.0]);
}

/// The reasons of every refusal that the crate has.
#[test]
fn every_refusal_has_its_reason() {
    use tollgate::metrics::HasReason;

    let bucket = Bucket::with_clock(quota!("1/h"), Manual::new());
    bucket.try_acquire().unwrap();
    let of = |cost| bucket.try_acquire_n(cost).unwrap_err().reason();
    assert_eq!([of(1), of(2), of(0)], [Reason::NotYet, Reason::Never, Reason::Invalid]);
    let Denied::NotYet(not_yet) = bucket.try_acquire().unwrap_err() else { panic!("not yet") };
    assert_eq!(Denied::NoRoom(not_yet).reason(), Reason::NoRoom);
    #[cfg(feature = "inflight")]
    {
        use tollgate::inflight::NoPermit;
        let (weight, in_use, limit) = (1, 1, 1);
        let reasons = [
            NoPermit::InUse { weight, in_use, limit },
            NoPermit::OthersFirst { weight, in_use, limit },
            NoPermit::LineFull { depth: 1 },
            NoPermit::TimedOut,
            NoPermit::OverLimit { weight, limit },
            NoPermit::ZeroWeight,
        ]
        .map(|no| no.reason().label());
        assert_eq!(reasons, ["in_use", "in_use", "no_room", "too_late", "never", "invalid"]);

        use tollgate::inflight::Unjoined;
        let joined = [Unjoined::Rate(Denied::ZeroCost), Unjoined::InFlight(NoPermit::TimedOut)];
        assert_eq!(joined.map(|no| no.reason().label()), ["invalid", "too_late"]);
    }
    #[cfg(feature = "wait")]
    {
        use tollgate::wait::Refused;
        let never = Refused::Never(Denied::ZeroCost);
        let reasons = [Refused::Full(not_yet), Refused::Hopeless(not_yet), Refused::Closed, never]
            .map(|refused| refused.reason().label());
        assert_eq!(reasons, ["no_room", "too_late", "closed", "invalid"]);
    }
}

/// The same of several limits at once, and of a run that is over or has all its calls open.
#[cfg(feature = "budget")]
#[test]
fn every_refusal_of_several_limits_has_its_reason() {
    use tollgate::budget::{self, Ceilings, Demand, NoCall, Planned, Run, acquire_all};
    use tollgate::metrics::HasReason;

    let run = Run::new(&Ceilings::new().calls(1));
    let call = run.call(Planned::new("search")).unwrap();
    let Err(NoCall::Reserved(reserved)) = run.call(Planned::new("search")) else { panic!("it is open") };
    call.settle(0, 0);
    let Err(NoCall::Ended(ended)) = run.call(Planned::new("search")) else { panic!("it was the last") };
    let reasons = [
        budget::Reason::Denied(Denied::ZeroCost),
        #[cfg(feature = "inflight")]
        budget::Reason::NoPermit(tollgate::inflight::NoPermit::TimedOut),
        budget::Reason::Ended(ended),
        budget::Reason::Reserved(reserved),
    ];
    let expected = [
        Reason::Invalid,
        #[cfg(feature = "inflight")]
        Reason::TooLate,
        Reason::Closed,
        Reason::InUse,
    ];
    assert_eq!(reasons.map(|refused| HasReason::reason(&refused)), expected);

    let bucket = Bucket::with_clock(quota!("1/h"), Manual::new());
    let refused = acquire_all(&[Demand { name: "api", limit: &bucket, cost: 2 }]).map(drop).unwrap_err();
    assert_eq!(HasReason::reason(&refused), Reason::Never);
}

/// So many as `docs/metrics.md` says, before anything is asked.
#[test]
fn all_series_are_there_from_the_start() {
    use tollgate::metrics::{Flights, Lease, Meters, Places};

    type Make<'m> = &'m dyn Fn(&Meters);

    let bucket = Arc::new(Bucket::new(quota!("1/h")));
    let kinds: [(usize, Make<'_>); 8] = [
        (10, &|meters| drop(meters.meter("one"))),
        (10, &|meters| drop(meters.shadow_meter("one"))),
        (3, &|meters| {
            let bucket = Arc::clone(&bucket);
            meters.level("one", move || bucket.peek());
        }),
        (3, &|meters| meters.in_flight("one", Flights::default)),
        (3, &|meters| meters.queue("one", Places::default)),
        (2, &|meters| meters.lease("one", Lease::default)),
        (1, &|meters| drop(meters.calls("one"))),
        (1, &|meters| drop(meters.waits("one"))),
    ];
    for (expected, make) in kinds {
        let recorded = Recorded::new();
        recorded.take(make);
        let series = recorded.series();
        let histograms = series.iter().filter(|series| series.contains("_count{")).count();
        let plain = series.iter().filter(|series| !series.contains("_seconds_")).count();
        assert_eq!(plain, expected, "{series:#?}");
        assert!(matches!((histograms, expected), (3 | 5, 1) | (0, 2..)), "{series:#?}");
    }
}
