//! Threads that spend and draw while the quota changes. The clock stands still, or time would hide what is minted.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tollgate::adjust::Held;
use tollgate::{Manual, Quota, quota};

use super::{adjustable, slow};

const ASKING: u64 = 4;

type Sharded = tollgate::sharded::Sharded<Manual, tollgate::adjust::Adjustable<Manual>>;

/// Runs `ask` on several threads, and beside them changes among `quotas` until they are done. The sum of what was admitted.
fn beside_changes(limit: &Sharded, quotas: &[Quota], held: Held, ask: impl Fn(u64) -> u64 + Sync) -> u64 {
    let (left, ask) = (&AtomicU64::new(ASKING), &ask);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..ASKING)
            .map(|thread| {
                scope.spawn(move || {
                    let admitted = ask(thread);
                    left.fetch_sub(1, Ordering::Release);
                    admitted
                })
            })
            .collect();
        scope.spawn(move || {
            for &quota in quotas.iter().cycle() {
                limit.adjust(quota, held);
                if left.load(Ordering::Acquire) == 0 {
                    break;
                }
                thread::yield_now();
            }
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// By handle, by look-up, and by a new handle now and then: until nothing is left.
fn spend(limit: &Sharded, thread: u64) -> u64 {
    let mut admitted = 0;
    let mut shard = limit.shard();
    for call in 0.. {
        let taken = match (thread % 2, call % 64) {
            (0, 63) => {
                shard.park();
                limit.acquire_up_to(5)
            }
            (0, _) => limit.acquire_up_to(3),
            (_, 63) => {
                shard = limit.shard();
                shard.acquire_up_to(5)
            }
            _ => u64::from(shard.try_acquire_n(3).is_ok()) * 3,
        };
        admitted += taken;
        if taken == 0 && limit.acquire_up_to(1) == 0 && shard.acquire_up_to(1) == 0 {
            break;
        }
        if call > 20_000 {
            break;
        }
    }
    limit.park();
    admitted
}

/// Until nothing is left, by handle and by look-up. Credit goes back at the end.
fn spend_all(limit: &Sharded) -> u64 {
    let shard = limit.shard();
    let mut admitted = 0;
    while shard.try_acquire_n(3).is_ok() || limit.try_acquire_n(3).is_ok() {
        admitted += 3;
    }
    limit.park();
    admitted
}

/// Changes of the rate alone lose nothing and give nothing.
#[test]
fn no_token_comes_twice_and_none_is_lost() {
    let quotas = [quota!("1/s burst 1000000"), quota!("7/min burst 1000000")];
    for held in [Held::Tokens, Held::Deficit, Held::Fraction] {
        let limit = adjustable(quotas[0], 3, 10_000);
        let admitted = beside_changes(&limit, &quotas, held, |_| spend_all(&limit));
        assert_eq!(admitted + limit.peek().available(), 970_000, "{held:?}");
    }
}

/// Nor do ceilings that fall and rise above all that is drawn: a sixteenth of 300 000 at most.
#[test]
fn ceilings_that_are_not_reached_take_nothing() {
    let quotas = [slow(1_000_000), slow(500_000), slow(600_001)];
    let limit = adjustable(quotas[0], 3, 100_000);
    limit.charge(400_000);
    let admitted = beside_changes(&limit, &quotas, Held::Tokens, |_| spend_all(&limit));
    assert_eq!(admitted + limit.peek().available(), 300_000);
}

/// With tokens kept no change gives anything, whatever becomes of the capacity.
#[test]
fn no_more_than_there_was_at_first() {
    let quotas: Vec<_> = [10_000, 100, 9_999, 10, 20_000, 300, 5_000].map(slow).to_vec();
    for round in 0..40 {
        let limit = adjustable(slow(10_000), 3, 1_000);
        let admitted = beside_changes(&limit, &quotas, Held::Tokens, |thread| spend(&limit, thread + round));
        limit.park();
        let there = limit.peek().available();
        assert!(admitted + there <= 7_000, "{admitted} and {there}");
        assert!(admitted > 0);
    }
}

/// Calls that happen after a change find no more than the new capacity, at the root and in all shards together.
#[test]
fn what_comes_after_a_change_fits_into_the_new_capacity() {
    for round in 0..50 {
        let limit = adjustable(slow(10_000), 4, 1_000);
        let (changed, start) = (AtomicBool::new(false), Barrier::new(5));
        let after = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let (shard, changed, start) = (limit.shard(), &changed, &start);
                    scope.spawn(move || {
                        start.wait();
                        let mut after = 0;
                        for _ in 0..1_000 {
                            let seen = changed.load(Ordering::Acquire);
                            let admitted = shard.try_acquire().is_ok();
                            after += u64::from(seen && admitted);
                        }
                        after
                    })
                })
                .collect();
            start.wait();
            limit.adjust(slow(40 + round), Held::Fraction);
            changed.store(true, Ordering::Release);
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
        });
        assert!(after <= 40 + round, "{after} of {}", 40 + round);
    }
}
