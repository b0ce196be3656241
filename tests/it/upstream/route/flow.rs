//! No stampede: the share of one that is back, and what flows over to the next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::upstream::{Backoff, Cost, NoRoute, RouterBuilder, Standing};
use tollgate::{Clock, Manual, quota};

use super::support::{MS, ONE, OnManual, SECOND, answer, fail, goes_to, routers};

/// The first of two upstreams is back after a second, with a ramp of ten.
fn on_a_ramp() -> (Arc<Manual>, OnManual) {
    let (clock, builder) = routers(&[quota!("10000000/min"); 2]);
    let router = builder.failures(1).slow_start(u32::MAX, SECOND).ramp(10 * SECOND).build().unwrap();
    fail(&router, 0, 1);
    clock.advance(SECOND);
    answer(router.try_send(&ONE).unwrap(), 200, &[]);
    (clock, router)
}

/// A share is counted: of the calls at any moment exactly its part goes there, to the call.
#[test]
fn a_share_is_exact() {
    let (clock, router) = on_a_ramp();
    assert_eq!(router.standing(0), Some(Standing::Ramping(0)));
    assert_eq!((0..100).filter(|_| goes_to(&router, &ONE) == Some(0)).count(), 0);
    for tenth in 1..10 {
        clock.advance(SECOND);
        assert_eq!(router.standing(0), Some(Standing::Ramping(tenth * 100)));
        let went = (0..1_000).filter(|_| goes_to(&router, &ONE) == Some(0)).count();
        assert!((tenth as usize * 100).abs_diff(went) <= 1, "{tenth}: {went}");
    }
    clock.advance(SECOND);
    assert_eq!(router.standing(0), Some(Standing::Open));
    assert_eq!((0..100).filter(|_| goes_to(&router, &ONE) == Some(0)).count(), 100);
}

/// Every nth, and not the first tenth of them.
#[test]
fn a_share_is_spread() {
    let (clock, router) = on_a_ramp();
    clock.advance(2_500 * MS);
    let went: Vec<_> = (1..=40).filter(|_| goes_to(&router, &ONE) == Some(0)).collect();
    assert_eq!(went, [4, 8, 12, 16, 20, 24, 28, 32, 36, 40]);
}

/// The share divides calls between upstreams. Where the other cannot take one, it goes there all the same.
#[test]
fn a_share_refuses_nothing() {
    let (clock, builder) = routers(&[quota!("100000/min"), quota!("1/hour")]);
    let router = builder.failures(1).build().unwrap();
    fail(&router, 0, 1);
    clock.advance(SECOND);
    answer(router.try_send(&ONE).unwrap(), 200, &[]);
    assert_eq!(goes_to(&router, &ONE), Some(1));
    // But it is not flooded either: nine more in this step, for the probe was one.
    assert_eq!((0..100).filter(|_| goes_to(&router, &ONE) == Some(0)).count(), 9);
    let refused = router.try_send(&ONE).unwrap_err();
    assert_eq!(refused, NoRoute::NotYet { upstream: 0, wait: 100 * MS });
}

/// The first is down. What flows over doubles from step to step until all does.
#[test]
fn what_flows_over_at_most_doubles() {
    let (clock, builder) = routers(&[quota!("1000000/min"); 2]);
    let router = builder.failures(1).cooling_for(3_600).slow_start(10, 100 * MS).build().unwrap();
    fail(&router, 0, 1);
    let mut steps = Vec::new();
    for _ in 0..8 {
        // 400 in each step, one after the other.
        steps.push((0..400).filter(|_| goes_to(&router, &ONE) == Some(1)).count());
        clock.advance(100 * MS);
    }
    assert_eq!(steps, [10, 20, 40, 80, 160, 320, 400, 400]);
    // A step without any: from the beginning.
    clock.advance(100 * MS);
    assert_eq!((0..400).filter(|_| goes_to(&router, &ONE) == Some(1)).count(), 10);
}

/// The second is closed for a second, and more than it takes in this step had flowed over: the later counts.
#[test]
fn a_closed_upstream_is_told_though_its_flow_is_full() {
    let (_clock, builder) = routers(&[quota!("1000000/min"); 2]);
    let router = builder.failures(1).cooling_for(20).slow_start(3, 100 * MS).build().unwrap();
    fail(&router, 0, 1);
    assert_eq!([(); 2].map(|()| goes_to(&router, &ONE)), [Some(1); 2]);
    fail(&router, 1, 1);
    assert_eq!(router.try_send(&ONE).unwrap_err(), NoRoute::NotYet { upstream: 0, wait: 20 * SECOND });
}

/// One now and then is none of that.
#[test]
fn a_call_now_and_then_flows_over_at_once() {
    let (clock, builder) = routers(&[quota!("1000000/min"); 2]);
    let router = builder.failures(1).cooling_for(36_000).slow_start(1, 100 * MS).build().unwrap();
    fail(&router, 0, 1);
    for _ in 0..100 {
        assert_eq!(goes_to(&router, &ONE), Some(1));
        clock.advance(100 * MS);
    }
}

/// The upstream's own calls are not slowed down, and they count for what may flow over.
#[test]
fn calls_of_the_first_choice_are_free() {
    let (clock, builder) = routers(&[quota!("1000000/min"); 2]);
    let router = builder.failures(1).slow_start(1, 100 * MS).build().unwrap();
    assert_eq!((0..500).filter(|_| goes_to(&router, &ONE) == Some(0)).count(), 500);
    clock.advance(100 * MS);
    assert_eq!((0..500).filter(|_| goes_to(&router, &ONE) == Some(0)).count(), 500);
    fail(&router, 0, 1);
    assert_eq!((0..500).filter(|_| goes_to(&router, &ONE) == Some(1)).count(), 1);
}

/// What flows over is bounded by the mirror too, however fast it may grow.
#[test]
fn the_mirror_bounds_what_flows_over() {
    let (clock, builder) = routers(&[quota!("1000000/min"), quota!("60/min")]);
    let router = builder.failures(1).cooling_for(36_000).slow_start(u32::MAX, MS).build().unwrap();
    fail(&router, 0, 1);
    assert_eq!((0..500).filter(|_| goes_to(&router, &ONE) == Some(1)).count(), 60);
    clock.advance(10 * SECOND);
    assert_eq!((0..500).filter(|_| goes_to(&router, &ONE) == Some(1)).count(), 10);
}

proptest! {
    /// Whenever calls come: in no step more than twice as many as in the one before, and never fewer than the first ones.
    #[test]
    fn no_step_has_more_than_twice_the_one_before(
        arrivals in prop::collection::vec(0_u64..40, 1..400), calls in 1_u32..6,
    ) {
        let (clock, builder) = routers(&[quota!("10000000/min"); 2]);
        let router = builder.failures(1).cooling_for(360_000).slow_start(calls, 100 * MS).build().unwrap();
        fail(&router, 0, 1);
        let mut steps = BTreeMap::<u64, (u64, u64)>::new();
        for gap in arrivals {
            clock.advance(Duration::from_millis(gap));
            let step = steps.entry(clock.now().as_u64() / 100_000_000).or_default();
            match router.try_send(&ONE) {
                Ok(hop) => { answer(hop, 200, &[]); step.0 += 1 }
                Err(refused) => {
                    let into = Duration::from_nanos(clock.now().as_u64() % 100_000_000);
                    prop_assert_eq!(refused.wait(), Some(100 * MS - into));
                    step.1 += 1;
                }
            }
        }
        // The call that failed was one of the first upstream's.
        for (step, (passed, refused)) in &steps {
            let before = step.checked_sub(1).and_then(|step| steps.get(&step)).map_or(0, |(passed, _)| *passed);
            let most = (before * 2).max(calls.into());
            prop_assert!(*passed <= most);
            prop_assert!(*refused == 0 || *passed == most);
        }
    }

    /// Whenever calls come: as many pass as the shares of the moments add up to, rounded down.
    #[test]
    fn as_many_pass_as_the_shares_add_up_to(gaps in prop::collection::vec(0_u64..100, 1..300)) {
        let (clock, router) = on_a_ramp();
        let (mut elapsed, mut sum, mut passed) = (0, 0_u64, 0);
        for gap in gaps {
            clock.advance(Duration::from_millis(gap));
            elapsed += gap;
            if elapsed >= 10_000 {
                break;
            }
            // In parts of ten thousand.
            sum += elapsed;
            passed += u64::from(goes_to(&router, &ONE) == Some(0));
            prop_assert!(passed.abs_diff(sum / 10_000) <= 1 && passed * 10_000 <= sum, "{} of {}", passed, sum);
        }
    }

    /// No figure and no reading makes it panic, and a refusal has a wait.
    #[test]
    fn any_figures_do(
        figures in prop::array::uniform4(span()), calls in 1_u32.., failures in 1_u32..4,
        steps in prop::collection::vec((0_u8..6, span()), 1..30),
    ) {
        let [cooling, probe, ramp, step] = figures;
        let (clock, builder) = routers(&[quota!("2/h"), quota!("1/s")]);
        let builder = builder.failures(failures).cooling(Backoff::new(cooling, Duration::MAX)).probe(probe);
        let router = builder.ramp(ramp).slow_start(calls, step.max(Duration::from_nanos(1))).build().unwrap();
        for (what, span) in steps {
            clock.advance(span);
            let mut hops = router.hops(&Cost::requests(what.into()));
            match (hops.try_next(), what) {
                (Ok(hop), 0) => hop.timed_out(),
                (Ok(hop), 1) => hop.unreachable(),
                (Ok(hop), 2) => drop(answer(hop, 429, &[("retry-after", "999999999999")])),
                (Ok(hop), 3) => drop(answer(hop, 503, &[("retry-after", "0")])),
                (Ok(hop), _) => drop(answer(hop, 200, &[])),
                (Err(refused), _) => prop_assert!(refused.wait().is_none_or(|wait| !wait.is_zero())),
            }
            prop_assert!(router.standing(0).is_some());
        }
    }
}

/// Also none, and more than can be counted.
fn span() -> impl Strategy<Value = Duration> {
    let nanos = prop_oneof![Just(0), 1_u64..1_000, 0_u64..10_000_000_000, any::<u64>(), Just(u64::MAX)];
    prop_oneof![9 => nanos.prop_map(Duration::from_nanos), 1 => Just(Duration::MAX)]
}

trait CoolingFor {
    /// Closed for so many seconds.
    fn cooling_for(self, seconds: u64) -> Self;
}

impl CoolingFor for RouterBuilder<Arc<Manual>> {
    fn cooling_for(self, seconds: u64) -> Self {
        let span = Duration::from_secs(seconds);
        self.cooling(Backoff::new(span, span))
    }
}
