//! A router: one probe whoever comes, and what is known of it is known to all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tollgate::upstream::{Backoff, Cost, Dimension, Hop, Mirror, Router, Standing};
use tollgate::{Manual, Nanos, Quota};
use tollgate_loom_tests::{explore, leak, race2, race3};

const ONE: Cost = Cost::requests(1);
type Clock = Arc<Manual>;

/// Of two upstreams the first was closed, and its time is over.
fn due_for_a_probe() -> &'static Router<Clock> {
    let clock = Arc::new(Manual::new());
    let quota = Quota::with_burst(1, Duration::from_secs(3_600), 10).expect("a valid quota");
    let mirror = || Mirror::builder().limit(Dimension::Requests, quota).clock(Arc::clone(&clock)).build();
    let second = Duration::from_secs(1);
    let builder = Router::builder().upstream(mirror().expect("valid")).upstream(mirror().expect("valid"));
    let builder = builder.failures(1).cooling(Backoff::new(second, second)).ramp(Duration::ZERO);
    let router = builder.build().expect("valid figures");
    router.try_send(&ONE).expect("open").unreachable();
    clock.set(Nanos::from(second));
    leak(router)
}

fn go(router: &Router<Clock>) -> Hop<Clock> {
    router.try_send(&ONE).expect("the second takes all")
}

fn left(router: &Router<Clock>, upstream: usize) -> u64 {
    let mirror = router.mirror(upstream).expect("one of two");
    mirror.level(Dimension::Requests).expect("limited").available()
}

#[test]
fn two_that_come_at_once_are_one_probe() {
    let outcomes = explore("route_two_come_at_once", || {
        let router = due_for_a_probe();
        let go = move || go(router).upstream();
        let went = race2(go, go);
        (went, left(router, 0), left(router, 1))
    });
    assert_eq!(outcomes, BTreeSet::from([((0, 1), 9, 9), ((1, 0), 9, 9)]));
}

/// Two calls that were sent before it closed fail beside its probe, which succeeds: that is no news, and it is open.
#[test]
fn late_failures_do_not_close_it_again() {
    let outcomes = explore("route_late_failure_and_probe", || {
        let clock = Arc::new(Manual::new());
        let mirror = || Mirror::builder().clock(Arc::clone(&clock)).build().expect("without limits");
        let builder = Router::builder().upstream(mirror()).failures(1).ramp(Duration::ZERO);
        let router =
            leak(builder.cooling(Backoff::new(Duration::ZERO, Duration::ZERO)).build().expect("valid"));
        let [first, late] = [(); 2].map(|()| router.try_send(&ONE).expect("open"));
        first.timed_out();
        let probe = router.try_send(&ONE).expect("the probe");
        race2(
            move || late.unreachable(),
            move || {
                let headers = http::HeaderMap::new();
                let now = std::time::SystemTime::UNIX_EPOCH;
                probe.answered(&tollgate::upstream::Reader::new().read(http::StatusCode::OK, &headers, now));
            },
        );
        router.standing(0) == Some(Standing::Open)
    });
    assert_eq!(outcomes, BTreeSet::from([true]));
}

/// The probe is given back while two others come: one of them is the probe, or neither if both came before.
#[test]
fn a_probe_that_was_not_sent_is_replaced_by_one() {
    let outcomes = explore("route_probe_given_back", || {
        let router = due_for_a_probe();
        let probe = go(router);
        let go = move || go(router).upstream();
        let (first, second, ()) = race3(go, go, move || probe.not_sent());
        (first, second)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}
