//! C41-C43, C48-C53 and C55-C58: bookings and waiting.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::wait::{Acquire, Jitter};
use tollgate::{Bucket, Clock, Manual};

use crate::support::{MINUTE, MS, S, at, bucket, nanos, quota, wait_of};
use crate::wait::acquire::all_wait;
use crate::wait::{Counting, in_paused_time};

const FOREVER: Duration = Duration::MAX;

/// Tokens there, debt as a negative number.
fn balance(limit: &Bucket<Manual>, now: u64) -> i64 {
    let level = limit.peek_at(at(now));
    level.available() as i64 - level.debt() as i64
}

#[test]
fn c41_bookings_cancelled_at_once_restore_the_bucket() {
    let starts =
        [(30, [0, 33_333_334, 66_666_667]), (60, [0, 16_666_667, 33_333_334]), (100, [0, 10 * MS, 20 * MS])];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for ((rate, due), order) in starts.iter().flat_map(|start| orders.map(|order| (start, order))) {
        let limit = bucket(quota(*rate, S, 1));
        let mut bookings = [(); 3].map(|()| limit.book(1, FOREVER).ok());
        let told = bookings.each_ref().map(|booking| booking.as_ref().unwrap().due().as_u64());
        assert_eq!(told, *due);
        order.into_iter().for_each(|place| bookings[place].take().unwrap().cancel());
        assert_eq!(balance(&limit, 0), 1, "{rate}/s, {order:?}");
        assert_eq!(limit.peek().time_to_full(), Duration::ZERO);
        assert_eq!(limit.try_acquire(), Ok(()));
    }
}

/// The choice: everything comes back (6), as in a replay, because those 2 behind and all that is there then do not act
/// above the capacity. Where they would (the second half), what they need is withheld.
#[test]
fn c42_a_cancelled_middle_booking() {
    let limit = bucket(quota(10, S, 20));
    assert_eq!(limit.book_at(15, FOREVER, at(0)).unwrap().due(), at(0));
    let middle = limit.book_at(10, FOREVER, at(100 * MS)).unwrap();
    assert_eq!((middle.due(), balance(&limit, 100 * MS)), (at(500 * MS), -4));
    let last = limit.book_at(2, FOREVER, at(200 * MS)).unwrap();
    assert_eq!((last.due(), balance(&limit, 200 * MS)), (at(700 * MS), -5));
    middle.cancel_at(at(300 * MS));
    assert_eq!(balance(&limit, 300 * MS), 6);
    assert_eq!(last.due(), at(700 * MS), "it does not move up");

    let limit = bucket(quota(10, S, 20));
    let dues = [20, 20, 5].map(|cost| limit.book(cost, FOREVER).unwrap());
    assert_eq!(dues.each_ref().map(|place| place.due()), [0, 2 * S, 2_500 * MS].map(at));
    let [_first, second, _third] = dues;
    second.cancel_at(at(100 * MS));
    assert_eq!(limit.peek_at(at(2_500 * MS)).available(), 15, "with the 5 that act then, the capacity");
}

#[test]
fn c43_a_booking_that_was_due_at_once_comes_back_whole() {
    let limit = bucket(quota(1, S, 5));
    let booking = limit.book_at(1, FOREVER, at(0)).unwrap();
    assert_eq!(booking.due(), at(0));
    booking.cancel_at(at(MS));
    assert_eq!(balance(&limit, MS), 5);
    assert_eq!(limit.peek_at(at(MS)).time_to_full(), Duration::ZERO);
}

#[test]
fn c48_each_waiter_consumes_one_token() {
    let timer = Counting::default();
    in_paused_time(quota(1, S, 1), async |limit| {
        let answers = all_wait(&limit, &timer, [(1, FOREVER); 10]).await;
        assert!(answers.iter().all(|answer| answer.0 == Ok(())));
        assert_eq!(
            answers.iter().map(|answer| answer.1 / S).collect::<Vec<_>>(),
            (0..10).collect::<Vec<_>>()
        );
        assert_eq!(wait_of(limit.try_acquire().unwrap_err()), S, "ten tokens for ten");
    });
}

#[test]
fn c49_a_deadline_that_is_too_short_is_refused_at_once() {
    let timer = Counting::default();
    in_paused_time(quota(1, S, 1), async |limit| {
        assert_eq!(limit.try_acquire(), Ok(()));
        for longest in [0, 1, 500 * MS, S - 1] {
            let answers = all_wait(&limit, &timer, [(1, nanos(longest))]).await;
            let (answer, when, polls) = answers[0];
            assert_eq!((wait_of(answer.unwrap_err()), when, polls), (S - longest, 0, 1));
        }
        assert_eq!(timer.made(), 0);
        assert_eq!(all_wait(&limit, &timer, [(1, nanos(S))]).await[0].1, S, "exactly 1 s is enough");
    });
    in_paused_time(quota(1, S, 1), async |limit| {
        assert_eq!(limit.try_acquire(), Ok(()));
        assert!(Acquire::new(&limit, 1, &timer).within(nanos(500 * MS)).await.is_err());
        tokio::time::sleep(nanos(S)).await;
        assert_eq!(limit.try_acquire(), Ok(()), "nothing was consumed");
    });
}

#[test]
fn c50_a_waiter_waits_for_what_is_missing() {
    let limit = bucket(quota(3, 3 * S, 3));
    assert_eq!(limit.try_acquire(), Ok(()));
    assert_eq!(limit.book(3, FOREVER).unwrap().wait(), nanos(S));
    let limit = bucket(quota(3, 3 * S, 3));
    assert_eq!(limit.try_acquire_n(2), Ok(()));
    assert_eq!(limit.book(2, FOREVER).unwrap().wait(), nanos(S));
    for (taken, cost) in (0..=3).flat_map(|taken| (1..=3).map(move |cost| (taken, cost))) {
        let limit = bucket(quota(3, 3 * S, 3));
        assert_eq!(limit.acquire_up_to(taken), taken);
        let missing = (cost + taken).saturating_sub(3);
        assert_eq!(limit.book(cost, FOREVER).unwrap().wait(), nanos(missing * S));
    }
}

#[test]
fn c51_the_longest_wait_refuses_the_rest_at_once() {
    let timer = Counting::default();
    in_paused_time(quota(3, MINUTE, 3), async |limit| {
        let answers = all_wait(&limit, &timer, [(1, nanos(70 * S)); 10]).await;
        let admitted: Vec<_> =
            answers.iter().filter(|answer| answer.0.is_ok()).map(|answer| answer.1 / S).collect();
        assert_eq!(admitted, [0, 0, 0, 20, 40, 60]);
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.0.err()).map(wait_of).collect();
        assert_eq!(refused, [10 * S; 4], "a place would be due in 80 s, so in 10 s the same wait is enough");
        assert_eq!(timer.made(), 3);
        // At 60 s all that was refilled has gone to the six.
        assert_eq!(wait_of(limit.try_acquire().unwrap_err()), 20 * S);
    });
}

#[test]
fn c52_a_large_cost_is_not_starved() {
    let timer = Counting::default();
    in_paused_time(quota(10, S, 10), async |limit| {
        assert_eq!(limit.try_acquire_n(10), Ok(()));
        let waiters = [10, 1, 1, 1].map(|cost| (cost, FOREVER));
        let answers = all_wait(&limit, &timer, waiters).await;
        let times: Vec<_> = answers.iter().map(|answer| answer.1 / MS).collect();
        assert_eq!(times, [1000, 1100, 1200, 1300]);
    });
    // Nobody barges in: what asks now is refused while the large one waits.
    let limit = bucket(quota(10, S, 10));
    assert_eq!(limit.try_acquire_n(10), Ok(()));
    assert_eq!(limit.book(10, FOREVER).unwrap().due(), at(S));
    assert!((1..=10).all(|tenth| limit.try_acquire_at(at(tenth * 100 * MS)).is_err()));
    assert_eq!(limit.try_acquire_at(at(1100 * MS)), Ok(()));
}

#[test]
fn c53_an_elapsed_deadline_consumes_nothing() {
    let timer = Counting::default();
    in_paused_time(quota(1, S, 2), async |limit| {
        tokio::time::sleep(nanos(5 * S)).await;
        for deadline in [0, 1, S, 5 * S - 1] {
            let refused = Acquire::new(&limit, 1, &timer).until(at(deadline)).await.unwrap_err();
            assert_eq!(wait_of(refused), 0, "the tokens are there, the caller is late");
        }
        assert_eq!(limit.peek().available(), 2);
        assert!(Acquire::new(&limit, 0, &timer).until(at(0)).await.unwrap_err().wait().is_none());
        assert_eq!(
            Acquire::new(&limit, 1, &timer).until(limit.clock().now()).await,
            Ok(()),
            "now is not late"
        );
        let cancelled = Acquire::new(&limit, 1, &timer);
        drop(cancelled);
        assert_eq!((limit.peek().available(), timer.made()), (1, 0));
    });
}

#[test]
fn c55_two_limiters_do_not_disturb_each_other() {
    let timer = Counting::default();
    in_paused_time(quota(1, 100 * MS, 1), async |fast| {
        let slow = Bucket::with_clock(quota(1, 2 * S, 1), *fast.clock());
        let (quick, steady) = tokio::join!(
            all_wait(&fast, &timer, [(1, FOREVER); 10]),
            all_wait(&slow, &timer, [(1, FOREVER); 2])
        );
        assert_eq!(quick.last().map(|answer| answer.1), Some(900 * MS));
        assert_eq!(steady.last().map(|answer| answer.1), Some(2 * S));
    });
}

/// For bookings: a place that was due and is dropped unpolled is there at once. Those behind keep their times.
#[test]
fn c56_a_grant_that_is_dropped_is_not_lost() {
    let limit = bucket(quota(1, S, 1));
    assert_eq!(limit.try_acquire(), Ok(()));
    let (first, second) = (limit.book(1, FOREVER).unwrap(), limit.book(1, FOREVER).unwrap());
    assert_eq!((first.due(), second.due()), (at(S), at(2 * S)));
    first.cancel_at(at(S));
    assert_eq!(limit.book_at(1, FOREVER, at(S)).unwrap().due(), at(3 * S), "2 s is taken");
    let limit = bucket(quota(1, S, 1));
    assert_eq!(limit.try_acquire(), Ok(()));
    limit.book(1, FOREVER).unwrap().cancel_at(at(S));
    assert_eq!(limit.try_acquire_at(at(S)), Ok(()), "at 1 s, not at 2 s");
}

#[test]
fn c57_retry_hints_are_spread_upward_only() {
    let jitter = Jitter::new();
    let hints: Vec<_> = (0..30).map(|_| jitter.spread(nanos(600 * S))).collect();
    assert!(hints.iter().all(|hint| (nanos(600 * S)..=nanos(630 * S)).contains(hint)), "{hints:?}");
    assert!(hints.iter().collect::<BTreeSet<_>>().len() > 20, "{hints:?}");
}

/// `wait::acquire::a_thousand_waiters_wake_no_more_than_they_must` has a task for each; here one task has them all.
#[test]
fn c58_a_waiter_is_woken_by_its_own_timer() {
    let timer = Counting::default();
    in_paused_time(quota(10, S, 1), async |limit| {
        let answers = all_wait(&limit, &timer, [(1, FOREVER); 1000]).await;
        assert_eq!(answers.last().map(|answer| answer.1), Some(99_900 * MS));
        let polls: usize = answers.iter().map(|answer| answer.2).sum();
        assert!(polls <= 3 * 1000, "{polls}");
        assert_eq!((timer.made(), timer.now()), (999, 0));
    });
}
