//! C63, C65, C66: many threads on one limiter.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Bucket, Clock, Manual, Nanos};

use crate::support::{MINUTE, MS, S, at, bucket, nanos, quota};

/// How many of `calls` parallel calls, all let go at once, are admitted.
fn admitted_of(limit: &Bucket<Manual>, calls: usize) -> usize {
    let gate = Barrier::new(calls);
    let call = || {
        gate.wait();
        limit.try_acquire().is_ok()
    };
    thread::scope(|scope| {
        let calls: Vec<_> = (0..calls).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).filter(|admitted| *admitted).count()
    })
}

#[test]
fn c63_parallel_calls_are_admitted_once_each() {
    assert_eq!(admitted_of(&bucket(quota(10, MINUTE, 10)), 25), 10);
    let nearly_used = bucket(quota(10, MINUTE, 10));
    assert_eq!(nearly_used.try_acquire_n(9), Ok(()));
    assert_eq!(admitted_of(&nearly_used, 10), 1);
    assert_eq!(admitted_of(&bucket(quota(3, MINUTE, 3)), 50), 3);
    for left in 0..=8 {
        let limit = bucket(quota(8, MINUTE, 8));
        assert_eq!(limit.acquire_up_to(8 - left), 8 - left);
        assert_eq!(admitted_of(&limit, 16) as u64, left);
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(2, Into::into)
}

/// Real time, as a user without the feature `std` brings it.
struct Real(Instant);

impl Clock for Real {
    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

#[test]
fn c65_four_threads_a_core_on_a_small_bucket() {
    let limit = Bucket::with_clock(quota(1000, S, 1), Real(Instant::now()));
    let (admitted, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 * cores() {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    admitted.fetch_add(u64::from(limit.try_acquire().is_ok()), Relaxed);
                    assert!(limit.peek().available() <= 1);
                }
            });
        }
        thread::sleep(Duration::from_millis(500));
        stop.store(true, Relaxed);
    });
    let elapsed = limit.clock().now().as_u64();
    let (admitted, most) = (admitted.load(Relaxed), 1 + elapsed / MS);
    assert!(admitted <= most, "{admitted} in {elapsed} ns, at most {most}");
    assert!(admitted >= 100, "{admitted} in {elapsed} ns: nothing was exercised");
}

/// A clock that moves on by 10 us with every reading, whoever takes it.
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> Nanos {
        at(self.0.fetch_add(10_000, Relaxed))
    }
}

#[test]
fn c66_hammering_does_not_wedge_the_bucket() {
    let limit = Bucket::with_clock(quota(10, S, 10), Ticking(AtomicU64::new(0)));
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while begin.elapsed() < Duration::from_millis(400) {
                    let _ = limit.try_acquire();
                }
            });
        }
    });
    let idle = limit.clock().now().as_u64() + S;
    for _ in 0..10 {
        assert_eq!(limit.try_acquire_at(at(idle)), Ok(()));
    }
    let refusal = limit.try_acquire_at(at(idle)).unwrap_err();
    assert_eq!(refusal.wait(), Some(nanos(100 * MS)));
}
