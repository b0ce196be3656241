//! Where a call goes, what it is charged, and what it is told if it can go nowhere.

use std::time::Duration;

use tollgate::upstream::{
    Class, Cost, Dimension, Heard, Mirror, NoRoute, Order, Refused, Router, RouterError, Standing,
};
use tollgate::{Monotonic, quota};

use super::support::{MS, ONE, SECOND, answer, fail, goes_to, left, mirror, routers};

#[test]
fn figures_out_of_their_ranges_are_named() {
    let builder = || Router::builder().upstream(Mirror::builder().build().unwrap());
    assert_eq!(Router::<Monotonic>::builder::<Monotonic>().build().err(), Some(RouterError::NoUpstream));
    assert_eq!(builder().failures(0).build().err(), Some(RouterError::NoFailures));
    let error = builder().slow_start(0, SECOND).build().unwrap_err();
    assert_eq!(error, RouterError::SlowStart { calls: 0, step: SECOND });
    assert_eq!(error.to_string(), "a slow start of 0 calls in 1s: at least 1 call in at least 1 ns");
    assert!(builder().slow_start(1, Duration::ZERO).build().is_err());
    assert!(builder().ramp(Duration::ZERO).probe(Duration::ZERO).build().is_ok());
}

/// The first as long as it can, then the second; only the one that was chosen is charged, and at once.
#[test]
fn by_preference() {
    let (clock, builder) = routers(&[quota!("2/min"), quota!("3/min")]);
    let router = builder.build().unwrap();
    let went = [(); 6].map(|()| goes_to(&router, &ONE));
    assert_eq!(went, [Some(0), Some(0), Some(1), Some(1), Some(1), None]);
    assert_eq!((left(&router, 0), left(&router, 1)), (0, 0));
    let earliest = NoRoute::NotYet { upstream: 1, wait: 20 * SECOND };
    assert_eq!(router.try_send(&ONE).unwrap_err(), earliest, "20 s for one of three a minute, 30 s of two");
    clock.advance(20 * SECOND);
    assert_eq!(goes_to(&router, &ONE), Some(1));
}

#[test]
fn by_headroom() {
    let (_clock, builder) = routers(&[quota!("10/min"), quota!("100/min"), quota!("20/min")]);
    let router = builder.order(Order::Headroom).build().unwrap();
    let mut went = [0; 3];
    for _ in 0..130 {
        went[goes_to(&router, &ONE).unwrap()] += 1;
    }
    assert_eq!(went, [10, 100, 20], "all are used up");
    let (_clock, builder) = routers(&[quota!("10/min"), quota!("10/min")]);
    let router = builder.order(Order::Headroom).build().unwrap();
    let went = [(); 4].map(|()| goes_to(&router, &ONE).unwrap());
    assert_eq!(went, [0, 1, 0, 1], "in turns, the first one first");
}

/// Of a hop that failed it depends on what became of it; the next one is charged its own.
#[test]
fn a_call_that_moves_on_is_charged_by_what_became_of_it() {
    let (_clock, builder) = routers(&[quota!("100/min"); 4]);
    let router = builder.build().unwrap();
    let mut hops = router.hops(&Cost::requests(3));
    let all_left = || [0, 1, 2, 3].map(|upstream| left(&router, upstream));
    let first = hops.try_next().unwrap();
    assert_eq!(all_left(), [97, 100, 100, 100]);
    first.unreachable();
    let second = hops.try_next().unwrap();
    assert_eq!(all_left(), [100, 97, 100, 100], "what never left is given back");
    second.timed_out();
    let third = hops.try_next().unwrap();
    assert_eq!(all_left(), [100, 97, 97, 100], "what may have arrived is not");
    answer(third, 500, &[]);
    let last = hops.try_next().unwrap();
    assert_eq!((all_left(), hops.tried()), ([100, 97, 97, 97], &[0, 1, 2, 3][..]));
    last.not_sent();
    assert_eq!(all_left(), [100, 97, 97, 100]);
    assert_eq!(hops.try_next().unwrap_err(), NoRoute::Tried);
    assert_eq!(all_left(), [100, 97, 97, 100]);
}

#[test]
fn the_true_cost_is_charged_to_the_hop_that_was_answered() {
    let (_clock, builder) = routers(&[quota!("100/min"); 2]);
    let router = builder.build().unwrap();
    let hop = router.try_send(&Cost::requests(10)).unwrap();
    let headers = http::HeaderMap::new();
    let reading = tollgate::upstream::Reader::new().read(
        http::StatusCode::OK,
        &headers,
        std::time::SystemTime::UNIX_EPOCH,
    );
    assert_eq!(hop.answered_with(&reading, &Cost::requests(4)), Heard::Fine);
    assert_eq!((left(&router, 0), left(&router, 1)), (96, 100));
}

/// A probe whose head has come has brought the upstream back, whenever its body ends; the mirror settles what it cost.
#[test]
fn the_head_of_a_response_is_heard_at_once() {
    let (clock, builder) = routers(&[]);
    let limits = [(Dimension::Requests, quota!("100/min")), (Dimension::Tokens, quota!("1000/min"))];
    let builder = builder.upstream(mirror(&clock, &limits));
    let router = builder.failures(1).ramp(Duration::ZERO).build().unwrap();
    fail(&router, 0, 1);
    clock.advance(SECOND);
    let cost = ONE.with(Dimension::Tokens, 600);
    let (probe, headers) = (router.try_send(&cost).unwrap(), http::HeaderMap::new());
    let head = tollgate::upstream::Reader::new();
    let head = head.read(http::StatusCode::OK, &headers, std::time::SystemTime::UNIX_EPOCH);
    assert_eq!(router.standing(0), Some(Standing::Probing(30 * SECOND)));
    assert_eq!(probe.head(&head), Heard::Fine);
    assert_eq!(router.standing(0), Some(Standing::Open));
    let tokens = || router.mirror(0).unwrap().level(Dimension::Tokens).unwrap().available();
    assert_eq!(tokens(), 400);
    probe.settled(&ONE.with(Dimension::Tokens, 100));
    assert_eq!((tokens(), left(&router, 0)), (900, 99));
    let hop = router.try_send(&cost).unwrap();
    hop.head(&head);
    hop.timed_out();
    assert_eq!((tokens(), router.standing(0)), (300, Some(Standing::Closed(SECOND))), "the body broke off");
}

/// The earliest of all, whatever it is that bars each: a limit, a pause, a closed gate.
#[test]
fn when_all_are_exhausted_the_earliest_to_return_is_told() {
    let (clock, builder) = routers(&[quota!("1/min"), quota!("100/min"), quota!("1/hour")]);
    let router = builder.failures(1).build().unwrap();
    let (first, third) = (router.try_send(&ONE).unwrap(), 2);
    router.try_send(&ONE).unwrap().unreachable();
    let last = router.try_send(&ONE).unwrap();
    assert_eq!((first.upstream(), last.upstream()), (0, third));
    let refused = || router.try_send(&ONE).unwrap_err();
    assert_eq!(refused(), NoRoute::NotYet { upstream: 1, wait: SECOND }, "the probe");
    router.mirror(1).unwrap().pause_for(90 * SECOND);
    assert_eq!(refused(), NoRoute::NotYet { upstream: 0, wait: 60 * SECOND });
    router.mirror(0).unwrap().pause_for(100 * SECOND);
    assert_eq!(refused(), NoRoute::NotYet { upstream: 1, wait: 90 * SECOND });
    assert_eq!(refused().wait(), Some(90 * SECOND));
    clock.advance(90 * SECOND - MS);
    assert_eq!(refused(), NoRoute::NotYet { upstream: 1, wait: MS });
    clock.advance(MS);
    assert_eq!(goes_to(&router, &ONE), Some(1));
}

#[test]
fn what_never_fits_is_told() {
    let (_clock, builder) = routers(&[quota!("10/min"), quota!("20/min")]);
    let router = builder.build().unwrap();
    assert_eq!(goes_to(&router, &Cost::requests(15)), Some(1));
    let never = Refused::OverCapacity { dimension: Dimension::Requests, capacity: 10 };
    let refused = router.try_send(&Cost::requests(21)).unwrap_err();
    assert_eq!((refused, refused.wait()), (NoRoute::Never(never), None));
    // The first is closed for good by its upstream, the second has to wait: it is not never.
    let hop = router.try_send(&ONE).unwrap();
    answer(hop, 429, &[("x-ratelimit-limit-requests", "0")]);
    let _sent = router.try_send(&Cost::requests(5)).unwrap();
    let terminal = NoRoute::NotYet { upstream: 1, wait: 30 * SECOND };
    assert_eq!(router.try_send(&Cost::requests(10)).unwrap_err(), terminal);
    assert_eq!(router.mirror(0).unwrap().terminal(), Some(Class::QuotaTerminal));
}

/// Each has its own limits: an upstream that does not count a dimension takes what another has no room for.
#[test]
fn a_call_is_charged_by_the_limits_of_where_it_goes() {
    let (clock, builder) = routers(&[]);
    let tokens = [(Dimension::Requests, quota!("10/min")), (Dimension::Tokens, quota!("1000/min"))];
    let requests = [(Dimension::Requests, quota!("10/min"))];
    let router =
        builder.upstream(mirror(&clock, &tokens)).upstream(mirror(&clock, &requests)).build().unwrap();
    let cost = ONE.with(Dimension::Tokens, 600);
    assert_eq!([(); 3].map(|()| goes_to(&router, &cost)), [Some(0), Some(1), Some(1)]);
    assert_eq!((left(&router, 0), left(&router, 1)), (9, 8));
}
