//! All cores at once: exact totals, and the law in every window or interval.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate::Manual;
use tollgate::window::{Algorithm, Windowed};

use super::{at, counter, fixed, log};

const THREADS: u64 = 4;

/// Every thread's admissions, in time that all of them push on.
fn admissions<A: Algorithm + Sync>(limit: &Windowed<A, Manual>, calls: u64, step: u64) -> Vec<(u64, u64)> {
    let time = AtomicU64::new(0);
    let one = |thread: u64| {
        let mut admitted = Vec::new();
        for call in 0..calls {
            let now = time.fetch_add(step, Ordering::Relaxed);
            if call % 64 == thread {
                // So that others' readings are older or newer by more than a step.
                thread::yield_now();
            }
            let cost = 1 + (call + thread) % 3;
            if limit.try_acquire_n_at(cost, at(now)).is_ok() {
                admitted.push((now, cost));
            }
        }
        admitted
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || one(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_unstable();
    assert!(!all.is_empty());
    all
}

/// The most that any interval shorter than `length` holds.
fn most_in_any(length: u64, admitted: &[(u64, u64)]) -> u64 {
    let (mut first, mut held, mut most) = (0, 0, 0);
    for &(now, cost) in admitted {
        held += cost;
        while admitted[first].0 + length <= now {
            held -= admitted[first].1;
            first += 1;
        }
        most = most.max(held);
    }
    most
}

#[test]
fn a_log_holds_in_every_interval() {
    let limit = log(50, 10_000);
    let admitted = admissions(&limit, 20_000, 37);
    assert!(most_in_any(10_000, &admitted) <= 50);
    assert!(limit.entries() <= 50);
}

#[test]
fn fixed_windows_hold_in_every_window() {
    let admitted = admissions(&fixed(50, 10_000), 20_000, 37);
    for window in admitted.chunk_by(|one, next| one.0 / 10_000 == next.0 / 10_000) {
        assert!(window.iter().map(|(_, cost)| cost).sum::<u64>() <= 50);
    }
}

#[test]
fn the_counter_keeps_a_buckets_bound() {
    let admitted = admissions(&counter(7, 10_000), 20_000, 137);
    // A leaky bucket that is never asked for permission, in ten-thousandths of a token.
    let (mut level, mut last) = (0_u64, 0);
    for (now, cost) in admitted {
        level = level.saturating_sub(7 * (now - last)) + cost * 10_000;
        last = now;
        assert!(level <= 7 * 10_000);
    }
}

/// At a clock that stands still, exactly the limit is admitted, with refunds in between.
fn exact_total<A: Algorithm + Sync>(limit: &Windowed<A, Manual>) {
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for call in 0..5000 {
                    if limit.try_acquire_at(at(5)).is_ok() {
                        admitted.fetch_add(1, Ordering::Relaxed);
                        if call % 2 == 0 {
                            admitted.fetch_sub(1, Ordering::Relaxed);
                            limit.refund(1, at(5));
                        }
                    }
                }
            });
        }
    });
    assert_eq!(limit.peek_at(at(5)).used(), admitted.load(Ordering::Relaxed));
    while limit.try_acquire_at(at(5)).is_ok() {
        admitted.fetch_add(1, Ordering::Relaxed);
    }
    assert_eq!(admitted.load(Ordering::Relaxed), limit.limit());
}

#[test]
fn exactly_the_limit_is_admitted_at_once() {
    exact_total(&fixed(255, 1000));
    exact_total(&counter(7, 1000));
}

#[test]
fn a_log_admits_exactly_the_limit_at_once() {
    exact_total(&log(300, 1000));
}
