//! Threads that ask while others change the quota.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tollgate::adjust::{Adjustable, Held};
use tollgate::{Manual, Quota, quota};

const ASKING: u64 = 3;

/// Runs `ask` on several threads, and beside them changes among `quotas` until they are done.
fn beside_changes(limit: &Adjustable<Manual>, quotas: &[Quota], held: Held, ask: impl Fn() + Sync) {
    let (left, ask) = (&AtomicU64::new(ASKING), &ask);
    thread::scope(|scope| {
        for _ in 0..ASKING {
            scope.spawn(move || {
                ask();
                left.fetch_sub(1, Ordering::Release);
            });
        }
        for _ in 0..2 {
            scope.spawn(move || {
                for &quota in quotas.iter().cycle() {
                    limit.adjust(quota, held);
                    if left.load(Ordering::Acquire) == 0 {
                        break;
                    }
                    thread::yield_now();
                }
            });
        }
    });
}

fn pair() -> Vec<Quota> {
    vec![quota!("1/s burst 100000"), quota!("7/min burst 100000")]
}

fn many() -> Vec<Quota> {
    (1..700)
        .map(|tokens| Quota::with_burst(tokens, std::time::Duration::from_secs(7), 100_000).unwrap())
        .collect()
}

/// The clock stands still, so there is nothing but what was there at first.
#[test]
fn no_token_comes_twice_and_none_is_lost() {
    for quotas in [pair(), many()] {
        for held in [Held::Tokens, Held::Deficit, Held::Fraction] {
            let limit = Adjustable::with_clock(quotas[0], Manual::new());
            let admitted = AtomicU64::new(0);
            beside_changes(&limit, &quotas, held, || {
                while limit.try_acquire_n(7).is_ok() {
                    admitted.fetch_add(7, Ordering::Relaxed);
                }
                admitted.fetch_add(limit.acquire_up_to(2), Ordering::Relaxed);
                while limit.try_acquire().is_ok() {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!((admitted.into_inner(), limit.peek().available()), (100_000, 0), "{held:?}");
        }
    }
}

#[test]
fn every_charge_and_every_refund_counts_once() {
    for quotas in [pair(), many()] {
        let limit = Adjustable::with_clock(quotas[0], Manual::new());
        limit.charge(50_000);
        beside_changes(&limit, &quotas, Held::Deficit, || {
            for _ in 0..10_000 {
                limit.charge(3);
                limit.refund(2);
            }
        });
        assert_eq!(limit.peek().available(), 50_000 - 10_000 * ASKING);
    }
}

/// Whoever has paused is obeyed by every call of its own from then on, whatever changes.
#[test]
fn a_pause_outlives_the_changes_beside_it() {
    let limit = Adjustable::with_clock(quota!("1/s burst 100000"), Manual::new());
    let broken = AtomicBool::new(false);
    beside_changes(&limit, &pair(), Held::Tokens, || {
        for until in 1..300 {
            limit.pause_until(crate::support::at(until));
            if (0..20).any(|_| limit.try_acquire_at(crate::support::at(0)).is_ok()) {
                broken.store(true, Ordering::Relaxed);
            }
        }
    });
    assert!(!broken.into_inner());
    assert_eq!(limit.peek().available(), 100_000);
}
