//! C52, C54, C78, C79, C104 to C110, C113: permits, and those who wait for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use tollgate::inflight::{InFlight, Joint, NoPermit, OwnedPermit, Unjoined};
use tollgate::{Bucket, Manual, Quota};

use crate::inflight::Task;

fn limit(limit: u32) -> Arc<InFlight> {
    Arc::new(InFlight::new(limit).unwrap())
}

#[test]
fn c52_light_calls_do_not_starve_a_heavy_one() {
    for heavy in 2..=10 {
        let limit = limit(10);
        let mut held: Vec<_> = (0..10).map(|_| limit.try_acquire().unwrap()).collect();
        let mut big = Task::pending(limit.acquire_n(heavy));
        let mut small: Vec<_> = (0..10).map(|_| Task::pending(limit.acquire())).collect();
        for released in 1..=heavy {
            held.pop();
            assert!(limit.try_acquire().is_err() && small.iter_mut().all(|task| task.poll().is_none()));
            assert_eq!(big.wakes(), u64::from(released == heavy));
        }
        let _big = big.poll().expect("its weight is free").unwrap();
        held.pop();
        assert_eq!(small[0].poll().is_some(), heavy < 10);
    }
}

#[test]
fn c54_a_cancelled_waiter_frees_its_place_at_once() {
    for depth in 1..4 {
        let limit = InFlight::new(1).unwrap().max_waiting(depth);
        let _held = limit.try_acquire().unwrap();
        let mut tasks: Vec<_> = (0..depth).map(|_| Task::pending(limit.acquire())).collect();
        assert!(matches!(Task::new(limit.acquire()).poll(), Some(Err(NoPermit::LineFull { .. }))));
        tasks.pop();
        let _next = Task::pending(limit.acquire());
    }
}

/// A response: the head is handed to the client, the permit lives in the body.
struct Body {
    chunks: u32,
    _permit: OwnedPermit,
}

fn respond(limit: &Arc<InFlight>, chunks: u32) -> Result<Body, NoPermit> {
    Ok(Body { chunks, _permit: limit.try_acquire_owned()? })
}

impl Iterator for Body {
    type Item = Result<u32, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        self.chunks = self.chunks.checked_sub(1)?;
        Some(if self.chunks == 7 { Err("broken") } else { Ok(self.chunks) })
    }
}

#[test]
fn c78_the_slot_is_held_until_the_body_ends() {
    let limit = limit(2);
    let mut body = respond(&limit, 30).unwrap();
    for _ in 0..30 {
        assert!(body.next().is_some());
        assert_eq!(limit.in_use(), 1);
    }
    assert!(body.next().is_none());
    drop(body);
    assert_eq!(limit.in_use(), 0);
}

#[test]
fn c79_a_body_dropped_mid_stream_frees_the_slot() {
    let limit = limit(1);
    for chunks in 1..10 {
        let mut body = respond(&limit, chunks).unwrap();
        body.next();
        drop(body);
        assert_eq!(limit.in_use(), 0);
    }
}

#[test]
fn c104_the_gauge_returns_to_zero_whatever_ends_a_request() {
    let limit = limit(50);
    let mut tasks: Vec<_> = (0..50)
        .map(|_| {
            let permit = limit.acquire_owned();
            Task::pending(async move {
                let _permit = permit.await.unwrap();
                std::future::pending::<()>().await;
            })
        })
        .collect();
    assert_eq!(limit.in_use(), 50);
    let panicking = tasks.pop();
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _in_the_middle = panicking;
        panic!("one of them");
    }));
    assert!(panicked.is_err());
    for left in (0..49).rev() {
        tasks.pop();
        assert_eq!(limit.in_use(), left);
    }
}

#[test]
fn c105_the_gauge_stands_under_total_rejection() {
    for in_flight in [1, 10, 64] {
        let limit = limit(in_flight);
        let _held: Vec<_> = (0..in_flight).map(|_| limit.try_acquire_owned().unwrap()).collect();
        let rejected = (0..100).filter(|_| limit.try_acquire().is_err()).count();
        assert_eq!((rejected, limit.in_use()), (100, in_flight));
    }
}

#[test]
fn c106_the_permit_lives_as_long_as_the_body() {
    let limit = limit(2);
    // Read to the end, dropped in the middle, broken, and empty: each frees one place and no more.
    for chunks in [3, 5, 9, 0] {
        let (mut ends, other) = (respond(&limit, chunks).unwrap(), respond(&limit, 1).unwrap());
        assert!(respond(&limit, 1).is_err());
        let mut third = Task::pending(limit.acquire());
        let mut fourth = Task::pending(limit.acquire());
        assert_eq!(ends.by_ref().take(3).filter(|chunk| chunk.is_err()).count(), usize::from(chunks == 9));
        drop(ends);
        let third = third.poll().expect("one place").unwrap();
        assert!(fourth.poll().is_none());
        drop((third, fourth, other));
        assert_eq!(limit.in_use(), 0);
    }
}

/// Eight clones of one limit make sure of their turn first and work later: whoever is ready holds a permit, and gives it back
/// unused. While all is busy nobody is woken.
#[test]
fn c107_who_is_ready_holds_a_permit() {
    let limit = limit(4);
    let mut turns: Vec<_> = (0..8).map(|_| Task::new(Arc::clone(&limit).acquire_owned())).collect();
    let mut ready: Vec<_> = turns.iter_mut().filter_map(Task::poll).map(Result::unwrap).collect();
    assert_eq!((ready.len(), limit.in_use()), (4, 4));
    for _ in 0..10 {
        assert_eq!(turns[4..].iter_mut().filter_map(Task::poll).count(), 0);
    }
    assert!(turns[4..].iter().all(|turn| turn.wakes() == 0), "nothing came free");
    for next in &mut turns[4..] {
        drop(ready.remove(0));
        assert_eq!(next.wakes(), 1, "one was ready and is dropped");
        ready.push(next.poll().expect("its turn").unwrap());
        assert_eq!((ready.len(), limit.in_use()), (4, 4));
    }
    drop(ready);
    assert_eq!(limit.in_use(), 0);
}

#[test]
fn c108_a_saturated_limit_shrinks() {
    for (in_flight, lowered) in [(10, 4), (10, 1), (3, 2), (64, 63)] {
        let limit = limit(in_flight);
        let mut held: Vec<_> = (0..in_flight).map(|_| limit.try_acquire().unwrap()).collect();
        let mut waiting = Task::pending(limit.acquire());
        limit.set_limit(lowered).unwrap();
        for released in 1..=in_flight - lowered {
            held.pop();
            assert!(waiting.poll().is_none() && limit.try_acquire().is_err(), "release {released}");
            assert_eq!(limit.in_use(), in_flight - released);
        }
        held.pop();
        let _one = waiting.poll().expect("one release more").unwrap();
        assert!(limit.try_acquire().is_err());
        assert_eq!(limit.in_use(), lowered);
    }
}

/// The numbers of the case, with work that takes a second in place of a token a second.
#[tokio::test(start_paused = true)]
async fn c109_every_waiter_is_woken_in_its_turn() {
    let (limit, start) = (limit(1), tokio::time::Instant::now());
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let limit = Arc::clone(&limit);
            tokio::spawn(async move {
                let _permit = limit.acquire().await.unwrap();
                let served = start.elapsed().as_secs();
                tokio::time::sleep(Duration::from_secs(1)).await;
                served
            })
        })
        .collect();
    let mut served = Vec::new();
    for task in tasks {
        served.push(task.await.unwrap());
    }
    assert_eq!(served, [0, 1, 2, 3, 4, 5]);
}

/// Ten thousand races of a release against a cancel, on two threads, with and without another one in line.
#[test]
fn c110_a_permit_handed_to_a_cancelled_waiter_is_not_lost() {
    let (limit, start) = (limit(1), Barrier::new(2));
    let mut handed = 0;
    for turn in 0..10_000 {
        let held = limit.try_acquire_owned().unwrap();
        let waiter = Task::pending(limit.acquire_owned());
        let mut next = (turn % 2 == 0).then(|| Task::pending(limit.acquire_owned()));
        let woken = thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                drop(held);
            });
            start.wait();
            let woken = waiter.wakes();
            drop(waiter);
            woken
        });
        handed += woken;
        if let Some(next) = &mut next {
            drop(next.poll().expect("it was next").unwrap());
        }
        assert_eq!((limit.in_use(), limit.available(), limit.waiting()), (0, 1, 0), "turn {turn}");
    }
    println!("{handed} were handed over before the cancel");
}

#[test]
fn c113_a_call_refused_in_flight_is_not_charged_to_the_rate() {
    let clock = Manual::new();
    let rate = Bucket::with_clock(Quota::per_minute(2).unwrap(), &clock);
    let running = limit(1);
    let joint = Joint::new(&rate, &running);
    let left = || rate.peek().available();
    let a = joint.try_acquire().unwrap();
    assert_eq!(left(), 1);
    assert!(matches!(joint.try_acquire(), Err(Unjoined::InFlight(_))));
    assert_eq!(left(), 1);
    drop(a);
    clock.advance(Duration::from_secs(1));
    let c = joint.try_acquire().unwrap();
    assert_eq!(left(), 0);
    drop(c);
    // The other way round: refused by the rate, and no permit is kept.
    assert!(matches!(joint.try_acquire(), Err(Unjoined::Rate(_))));
    assert_eq!((left(), running.in_use()), (0, 0));
}
