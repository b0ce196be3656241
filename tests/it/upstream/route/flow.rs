//! No stampede: the share of one that is back, and what flows over to the next.

use std::sync::Arc;
use std::time::Duration;

use tollgate::upstream::{NoRoute, Standing};
use tollgate::{Manual, quota};

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

trait CoolingFor {
    /// Closed for so many seconds.
    fn cooling_for(self, seconds: u64) -> Self;
}

impl CoolingFor for tollgate::upstream::RouterBuilder<Arc<Manual>> {
    fn cooling_for(self, seconds: u64) -> Self {
        let span = Duration::from_secs(seconds);
        self.cooling(tollgate::upstream::Backoff::new(span, span))
    }
}
