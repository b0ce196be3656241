//! Permits: none is given twice and none is lost, beside releases, cancels, waiters and a limit that moves.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU32 as Plain;
use std::task::{Context, Poll, Wake, Waker};

use tollgate::inflight::{Acquire, InFlight, Permit};
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{explore, leak, race2, race3};

fn in_flight(limit: u32) -> &'static InFlight {
    leak(InFlight::new(limit).expect("a valid limit"))
}

fn taken(limit: &'static InFlight, weight: u32) -> Permit<'static> {
    limit.try_acquire_n(weight).expect("there")
}

/// A future polled by hand, and how often it was woken.
struct Task {
    future: Acquire<'static>,
    woken: Arc<Woken>,
}

/// Counted outside of the model: the count is looked at after all threads have ended.
#[derive(Default)]
struct Woken(Plain);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Task {
    fn new(future: Acquire<'static>) -> Self {
        Self { future, woken: Arc::default() }
    }

    /// In line already.
    fn in_line(future: Acquire<'static>) -> Self {
        let mut task = Self::new(future);
        assert!(task.poll().is_none(), "in line");
        task
    }

    fn poll(&mut self) -> Option<Permit<'static>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        match Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(taken) => Some(taken.expect("no reason to refuse")),
            Poll::Pending => None,
        }
    }

    fn wakes(&self) -> u32 {
        self.woken.0.load(Ordering::SeqCst)
    }
}

/// Kept until the end, so that they are in use together.
fn weights(permits: &[Option<Permit<'static>>]) -> u32 {
    permits.iter().flatten().map(Permit::weight).sum()
}

#[test]
fn the_last_one_wanted_by_two() {
    let outcomes = explore("permits_last_wanted_by_two", || {
        let limit = in_flight(3);
        let _held = taken(limit, 2);
        let (a, b) = race2(move || limit.try_acquire().ok(), move || limit.try_acquire().ok());
        (a.is_some(), b.is_some(), limit.in_use())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false, 3), (false, true, 3)]));
}

/// Three permits, wanted by two, two and one.
#[test]
fn unequal_weights_wanted_by_three() {
    let outcomes = explore("permits_unequal_wanted_by_three", || {
        let limit = in_flight(3);
        let ask = |weight| move || limit.try_acquire_n(weight).ok();
        let (a, b, c) = race3(ask(2), ask(2), ask(1));
        let taken = (a.is_some(), b.is_some(), c.is_some());
        let in_use = limit.in_use();
        assert_eq!(weights(&[a, b, c]), in_use);
        (taken, limit.in_use())
    });
    assert_eq!(outcomes, BTreeSet::from([((true, false, true), 0), ((false, true, true), 0)]));
}

/// What was done under a permit is seen by who takes it next.
#[test]
fn a_limit_of_one_is_a_lock() {
    let outcomes = explore("permits_publish", || {
        let (limit, done) = (in_flight(1), leak(AtomicBool::new(false)));
        let held = taken(limit, 1);
        let work = move || {
            done.store(true, Ordering::Relaxed);
            drop(held);
        };
        let ask = move || limit.try_acquire().is_ok().then(|| done.load(Ordering::Relaxed));
        race2(work, ask).1
    });
    assert_eq!(outcomes, BTreeSet::from([None, Some(true)]));
}

/// The waiter sees the release, or the release sees the waiter.
#[test]
fn entering_beside_a_release() {
    let outcomes = explore("permits_enter_release", || {
        let limit = in_flight(1);
        let held = taken(limit, 1);
        let mut task = Task::new(limit.acquire());
        let ((), (at_once, mut task)) = race2(move || drop(held), move || (task.poll(), task));
        let (is_at_once, wakes) = (at_once.is_some(), task.wakes());
        let permit = at_once.or_else(|| task.poll());
        assert!(permit.is_some() && limit.in_use() == 1 && limit.waiting() == 0);
        (is_at_once, wakes)
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0), (false, 1)]));
}

/// The permit of a cancelled waiter goes back.
#[test]
fn a_release_beside_a_cancel() {
    let outcomes = explore("permits_release_cancel", || {
        let limit = in_flight(1);
        let held = taken(limit, 1);
        let task = Task::in_line(limit.acquire());
        let woken = Arc::clone(&task.woken);
        race2(move || drop(held), move || drop(task));
        (woken.0.load(Ordering::SeqCst), limit.in_use(), limit.waiting(), limit.try_acquire().is_ok())
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 0, 0, true), (1, 0, 0, true)]));
}

/// The permit of a cancelled waiter goes to the next, who is woken once.
#[test]
fn a_release_beside_a_cancel_with_another_in_line() {
    let outcomes = explore("permits_release_cancel_next", || {
        let limit = in_flight(1);
        let held = taken(limit, 1);
        let (first, mut second) = (Task::in_line(limit.acquire()), Task::in_line(limit.acquire()));
        race2(move || drop(held), move || drop(first));
        let permit = second.poll();
        (permit.is_some(), second.wakes(), limit.in_use(), limit.waiting())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1, 1, 0)]));
}

/// Two releases, and one in line who needs both.
#[test]
fn two_releases_for_one_heavy_waiter() {
    let outcomes = explore("permits_two_releases", || {
        let limit = in_flight(2);
        let (a, b) = (taken(limit, 1), taken(limit, 1));
        let mut heavy = Task::in_line(limit.acquire_n(2));
        race2(move || drop(a), move || drop(b));
        let permit = heavy.poll();
        (permit.is_some(), heavy.wakes(), limit.in_use(), limit.waiting())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1, 2, 0)]));
}

/// What is released while someone waits is not for a newcomer.
#[test]
fn a_newcomer_beside_the_handing_over() {
    let outcomes = explore("permits_newcomer", || {
        let limit = in_flight(1);
        let held = taken(limit, 1);
        let mut waiter = Task::in_line(limit.acquire());
        let ((), newcomer) = race2(move || drop(held), move || limit.try_acquire().is_ok());
        (newcomer, waiter.poll().is_some())
    });
    assert_eq!(outcomes, BTreeSet::from([(false, true)]));
}

/// After the limit has been lowered nobody is admitted under the old one, also who looked before.
#[test]
fn a_lowered_limit_beside_an_acquire() {
    let outcomes = explore("permits_lower_acquire", || {
        let limit = in_flight(2);
        let _held = taken(limit, 1);
        let lower = move || {
            limit.set_limit(1).expect("a valid limit");
            limit.in_use()
        };
        let (in_use, permit) = race2(lower, move || limit.try_acquire().ok());
        (in_use, limit.in_use(), permit.is_some())
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 1, false), (2, 2, true)]));
}

#[test]
fn a_lowered_limit_beside_an_acquire_and_a_release() {
    let outcomes = explore("permits_lower_acquire_release", || {
        let limit = in_flight(2);
        let held = taken(limit, 2);
        let lower = move || limit.set_limit(1).expect("a valid limit");
        let acquire = move || limit.try_acquire_n(2).ok();
        let (before, permit, ()) = race3(lower, acquire, move || drop(held));
        assert_eq!((before, limit.limit()), (2, 1));
        let seen = (permit.is_some(), limit.in_use());
        drop(permit);
        (seen, limit.in_use())
    });
    assert_eq!(outcomes, BTreeSet::from([((false, 0), 0), ((true, 2), 0)]));
}

/// A limit is raised while someone enters the line: one of the two serves.
#[test]
fn a_raised_limit_beside_entering() {
    let outcomes = explore("permits_raise_enter", || {
        let limit = in_flight(1);
        let _held = taken(limit, 1);
        let mut task = Task::new(limit.acquire());
        let raise = move || limit.set_limit(2).expect("a valid limit");
        let (_, (at_once, mut task)) = race2(raise, move || (task.poll(), task));
        let (is_at_once, wakes) = (at_once.is_some(), task.wakes());
        let permit = at_once.or_else(|| task.poll());
        (is_at_once, wakes, permit.is_some(), limit.in_use())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0, true, 2), (false, 1, true, 2)]));
}
