//! Many threads on one bucket, every admission logged with the reading that its own call took, every interval checked.
//!
//! The same checks are put to a limiter that looks first and takes afterwards. It must fail them.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tollgate::{Bucket, Clock, Monotonic, Nanos, Quota};

use crate::oracle::Oracle;
use crate::support::{Admission, MS, S, Scale, at, bucket, over_the_bound, quota};

/// What is put under stress.
trait Admits: Sync {
    fn admits(&self, cost: u64, now: Nanos) -> bool;
}

impl<C: Clock + Sync> Admits for Bucket<C> {
    fn admits(&self, cost: u64, now: Nanos) -> bool {
        self.try_acquire_n_at(cost, now).is_ok()
    }
}

/// The known-bad twin: the same rule on a token a millisecond, but between the look and the taking others look too.
struct CheckThenAct {
    arrival: AtomicU64,
    capacity: u64,
}

impl Admits for CheckThenAct {
    fn admits(&self, cost: u64, now: Nanos) -> bool {
        let ahead = self.arrival.load(Relaxed).max(now.as_u64());
        let next = ahead + cost * MS;
        if next > now.as_u64() + self.capacity * MS {
            return false;
        }
        thread::yield_now();
        self.arrival.store(next, Relaxed);
        true
    }
}

/// All cores, and four threads a core.
fn thread_counts() -> [usize; 2] {
    let cores = thread::available_parallelism().map_or(2, Into::into);
    [cores.max(2), 4 * cores.max(2)]
}

/// Runs `work` on so many threads, let go together, and puts what they logged together.
fn together<T: Send>(threads: usize, work: impl Fn(u64) -> Vec<T> + Sync) -> Vec<T> {
    let gate = Barrier::new(threads);
    let work = |thread| {
        gate.wait();
        work(thread)
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads as u64).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Costs of 1 to 5 in an order of the thread's own.
fn costs(seed: u64) -> impl Iterator<Item = u64> {
    let mut bits = seed;
    std::iter::repeat_with(move || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (bits >> 33) % 5
    })
}

/// Calls without pause for `span`, on so many threads.
fn hammer(limit: &impl Admits, threads: usize, span: Duration) -> Vec<Admission> {
    let (clock, begin) = (Monotonic::new(), Monotonic::new().now());
    let end = begin.saturating_add(span.into());
    together(threads, |thread| {
        let mut admitted = Vec::new();
        for cost in costs(thread) {
            let now = clock.now();
            if now > end {
                break;
            }
            if limit.admits(cost, now) {
                admitted.push((now.as_u64(), cost));
            }
        }
        admitted
    })
}

#[test]
fn every_interval_is_within_the_bound() {
    let quotas =
        [(1000, S, 10), (1_000_000, S, 5), (3_333_333, S, 100), (9, 1_000_003, 7), (100_000_000, S, 1000)];
    for (tokens, period, burst) in quotas {
        for threads in thread_counts() {
            let limit = Bucket::new(quota(tokens, period, burst));
            let admitted = hammer(&limit, threads, Duration::from_millis(100));
            let (model, scale) =
                (Oracle::new(tokens, period.into(), burst), Scale::of(tokens, period, burst));
            assert_eq!(over_the_bound(&admitted, &model, scale), None, "{limit:?}, {threads} threads");
            let total: u64 = admitted.iter().map(|(_, cost)| cost).sum();
            assert!(total > burst, "refill was seen: {total} of {limit:?}");
        }
    }
}

/// Partial takes, charges and their undoing, all at once: what is admitted and kept stays within the bound.
#[test]
fn partial_takes_and_undone_charges_are_within_the_bound() {
    let (tokens, burst) = (100_000, 50);
    for threads in thread_counts() {
        let limit = Bucket::new(quota(tokens, S, burst));
        let end = limit.clock().now().saturating_add(Duration::from_millis(200).into());
        let admitted = together(threads, |thread| {
            let mut admitted = Vec::new();
            for cost in costs(thread) {
                let now = limit.clock().now();
                if now > end {
                    break;
                }
                match cost {
                    1 => admitted.push((now.as_u64(), limit.acquire_up_to_at(3, now))),
                    2 => drop(limit.try_charge_at(2, now).map(|charge| charge.undo())),
                    _ if limit.try_acquire_n_at(cost, now).is_ok() => admitted.push((now.as_u64(), cost)),
                    _ => {}
                }
            }
            admitted
        });
        let (model, scale) = (Oracle::new(tokens, S.into(), burst), Scale::of(tokens, S, burst));
        assert_eq!(over_the_bound(&admitted, &model, scale), None, "{limit:?}, {threads} threads");
    }
}

/// How many of the calls on all threads are admitted while the clock stands.
fn admitted_at_a_frozen_clock(limit: &impl Admits, threads: usize, calls: u64, cost: u64) -> u64 {
    let admitted = together(threads, |_| (0..calls).filter(|_| limit.admits(cost, at(S))).collect());
    admitted.len() as u64
}

#[test]
fn while_the_clock_stands_exactly_what_fits_is_admitted() {
    for threads in thread_counts() {
        for cost in [1, 2, 3, 7] {
            for round in 0..25 {
                let burst = 40 + round;
                let limit = bucket(quota(1, S, burst));
                let admitted = admitted_at_a_frozen_clock(&limit, threads, burst, cost);
                assert_eq!(admitted, burst / cost, "{threads} threads, cost {cost} of {burst}");
                assert_eq!(limit.peek_at(at(S)).available(), burst % cost);
            }
        }
    }
}

/// Tokens are neither minted nor lost when takes and refunds meet: what is missing at the end is what was kept.
#[test]
fn takes_and_refunds_add_up() {
    for threads in thread_counts() {
        let limit = bucket(quota(1, 365 * 86_400 * S, 60));
        let kept = together(threads, |thread| {
            let mut kept = Vec::new();
            for cost in costs(thread).take(2000) {
                if limit.try_acquire_n_at(cost, at(0)).is_ok() {
                    limit.refund_at(cost, at(0));
                }
                kept.push(limit.acquire_up_to_at(u64::from(cost == 5), at(0)));
            }
            kept
        });
        assert_eq!(limit.peek_at(at(0)).available(), 60 - kept.iter().sum::<u64>());
    }
}

#[test]
fn a_pause_is_obeyed_by_every_call_after_it() {
    let limit = Bucket::new(Quota::per_second(1_000_000_000).unwrap());
    let until = limit.clock().now().saturating_add(Duration::from_millis(50).into());
    limit.pause_until(until);
    let admitted = hammer(&limit, thread_counts()[0], Duration::from_millis(100));
    assert!(admitted.iter().all(|(reading, _)| *reading >= until.as_u64()));
    assert!(!admitted.is_empty(), "and ends");
}

#[test]
fn looking_first_and_taking_afterwards_is_caught() {
    let broken = || CheckThenAct { arrival: AtomicU64::new(0), capacity: 40 };
    let threads = thread_counts()[1];
    let alone = admitted_at_a_frozen_clock(&broken(), 1, 100, 1);
    assert_eq!(alone, 40, "one thread alone it limits well");
    let caught = |round: u32| {
        let too_many = admitted_at_a_frozen_clock(&broken(), threads, 40, 1) != 40;
        let model = Oracle::new(1, MS.into(), 40);
        let admitted = hammer(&broken(), threads, Duration::from_millis(5));
        let over = over_the_bound(&admitted, &model, Scale::of(1, MS, 40)).is_some();
        (too_many && over).then_some(round)
    };
    assert!((0..200).find_map(caught).is_some(), "both checks pass a limiter that looks first");
}
