//! `Acquire` and the blocking form: when they are ready, what they give back, how often they wake.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate::wait::{Acquire, Pace, Timer};
use tollgate::{Bucket, Clock, Denied, Nanos, Quota};

use crate::support::{MS, S, at, bucket, nanos, quota, wait_of};
use crate::wait::{Counting, Paused, Polled, in_paused_time};

/// One waiter's answer, when it came, and how often it was polled.
pub(crate) type Answer = (Result<(), Denied>, u64, usize);

/// Waiters that all begin now, in order; the answers in their order.
pub(crate) async fn all_wait<'a>(
    limit: &'a Bucket<Paused>,
    timer: &'a Counting,
    waiters: impl IntoIterator<Item = (u64, Duration)>,
) -> Vec<Answer> {
    let mut tasks = Vec::new();
    for (cost, longest) in waiters {
        let mut turn = Polled::new(Acquire::new(limit, cost, timer).within(longest));
        // The first poll takes the place.
        let first = std::future::poll_fn(|cx| Poll::Ready(std::pin::Pin::new(&mut turn).poll(cx))).await;
        tasks.push((turn, first));
    }
    let mut answers = Vec::new();
    for (turn, first) in tasks {
        let (answer, polls) = match first {
            Poll::Ready(ready) => ready,
            Poll::Pending => turn.await,
        };
        answers.push((answer, limit.clock().now().as_u64(), polls));
    }
    answers
}

/// Must show 1. Each waiter is a task of its own, so each is woken by its own timer alone.
#[test]
fn a_thousand_waiters_wake_no_more_than_they_must() {
    let (timer, wakes) = (Rc::new(Counting::default()), Rc::new(Cell::new(0)));
    let (counts, counted) = (Rc::clone(&timer), Rc::clone(&wakes));
    let last = in_paused_time(quota(10, S, 1), async move |limit| {
        let (limit, times) = (Rc::new(limit), Rc::new(RefCell::new(Vec::new())));
        let tasks: Vec<_> = (0..1000)
            .map(|n| {
                let (limit, times) = (Rc::clone(&limit), Rc::clone(&times));
                let (timer, wakes) = (Rc::clone(&counts), Rc::clone(&counted));
                tokio::task::spawn_local(async move {
                    let (answer, polls) = Polled::new(Acquire::new(&*limit, 1, &*timer)).await;
                    assert_eq!(answer, Ok(()));
                    assert!(polls <= 3, "{polls}");
                    wakes.set(wakes.get() + polls);
                    times.borrow_mut().push((limit.clock().now().as_u64(), n));
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let times = times.borrow();
        let expected: Vec<_> = (0..1000).map(|n| (n * 100 * MS, n)).collect();
        assert_eq!(*times, expected, "in order, and each at its time");
        limit.clock().now()
    });
    assert_eq!(last, at(99_900 * MS));
    assert!(wakes.get() <= 2000, "{}", wakes.get());
    assert_eq!((timer.made(), timer.most(), timer.now()), (999, 999, 0), "one timer for each that waited");
}

#[test]
fn ten_waiters_go_one_a_second() {
    let timer = Counting::default();
    let answers = in_paused_time(quota(1, S, 1), async |limit| {
        all_wait(&limit, &timer, [(1, Duration::MAX); 10]).await
    });
    let times: Vec<_> = answers.iter().map(|answer| answer.1).collect();
    assert_eq!(times, (0..10).map(|second| second * S).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| answer.0 == Ok(()) && answer.2 <= 3), "{answers:?}");
}

#[test]
fn nothing_is_taken_before_the_first_poll() {
    let limit = bucket(quota(1, S, 1));
    let turn = Acquire::new(&limit, 1, Skip(&limit));
    assert_eq!(format!("{turn:?}"), "Acquire(not polled)");
    drop(turn);
    assert_eq!(limit.peek().available(), 1);
}

#[test]
fn dropped_while_it_waits_it_gives_its_place_back() {
    in_paused_time(quota(1, S, 1), async |limit| {
        assert_eq!(limit.try_acquire(), Ok(()));
        let timer = Counting::default();
        {
            let mut turn = pin!(Acquire::new(&limit, 1, &timer));
            assert!(turn.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(format!("{turn:?}"), "Acquire(waiting)");
            assert_eq!(limit.peek().debt(), 1);
        }
        assert_eq!((limit.peek().debt(), timer.now()), (0, 0));
        tokio::time::sleep(nanos(S)).await;
        assert_eq!(limit.try_acquire(), Ok(()));
    });
}

/// Case C56 for bookings: granted, and dropped before it is polled.
#[test]
fn granted_and_dropped_it_gives_its_place_back() {
    in_paused_time(quota(1, S, 1), async |limit| {
        assert_eq!(limit.try_acquire(), Ok(()));
        let timer = Counting::default();
        let mut turn = Box::pin(Acquire::new(&limit, 1, &timer));
        assert!(turn.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tokio::time::sleep(nanos(S)).await;
        drop(turn);
        assert_eq!(limit.try_acquire(), Ok(()), "at 1 s, not at 2 s");
    });
}

#[test]
fn a_deadline_is_a_reading_and_stays_the_same() {
    in_paused_time(quota(1, S, 1), async |limit| {
        let timer = Counting::default();
        assert_eq!(limit.try_acquire(), Ok(()));
        let refused = Acquire::new(&limit, 1, &timer).until(at(S - 1)).await.unwrap_err();
        assert_eq!((wait_of(refused), timer.made()), (1, 0));
        assert_eq!(Acquire::new(&limit, 1, &timer).until(at(S)).await, Ok(()));
        assert_eq!(limit.clock().now(), at(S));
    });
}

/// A pause that begins while they wait: those that come due in it go after it, no faster than the rate.
#[test]
fn a_pause_that_begins_meanwhile_is_waited_for() {
    let answers = in_paused_time(quota(1, S, 2), async |limit| {
        let limit = Rc::new(limit);
        assert_eq!(limit.try_acquire_n(2), Ok(()));
        let waiter = |_| {
            let limit = Rc::clone(&limit);
            tokio::task::spawn_local(async move {
                let timer = Counting::default();
                let (answer, polls) = Polled::new(Acquire::new(&*limit, 1, &timer)).await;
                (answer, limit.clock().now().as_u64() / S, polls)
            })
        };
        let tasks: Vec<_> = (0..5).map(waiter).collect();
        tokio::time::sleep(nanos(1500 * MS)).await;
        limit.pause_until(at(10 * S));
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        answers
    });
    let times: Vec<_> = answers.iter().map(|answer| answer.1).collect();
    assert_eq!(times, [1, 10, 10, 11, 12], "the capacity at its end, then the rate");
    assert!(answers.iter().all(|answer| answer.0 == Ok(()) && answer.2 <= 3), "{answers:?}");
}

#[test]
fn a_pause_past_the_deadline_is_refused_when_it_is_met() {
    in_paused_time(quota(1, S, 1), async |limit| {
        assert_eq!(limit.try_acquire(), Ok(()));
        let timer = Counting::default();
        let mut turn = pin!(Acquire::new(&limit, 1, &timer).within(nanos(3 * S)));
        assert!(turn.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        limit.pause_until(at(10 * S));
        let refused = turn.await.unwrap_err();
        assert_eq!((limit.clock().now(), wait_of(refused)), (at(S), 7 * S));
        assert_eq!(limit.peek().available(), 1, "its place is given back");
    });
}

/// A timer that fires early: by its own longest span, or because it counts another time.
struct Early(Counting, u32);

impl<'a> Timer for &'a Early {
    type Sleep = super::Counted<'a>;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        (&self.0).sleep((span / self.1).max(nanos(MS)))
    }
}

#[test]
fn a_timer_that_fires_early_makes_it_sleep_the_rest() {
    in_paused_time(quota(1, S, 1), async |limit| {
        assert_eq!(limit.try_acquire(), Ok(()));
        let timer = Early(Counting::default(), 2);
        assert_eq!(Acquire::new(&limit, 1, &timer).await, Ok(()));
        assert_eq!(limit.clock().now(), at(S));
        assert!((2..20).contains(&timer.0.made()), "{}", timer.0.made());
        assert_eq!((timer.0.most(), timer.0.now()), (1, 0), "one timer at a time");
    });
}

/// Spans without end reach the timer and do no harm.
#[test]
fn the_longest_spans_are_fine() {
    in_paused_time(quota(1, S, 1), async |limit| {
        let timer = Counting::default();
        assert_eq!(Acquire::new(&limit, 1, &timer).within(Duration::MAX).await, Ok(()));
        assert_eq!(Acquire::new(&limit, 1, &timer).within(Duration::MAX).until(Nanos::MAX).await, Ok(()));
        limit.pause_until(at(60 * 365 * 86_400 * S));
        let far = Acquire::new(&limit, 1, &timer).within(Duration::MAX);
        assert!(tokio::time::timeout(nanos(S), far).await.is_err(), "it waits");
    });
}

#[test]
#[should_panic(expected = "polled after it was ready")]
fn polled_after_it_was_ready() {
    let limit = bucket(quota(1, S, 1));
    let mut turn = Acquire::new(&limit, 1, Skip(&limit));
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        let _: Poll<_> = std::pin::Pin::new(&mut turn).poll(&mut cx);
    }
}

/// Sleeping moves the clock of the limiter.
struct Skip<'a>(&'a Bucket<tollgate::Manual>);

impl Timer for Skip<'_> {
    type Sleep = std::future::Ready<()>;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        self.0.clock().advance(span);
        std::future::ready(())
    }
}

#[test]
fn another_runtime_is_a_timer_away() {
    let limit = bucket(quota(2, S, 1));
    let mut cx = Context::from_waker(Waker::noop());
    for turn in 0..5 {
        let mut waiting = Acquire::new(&limit, 1, Skip(&limit));
        assert_eq!(std::pin::Pin::new(&mut waiting).poll(&mut cx), Poll::Ready(Ok(())));
        assert_eq!(limit.clock().now(), at(turn * 500 * MS));
    }
}

/// What is borrowed and what is in an `Arc`, a bucket and a pace: all wait.
#[test]
fn a_pace_and_an_arc_wait_too() {
    in_paused_time(quota(1, S, 3), async |limit| {
        let (quota, clock) = (limit.quota(), *limit.clock());
        let paced = |quota: Quota| Arc::new(Pace::with_clock(quota, clock));
        let (pace, timer) = (paced(quota), Counting::default());
        for second in 0..3 {
            assert_eq!(Acquire::new(Arc::clone(&pace), 1, &timer).await, Ok(()));
            assert_eq!(limit.clock().now(), at(second * S));
        }
        assert_eq!(Acquire::new(Arc::new(limit), 3, &timer).await, Ok(()));
    });
}

#[cfg(feature = "tokio")]
#[test]
fn tokios_timer_and_clock() {
    use tollgate::wait::{TokioClock, TokioTimer};
    in_paused_time(quota(1, S, 1), async |_| {
        let limit = Arc::new(Bucket::with_clock(quota(1, S, 1), TokioClock::new()));
        limit.acquire().await.unwrap();
        assert!(limit.acquire().within(nanos(S - 1)).await.is_err());
        limit.acquire_n(1).within(nanos(S)).await.unwrap();
        assert_eq!(limit.clock().now(), at(S));
        let owned = Acquire::new(Arc::clone(&limit), 1, TokioTimer);
        tokio::spawn(owned).await.unwrap().unwrap();
        assert_eq!(limit.clock().now(), at(2 * S));
    });
}

#[test]
fn the_blocking_form_waits_and_refuses() {
    let slow = Bucket::new(quota(1, 3600 * S, 1));
    assert_eq!(slow.acquire_blocking(Duration::ZERO), Ok(()));
    assert!(wait_of(slow.acquire_blocking_n(1, nanos(1000)).unwrap_err()) <= 3600 * S);
    let limit = Bucket::new(quota(1000, S, 1));
    assert_eq!(limit.acquire_blocking(Duration::ZERO), Ok(()));
    let began = std::time::Instant::now();
    assert_eq!(limit.acquire_blocking(Duration::MAX), Ok(()));
    assert!(began.elapsed() <= Duration::from_secs(5));
    assert_eq!(Pace::new(quota(1000, S, 1)).acquire_blocking_n(1, Duration::MAX), Ok(()));
}
