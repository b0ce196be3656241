//! What closes an upstream, for whom, and how it opens again.

use std::time::Duration;

use tollgate::quota;
use tollgate::upstream::{Backoff, Cost, Dimension, NoRoute, Standing};

use super::support::{MS, ONE, SECOND, answer, fail, goes_to, mirror, routers};

const TOKENS: Cost = ONE.with(Dimension::Tokens, 100);

#[test]
fn failures_in_a_row_close_it() {
    let (_clock, builder) = routers(&[quota!("1000/min"); 2]);
    let router = builder.failures(3).build().unwrap();
    fail(&router, 0, 2);
    answer(router.try_send(&ONE).unwrap(), 404, &[]);
    fail(&router, 0, 2);
    assert_eq!(router.standing(0), Some(Standing::Open), "a call that is wrong is answered all the same");
    fail(&router, 0, 1);
    assert_eq!(router.standing(0), Some(Standing::Closed(SECOND)));
    assert_eq!(goes_to(&router, &ONE), Some(1));
    assert_eq!(router.standing(2), None);
}

#[test]
fn what_counts_as_a_failure() {
    let (_clock, builder) = routers(&[quota!("100000/min"); 2]);
    let router = builder.failures(2).ramp(Duration::ZERO).build().unwrap();
    for status in 200..600 {
        for _ in 0..2 {
            answer(router.try_send(&ONE).unwrap(), status, &[]);
        }
        let closes = (status >= 500 && ![501, 505].contains(&status)) || status == 429;
        assert_eq!(router.standing(0) != Some(Standing::Open), closes, "{status}");
        if closes {
            _clock.advance(3_600 * SECOND);
            answer(router.try_send(&ONE).unwrap(), 200, &[]);
        }
    }
}

/// One call; the others keep away until it has succeeded.
#[test]
fn one_probe_brings_it_back() {
    let (clock, builder) = routers(&[quota!("1000/min"); 2]);
    let router = builder.failures(1).ramp(Duration::ZERO).build().unwrap();
    fail(&router, 0, 1);
    clock.advance(SECOND - MS);
    assert_eq!(goes_to(&router, &ONE), Some(1));
    clock.advance(MS);
    assert_eq!(router.standing(0), Some(Standing::Closed(Duration::ZERO)));
    let probe = router.try_send(&ONE).unwrap();
    assert_eq!(probe.upstream(), 0);
    assert_eq!(router.standing(0), Some(Standing::Probing(30 * SECOND)));
    assert_eq!([(); 5].map(|()| goes_to(&router, &ONE)), [Some(1); 5]);
    answer(probe, 200, &[]);
    assert_eq!((router.standing(0), goes_to(&router, &ONE)), (Some(Standing::Open), Some(0)));
}

/// Each time twice as long, up to the longest; and from the beginning once it has been well.
#[test]
fn a_probe_that_fails_doubles_the_wait() {
    let (clock, builder) = routers(&[quota!("100000/min"); 2]);
    let cooling = Backoff::new(SECOND, 5 * SECOND);
    let router = builder.failures(1).ramp(2 * SECOND).cooling(cooling).build().unwrap();
    for seconds in [1, 2, 4, 5, 5] {
        fail(&router, 0, 1);
        assert_eq!(router.standing(0), Some(Standing::Closed(seconds * SECOND)));
        clock.advance(seconds * SECOND);
    }
    answer(router.try_send(&ONE).unwrap(), 200, &[]);
    clock.advance(SECOND);
    assert_eq!(router.standing(0), Some(Standing::Ramping(500)));
    let went = [(); 2].map(|()| router.try_send(&ONE).unwrap());
    let [_, to_it] = went;
    to_it.unreachable();
    assert_eq!(router.standing(0), Some(Standing::Closed(5 * SECOND)), "it was not back for good");
    clock.advance(5 * SECOND);
    answer(router.try_send(&ONE).unwrap(), 200, &[]);
    clock.advance(2 * SECOND);
    fail(&router, 0, 1);
    assert_eq!(router.standing(0), Some(Standing::Closed(SECOND)));
}

#[test]
fn a_probe_that_is_lost_is_replaced_after_its_deadline() {
    let (clock, builder) = routers(&[quota!("1000/min"); 2]);
    let router = builder.failures(1).probe(4 * SECOND).ramp(Duration::ZERO).build().unwrap();
    fail(&router, 0, 1);
    clock.advance(SECOND);
    let lost = router.try_send(&ONE).unwrap();
    clock.advance(4 * SECOND - MS);
    assert_eq!(goes_to(&router, &ONE), Some(1));
    clock.advance(MS);
    let probe = router.try_send(&ONE).unwrap();
    assert_eq!(probe.upstream(), 0);
    lost.not_sent();
    assert_eq!(router.standing(0), Some(Standing::Probing(4 * SECOND)), "the other one is on its way");
    drop(probe);
    assert_eq!(goes_to(&router, &ONE), Some(1), "dropped: nothing is known of it");
    clock.advance(4 * SECOND);
    let probe = router.try_send(&ONE).unwrap();
    probe.not_sent();
    let next = router.try_send(&ONE).unwrap();
    assert_eq!(next.upstream(), 0, "one that never left is replaced at once");
    answer(next, 200, &[]);
    assert_eq!(router.standing(0), Some(Standing::Open));
}

/// It says as much as the one that replaced it.
#[test]
fn a_probe_that_is_late_is_believed() {
    for is_well in [true, false] {
        let (clock, builder) = routers(&[quota!("1000/min"); 2]);
        let router = builder.failures(1).probe(SECOND).ramp(Duration::ZERO).build().unwrap();
        fail(&router, 0, 1);
        clock.advance(SECOND);
        let late = router.try_send(&ONE).unwrap();
        clock.advance(SECOND);
        let probe = router.try_send(&ONE).unwrap();
        assert_eq!((late.upstream(), probe.upstream()), (0, 0));
        if is_well {
            answer(late, 200, &[]);
            assert_eq!(router.standing(0), Some(Standing::Open));
            continue;
        }
        late.timed_out();
        assert_eq!(router.standing(0), Some(Standing::Closed(2 * SECOND)));
        probe.timed_out();
        assert_eq!(router.standing(0), Some(Standing::Closed(2 * SECOND)), "one event");
    }
}

/// A hundred calls on their way when it failed are one event.
#[test]
fn what_was_sent_before_it_closed_is_no_news() {
    let (clock, builder) = routers(&[quota!("1000/min"); 2]);
    let router = builder.failures(3).ramp(Duration::ZERO).build().unwrap();
    let mut sent: Vec<_> = (0..100).map(|_| router.try_send(&ONE).unwrap()).collect();
    for hop in sent.drain(..50) {
        hop.timed_out();
    }
    assert_eq!(router.standing(0), Some(Standing::Closed(SECOND)));
    clock.advance(SECOND);
    let probe = router.try_send(&ONE).unwrap();
    for hop in sent.drain(..25) {
        hop.timed_out();
    }
    answer(sent.remove(0), 200, &[]);
    assert_eq!(router.standing(0), Some(Standing::Probing(30 * SECOND)), "neither good nor bad");
    answer(probe, 200, &[]);
    for hop in sent {
        hop.timed_out();
    }
    assert_eq!(router.standing(0), Some(Standing::Open));
}

/// It says how long: the first one closes it, for that long, and a longer one that comes later counts.
#[test]
fn an_upstream_that_says_how_long_is_closed_at_once() {
    let (clock, builder) = routers(&[quota!("1000/min"); 2]);
    let router = builder.build().unwrap();
    let [first, second, third] = [(); 3].map(|()| router.try_send(&ONE).unwrap());
    answer(first, 503, &[("retry-after", "20")]);
    assert_eq!(router.standing(0), Some(Standing::Closed(20 * SECOND)));
    answer(second, 503, &[("retry-after", "50")]);
    answer(third, 503, &[("retry-after", "5")]);
    assert_eq!(router.standing(0), Some(Standing::Closed(50 * SECOND)));
    clock.advance(50 * SECOND);
    assert_eq!(goes_to(&router, &ONE), Some(0));
    assert_eq!(goes_to(&router, &ONE), Some(1), "one probe, not a herd");
}

/// Tokens are used up: calls without tokens go there as before, those with tokens after one of them was let through.
#[test]
fn a_limit_of_tokens_closes_it_for_calls_with_tokens() {
    let (clock, builder) = routers(&[]);
    let limits = [(Dimension::Requests, quota!("1000/min")), (Dimension::Tokens, quota!("1000000/min"))];
    let builder = builder.upstream(mirror(&clock, &limits)).upstream(mirror(&clock, &limits));
    let router = builder.ramp(Duration::ZERO).build().unwrap();
    let used_up = [
        ("x-ratelimit-limit-tokens", "1000000"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "40s"),
        ("x-ratelimit-limit-requests", "1000"),
        ("x-ratelimit-remaining-requests", "990"),
        ("x-ratelimit-reset-requests", "1s"),
    ];
    answer(router.try_send(&TOKENS).unwrap(), 429, &used_up);
    assert_eq!(router.standing(0), Some(Standing::Open));
    assert_eq!((goes_to(&router, &ONE), goes_to(&router, &TOKENS)), (Some(0), Some(1)));
    // The reset is the time to full, so tokens are there again long before; 25 000 a second.
    clock.advance(SECOND);
    let probe = router.try_send(&TOKENS).unwrap();
    assert_eq!(probe.upstream(), 0);
    // A call without tokens that is answered is no answer to it.
    answer(router.try_send(&ONE).unwrap(), 200, &[]);
    assert_eq!((goes_to(&router, &ONE), goes_to(&router, &TOKENS)), (Some(0), Some(1)));
    answer(probe, 200, &[]);
    assert_eq!(goes_to(&router, &TOKENS), Some(0));
}

/// Tokens are closed until 1 s, all until 1.5 s, and tokens again until 4 s: the later counts, whichever was first.
#[test]
fn of_two_gates_the_later_counts() {
    let (clock, builder) = routers(&[]);
    let limits = [(Dimension::Requests, quota!("1000/min")), (Dimension::Tokens, quota!("1000000/min"))];
    let router = builder.upstream(mirror(&clock, &limits)).failures(1).ramp(Duration::ZERO).build().unwrap();
    let [first, late] = [(); 2].map(|()| router.try_send(&TOKENS).unwrap());
    answer(first, 429, &[("x-ratelimit-remaining-tokens", "0")]);
    clock.advance(500 * MS);
    router.try_send(&ONE).unwrap().timed_out();
    let waits = || [ONE, TOKENS].map(|cost| router.try_send(&cost).unwrap_err().wait().unwrap());
    assert_eq!(waits(), [SECOND, SECOND]);
    let longer = [
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-limit-tokens", "1000000"),
        ("retry-after-ms", "3500"),
    ];
    answer(late, 429, &longer);
    assert_eq!(waits(), [3_500 * MS; 2], "the mirror pauses for all calls");
    clock.advance(3_500 * MS);
    let probe = router.try_send(&TOKENS).unwrap();
    assert_eq!(waits(), [30 * SECOND; 2], "a probe of both");
    drop(probe);
}

/// Whatever its status is.
#[test]
fn an_upstream_that_calls_itself_overloaded_has_failed() {
    let (_clock, builder) = routers(&[quota!("1000/min"); 2]);
    let router = builder.failures(1).build().unwrap();
    let (headers, body) = (http::HeaderMap::new(), br#"{"error":{"type":"overloaded_error"}}"#);
    let reading = tollgate::upstream::Reader::new();
    let reading = reading.read(http::StatusCode::BAD_REQUEST, &headers, std::time::SystemTime::UNIX_EPOCH);
    router.try_send(&ONE).unwrap().answered(&reading.with_body(body));
    assert_eq!(router.standing(0), Some(Standing::Closed(SECOND)));
}

/// Nothing of what is used up was needed by the call, or nothing is told: it is closed for all.
#[test]
fn a_limit_that_is_not_told_closes_it_for_all() {
    let others = [("x-ratelimit-limit-tokens", "1000"), ("x-ratelimit-remaining-tokens", "0")];
    for fields in [&others[..], &[]] {
        let (_clock, builder) = routers(&[quota!("1000/min"); 2]);
        let router = builder.build().unwrap();
        answer(router.try_send(&ONE).unwrap(), 429, fields);
        assert_eq!(router.standing(0), Some(Standing::Closed(SECOND)));
        assert_eq!(goes_to(&router, &ONE), Some(1));
    }
}

/// A probe that failed says nothing of the dimension that it was to try too.
#[test]
fn a_gate_of_a_dimension_outlives_a_failure_of_the_whole() {
    let (clock, builder) = routers(&[]);
    let limits = [(Dimension::Requests, quota!("1000/min")), (Dimension::Tokens, quota!("1000000/min"))];
    let builder = builder.upstream(mirror(&clock, &limits)).upstream(mirror(&clock, &limits));
    let router = builder.failures(1).ramp(Duration::ZERO).build().unwrap();
    let used_up = [("x-ratelimit-remaining-tokens", "0"), ("retry-after", "3")];
    answer(router.try_send(&TOKENS).unwrap(), 429, &used_up);
    assert_eq!(router.standing(0), Some(Standing::Open));
    clock.advance(3 * SECOND);
    let probe = router.try_send(&TOKENS).unwrap();
    probe.timed_out();
    assert_eq!(router.standing(0), Some(Standing::Closed(SECOND)));
    clock.advance(SECOND);
    let probe = router.try_send(&TOKENS).unwrap();
    assert_eq!((probe.upstream(), goes_to(&router, &ONE)), (0, Some(1)), "a probe of both");
    answer(probe, 200, &[]);
    assert_eq!((goes_to(&router, &ONE), goes_to(&router, &TOKENS)), (Some(0), Some(0)));
}

/// A call that its mirror refuses is no probe.
#[test]
fn what_is_not_sent_does_not_probe() {
    let (clock, builder) = routers(&[quota!("10/min"), quota!("1000/min")]);
    let router = builder.failures(1).build().unwrap();
    fail(&router, 0, 1);
    clock.advance(SECOND);
    assert_eq!(goes_to(&router, &Cost::requests(11)), Some(1));
    assert_eq!(router.standing(0), Some(Standing::Closed(Duration::ZERO)));
    assert_eq!(goes_to(&router, &ONE), Some(0));
}

#[test]
fn alone_it_is_waited_for() {
    let (clock, builder) = routers(&[quota!("1000/min")]);
    let router = builder.failures(1).build().unwrap();
    let mut hops = router.hops(&ONE);
    hops.try_next().unwrap().timed_out();
    let closed = NoRoute::NotYet { upstream: 0, wait: SECOND };
    assert_eq!((hops.try_next().unwrap_err(), router.try_send(&ONE).unwrap_err()), (closed, closed));
    clock.advance(SECOND);
    assert_eq!(hops.try_next().unwrap_err(), NoRoute::Tried);
    let probe = router.try_send(&ONE).unwrap();
    assert_eq!(router.try_send(&ONE).unwrap_err(), NoRoute::NotYet { upstream: 0, wait: 30 * SECOND });
    answer(probe, 200, &[]);
    // On its ramp, and there is no other.
    assert_eq!(goes_to(&router, &ONE), Some(0));
}
