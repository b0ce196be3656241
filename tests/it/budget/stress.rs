//! Many threads that reserve, observe and settle at once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use tollgate::Clock;
use tollgate::budget::{Budget, Progress, Unsettled};

use super::{available, built};
use crate::oracle::Oracle;
use crate::support::{S, Scale, over_the_bound, quota};

/// The clock stands still: at the end exactly what was settled is missing.
#[test]
fn nothing_is_lost_and_nothing_made() {
    let budget = built(Budget::builder(quota(1, S, 1_000_000_000)).dropped(Unsettled::Observed));
    let used = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (budget, used) = (&budget, &used);
            scope.spawn(move || {
                for round in 0..2_000_u64 {
                    let mut guard = budget.reserve(100 + thread).unwrap();
                    let actual = match round % 4 {
                        0 => guard.settle(30 + round % 100).unwrap().charged,
                        1 => guard.release().unwrap().charged,
                        2 => {
                            guard.observe_progress(40, Progress::percent(50));
                            40
                        }
                        _ => guard.settle(500).unwrap().charged,
                    };
                    used.fetch_add(actual, Relaxed);
                }
            });
        }
    });
    assert_eq!((available(&budget), budget.open_reservations()), (1_000_000_000 - used.into_inner(), 0));
}

/// On a real clock, with every reservation logged: net cost is within the bound in every interval.
#[test]
fn net_cost_is_within_the_bound() {
    const RATE: u64 = 1_000_000;
    let budget = Budget::new(quota(RATE, S, 1_000));
    let work = |thread: u64| {
        let (mut log, mut held) = (Vec::new(), Vec::new());
        for round in 0..20_000_u64 {
            let now = budget.clock().now();
            if let Ok(guard) = budget.reserve_at(50, now) {
                held.push((now.as_u64(), guard));
            }
            if held.len() > 3 || round % 7 == thread {
                for (now, guard) in held.drain(..held.len() / 2) {
                    let actual = round % 60;
                    let _settled = guard.settle(actual).unwrap();
                    log.push((now, actual.min(50)));
                }
            }
        }
        log.extend(held.into_iter().map(|(now, guard)| (now, guard.charged())));
        log
    };
    let log: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let (admitted, model) = (log.len(), Oracle::new(RATE, S.into(), 1_000));
    assert!(admitted > 20, "the first burst alone is 20: {admitted}");
    assert_eq!(over_the_bound(&log, &model, Scale::of(RATE, S, 1_000)), None);
}

/// Must-show 2 and C64 under threads: exactly one of 58 and 80 is admitted, and none of the 175.
#[test]
fn c64_five_at_once_do_not_share_what_only_one_can_have() {
    for _ in 0..300 {
        let budget = built(Budget::builder(quota(100, 60 * S, 100)));
        let gate = std::sync::Barrier::new(5);
        let mut admitted: Vec<u64> = thread::scope(|scope| {
            let ask = |cost| {
                let (budget, gate) = (&budget, &gate);
                scope.spawn(move || {
                    gate.wait();
                    budget.reserve(cost).map(|guard| guard.keep()).map_or(0, |()| cost)
                })
            };
            [58, 80, 175, 175, 175].map(ask).map(|thread| thread.join().unwrap()).into_iter().collect()
        });
        admitted.retain(|cost| *cost > 0);
        assert!(admitted == [58] || admitted == [80], "{admitted:?}");
    }
}
