//! C82-C85 for a limiter by key: for a key that is known, and, where it is said, for one that is not.

use tollgate::adjust::Held;
use tollgate::keyed::{Keyed, Overflow};
use tollgate::{Denied, Manual, Quota};

use crate::keyed::keyed;
use crate::support::{HOUR, MINUTE, MS, S, at, quota, wait_of};

const HELD: [Held; 3] = [Held::Tokens, Held::Fraction, Held::Deficit];
const KEY: &u64 = &7;

fn limit(quota: Quota) -> Keyed<u64, Manual> {
    keyed(quota, 100, Overflow::Refuse)
}

/// The wait for one token, and the whole tokens that are there.
fn state(limit: &Keyed<u64, Manual>) -> (u64, u64) {
    let level = limit.peek(KEY).unwrap();
    (level.wait_for(1).unwrap().as_nanos() as u64, level.available())
}

#[test]
fn c82_a_raised_limit_counts_at_once_for_a_key() {
    for (held, wait, available) in [(Held::Tokens, 240 * S, 0), (Held::Fraction, 0, 1), (Held::Deficit, 0, 8)]
    {
        let limit = limit(quota(2, HOUR, 2));
        assert_eq!(limit.try_acquire_n(KEY, 2), Ok(()));
        limit.clock().set(at(600 * S));
        assert_eq!(state(&limit), (1200 * S, 0));
        limit.adjust(0, quota(10, HOUR, 10), held).unwrap();
        assert_eq!(state(&limit), (wait, available), "{held:?}");
    }
}

#[test]
fn c83_size_and_balance_of_a_key_change_together() {
    for held in HELD {
        for is_known in [true, false] {
            let limit = limit(quota(20, MINUTE, 20));
            assert!(!is_known || limit.pause_until(KEY, at(0)));
            limit.adjust(0, quota(10, MINUTE, 10), held).unwrap();
            assert_eq!(limit.peek(KEY).is_some(), is_known);
            let refused = limit.try_acquire_n(KEY, 12);
            assert_eq!(refused, Err(Denied::OverCapacity { cost: 12, capacity: 10 }), "{held:?}");
            assert_eq!(limit.try_acquire_n(KEY, 10), Ok(()));
            assert_eq!(limit.try_acquire(KEY).map_err(wait_of), Err(6 * S));
        }
    }
}

#[test]
fn c84_a_change_refills_no_key_and_the_same_again_is_no_change() {
    for (held, available, debt) in [(Held::Tokens, 40, 0), (Held::Fraction, 20, 0), (Held::Deficit, 0, 10)] {
        let limit = limit(quota(100, S, 100));
        limit.charge(KEY, 60);
        for burst in [100, 50] {
            (0..1000).for_each(|_| limit.adjust(0, quota(100, S, burst), held).unwrap());
            assert!(burst == 50 || state(&limit) == (0, 40), "{held:?}");
        }
        let level = limit.peek(KEY).unwrap();
        assert_eq!((level.available(), level.debt()), (available, debt), "{held:?}");
    }
}

/// There and back a thousand times: what is held does not grow; of a full bucket nobody knows, nothing either.
#[test]
fn c84_there_and_back_gives_no_key_budget() {
    for (tokens, period, burst) in [(1, S, 50), (7, 3 * S, 100), (1_000_003, 17 * S, 77), (9, 1, 1 << 40)] {
        for held in HELD {
            let limit = limit(quota(100, S, 100));
            limit.charge(KEY, 60);
            for _ in 0..1000 {
                limit.adjust(0, quota(tokens, period, burst), held).unwrap();
                limit.adjust(0, quota(100, S, 100), held).unwrap();
            }
            let (_, available) = state(&limit);
            assert!(
                (38..=40).contains(&available),
                "{available} after {tokens}/{period} burst {burst}, {held:?}"
            );
            assert_eq!(limit.try_acquire_n(&8, 101), Err(Denied::OverCapacity { cost: 101, capacity: 100 }));
            let full = (0..101).filter(|_| limit.try_acquire(&8).is_ok()).count();
            let least = if held == Held::Tokens { burst.min(98) as usize } else { 98 };
            assert!((least..=100).contains(&full), "{full} after {tokens}/{period} burst {burst}, {held:?}");
        }
    }
}

#[test]
fn c85_the_rate_alone_leaves_the_burst_of_a_key() {
    for held in HELD {
        let limit = limit(quota(10, S, 10));
        limit.adjust(0, quota(100, S, 10), held).unwrap();
        assert_eq!((0..50).filter(|_| limit.try_acquire(KEY).is_ok()).count(), 10);
        assert_eq!(limit.try_acquire(KEY).map_err(wait_of), Err(10 * MS));
    }
}
