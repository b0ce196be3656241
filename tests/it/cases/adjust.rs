//! C82-C85: rate and capacity changed while the limit is in use.

use tollgate::adjust::{Adjustable, Held};
use tollgate::{Denied, Manual, Quota};

use crate::support::{HOUR, MINUTE, MS, S, at, nanos, quota, wait_of};

const HELD: [Held; 3] = [Held::Tokens, Held::Fraction, Held::Deficit];

fn limit(quota: Quota) -> Adjustable<Manual> {
    Adjustable::with_clock(quota, Manual::new())
}

/// The wait for one token, and the whole tokens that are there.
fn state(limit: &Adjustable<Manual>, now: u64) -> (u64, u64) {
    let level = limit.peek_at(at(now));
    (level.wait_for(1).unwrap().as_nanos() as u64, level.available())
}

#[test]
fn c82_a_raised_limit_counts_at_once() {
    for (held, wait, available) in [(Held::Tokens, 240 * S, 0), (Held::Fraction, 0, 1), (Held::Deficit, 0, 8)]
    {
        let limit = limit(quota(2, HOUR, 2));
        assert_eq!(limit.try_acquire_n_at(2, at(0)), Ok(()));
        assert_eq!(state(&limit, 600 * S), (1200 * S, 0));
        limit.adjust_at(quota(10, HOUR, 10), held, at(600 * S));
        assert_eq!(state(&limit, 600 * S), (wait, available), "{held:?}");
    }
}

/// A third of a token is 1/6 of the old capacity: 5/3 tokens of the new one, or 25/3 with the same 5/3 missing.
#[test]
fn c82_the_parts_of_a_token_too() {
    for (held, missing) in
        [(Held::Tokens, 10 * 360 - 120), (Held::Fraction, 10 * 360 - 600), (Held::Deficit, 600)]
    {
        let limit = limit(quota(2, HOUR, 2));
        limit.charge_at(2, at(0));
        limit.adjust_at(quota(10, HOUR, 10), held, at(600 * S));
        let level = limit.peek_at(at(600 * S));
        assert_eq!(level.time_to_full(), nanos(missing * S), "{held:?}: 360 s a token");
    }
}

#[test]
fn c83_size_and_balance_change_together() {
    for held in HELD {
        let limit = limit(quota(20, MINUTE, 20));
        limit.adjust_at(quota(10, MINUTE, 10), held, at(0));
        let refused = limit.try_acquire_n_at(12, at(0));
        assert_eq!(refused, Err(Denied::OverCapacity { cost: 12, capacity: 10 }), "{held:?}");
        assert_eq!((state(&limit, 0), limit.quota()), ((0, 10), quota(10, MINUTE, 10)));
        assert_eq!(limit.try_acquire_n_at(10, at(0)), Ok(()));
        assert_eq!(wait_of(limit.try_acquire_at(at(0)).unwrap_err()), 6 * S);
    }
}

#[test]
fn c84_a_change_refills_nothing_and_the_same_again_is_no_change() {
    for (held, available, debt) in [(Held::Tokens, 40, 0), (Held::Fraction, 20, 0), (Held::Deficit, 0, 10)] {
        let limit = limit(quota(100, S, 100));
        limit.charge_at(60, at(0));
        let before = format!("{limit:?}");
        for _ in 0..1000 {
            limit.adjust_at(quota(100, S, 100), held, at(0));
        }
        assert_eq!((state(&limit, 0), format!("{limit:?}")), ((0, 40), before));
        limit.adjust_at(quota(100, S, 50), held, at(0));
        for _ in 0..1000 {
            limit.adjust_at(quota(100, S, 50), held, at(0));
        }
        let level = limit.peek_at(at(0));
        assert_eq!((level.available(), level.debt()), (available, debt), "{held:?}");
    }
}

/// There and back a thousand times: what is held does not grow, whatever the two quotas are.
#[test]
fn c84_there_and_back_gives_no_budget() {
    for (tokens, period, burst) in [(1, S, 50), (7, 3 * S, 100), (1_000_003, 17 * S, 77), (9, 1, 1 << 40)] {
        for held in HELD {
            let limit = limit(quota(100, S, 100));
            limit.charge_at(60, at(0));
            for _ in 0..1000 {
                limit.adjust_at(quota(tokens, period, burst), held, at(0));
                limit.adjust_at(quota(100, S, 100), held, at(0));
            }
            let (_, available) = state(&limit, 0);
            assert!(
                (38..=40).contains(&available),
                "{available} after {tokens}/{period} burst {burst}, {held:?}"
            );
        }
    }
}

#[test]
fn c85_the_rate_alone_leaves_the_burst() {
    for held in HELD {
        let limit = limit(quota(10, S, 10));
        limit.adjust_at(quota(100, S, 10), held, at(0));
        let admitted = (0..50).filter(|_| limit.try_acquire_at(at(0)).is_ok()).count();
        assert_eq!(admitted, 10);
        assert_eq!(wait_of(limit.try_acquire_at(at(0)).unwrap_err()), 10 * MS);
    }
}
