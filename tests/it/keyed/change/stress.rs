//! Threads that ask, sweep and insert while the quota changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate::adjust::Held;
use tollgate::keyed::{Keyed, Overflow};
use tollgate::{Manual, Quota, quota};

use super::{HELD, keyed};

const ASKING: u64 = 3;

/// Both take a day for a token, so that nothing is issued; a token has not the same number of units under both.
const PAIR: [Quota; 2] = [quota!("1/day burst 10000"), quota!("3/day burst 10000")];

/// Runs `ask` on several threads, and beside them changes and sweeps until they are done.
fn beside_changes(limit: &Keyed<u64, Manual>, held: Held, ask: impl Fn(u64) + Sync) {
    let (left, ask) = (&AtomicU64::new(ASKING), &ask);
    let change = || {
        for &quota in PAIR.iter().rev().cycle() {
            limit.adjust(0, quota, held).unwrap();
            limit.sweep();
            if left.load(Ordering::Acquire) == 0 {
                break;
            }
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        for thread in 0..ASKING {
            scope.spawn(move || {
                ask(thread);
                left.fetch_sub(1, Ordering::Release);
            });
        }
        scope.spawn(change);
        scope.spawn(change);
    });
}

/// The clock stands still, so each key has nothing but what was there at first, known or not.
#[test]
fn no_token_comes_twice_and_none_is_lost() {
    const KEYS: u64 = 40;
    for held in HELD {
        let limit = keyed(PAIR[0], KEYS as usize, Overflow::Refuse);
        let admitted: Vec<_> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
        beside_changes(&limit, held, |thread| {
            for key in (0..KEYS).map(|key| (key + thread * 13) % KEYS) {
                for cost in [97, 1] {
                    while limit.try_acquire_n(&key, cost).is_ok() {
                        admitted[key as usize].fetch_add(cost, Ordering::Relaxed);
                    }
                }
            }
        });
        let admitted: Vec<_> = admitted.into_iter().map(AtomicU64::into_inner).collect();
        assert_eq!(admitted, vec![10_000; KEYS as usize], "{held:?}");
    }
}

#[test]
fn every_charge_and_every_refund_counts_once() {
    let limit = keyed(PAIR[0], 10, Overflow::Refuse);
    (0..10).for_each(|key| limit.charge(&key, 5_000));
    beside_changes(&limit, Held::Deficit, |_| {
        for round in 0..3_000 {
            limit.charge(&(round % 10), 3);
            limit.refund(&(round % 10), 2);
        }
    });
    for key in 0..10 {
        assert_eq!(limit.peek(&key).map(|level| level.available()), Some(5_000 - 300 * ASKING), "key {key}");
    }
}
