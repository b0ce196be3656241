//! One allowance leased to shards, whose quota changes.

mod bound;
mod stress;

use proptest::prelude::*;
use tollgate::adjust::{Adjustable, Held};
use tollgate::sharded::{Plan, Sharded};
use tollgate::{Denied, Limiter, Manual, Quota, quota};

use crate::support::{S, at, nanos};

type Shard = tollgate::sharded::Shard<Manual, Adjustable<Manual>>;

/// Places enough that each thread of the test has one for its look-ups.
const MANY: u32 = 64;

const HELDS: [Held; 3] = [Held::Tokens, Held::Fraction, Held::Deficit];

fn adjustable(quota: Quota, shards: u32, ceiling: u64) -> Sharded<Manual, Adjustable<Manual>> {
    let plan = Plan::new(&quota, shards, ceiling).unwrap();
    Sharded::adjustable(plan, Manual::new())
}

fn helds() -> impl Strategy<Value = Held> {
    prop_oneof![Just(Held::Tokens), Just(Held::Fraction), Just(Held::Deficit)]
}

/// One token a second, and so many of capacity.
fn slow(capacity: u64) -> Quota {
    quota!("1/s").burst(capacity).unwrap()
}

/// A shard with the credit that a draw from a full root of some hundreds leaves it: `ceiling - 1`.
fn drawn(limit: &Sharded<Manual, Adjustable<Manual>>) -> Shard {
    let shard = limit.shard();
    shard.try_acquire().unwrap();
    shard
}

#[test]
fn the_proportion_is_that_of_the_plan_that_was_made() {
    let limit = adjustable(slow(1000), 4, 50);
    for (capacity, shards, ceiling, root) in [
        (1000, 4, 50, 800),
        (100, 4, 5, 80),
        (119, 4, 5, 99),
        (20, 4, 1, 16),
        (19, 0, 0, 19),
        (1, 0, 0, 1),
        (2000, 4, 100, 1600),
        (tollgate_limit(), 4, tollgate_limit() / 20, tollgate_limit() - tollgate_limit() / 20 * 4),
        (1000, 4, 50, 800),
    ] {
        limit.adjust(slow(capacity), Held::Tokens);
        let plan = limit.plan();
        assert_eq!((plan.shards(), plan.ceiling(), plan.root_capacity()), (shards, ceiling, root));
        assert_eq!((limit.quota(), limit.max_cost()), (slow(capacity), root));
        assert_eq!(
            limit.try_acquire_n(root + 1),
            Err(Denied::OverCapacity { cost: root + 1, capacity: root })
        );
        assert_eq!(plan.is_plain(), ceiling == 0);
    }
}

/// The largest capacity there is.
fn tollgate_limit() -> u64 {
    (1 << 61) - 1
}

#[test]
fn the_choice_is_for_what_the_root_holds() {
    // 800 at the root, and 99 of credit; then the capacity doubles, or is halved.
    for (held, doubled, halved) in
        [(Held::Tokens, 400, 400), (Held::Fraction, 800, 200), (Held::Deficit, 1200, 0)]
    {
        for (capacity, expected) in [(2000, doubled), (500, halved)] {
            let limit = adjustable(slow(1000), 2, 100);
            let shard = drawn(&limit);
            limit.charge(limit.peek().available() - 400);
            limit.adjust(slow(capacity), held);
            assert_eq!(limit.peek().available(), expected, "{held:?}, {capacity}");
            assert_eq!(shard.try_acquire(), Ok(()));
            let kept = if capacity == 500 { 49 } else { 98 };
            assert_eq!((shard.credit(), limit.peek().available()), (kept, expected), "{held:?}, {capacity}");
        }
    }
}

#[test]
fn only_credit_above_the_new_ceiling_is_lost() {
    let limit = adjustable(slow(1000), 2, 100);
    let left = drawn(&limit);
    limit.refund(100);
    let right = drawn(&limit);
    right.try_acquire_n(80).unwrap();
    assert_eq!((left.credit(), right.credit(), limit.peek().available()), (99, 19, 700));
    limit.adjust(slow(400), Held::Tokens);
    assert_eq!((left.credit(), right.credit()), (99, 19), "they learn of it at the next call");
    assert_eq!((left.try_acquire(), right.try_acquire()), (Ok(()), Ok(())));
    assert_eq!((left.credit(), right.credit(), limit.peek().available()), (39, 18, 320));
}

/// A clock that stands still: with tokens kept, changes give nothing, whatever they are and however often.
#[test]
fn what_did_not_fit_does_not_come_back() {
    let limit = adjustable(slow(64_000), MANY, 100);
    let shard = drawn(&limit);
    limit.try_acquire().unwrap();
    for capacity in [3_200, 64_000] {
        limit.adjust(slow(capacity), Held::Tokens);
    }
    // Of each credit 5.
    assert_eq!((shard.try_acquire(), shard.credit()), (Ok(()), 4));
    assert_eq!(limit.peek().available(), 2_880);
    limit.park();
    assert_eq!(limit.peek().available(), 2_885);
}

#[test]
fn what_does_not_fit_is_not_returned() {
    let limit = adjustable(slow(1000), 2, 100);
    let (dropped, parked) = (drawn(&limit), drawn(&limit));
    limit.charge(limit.peek().available());
    limit.adjust(slow(100), Held::Tokens);
    drop(dropped);
    assert_eq!(limit.peek().available(), 10);
    parked.park();
    assert_eq!((parked.credit(), limit.peek().available()), (0, 20));
}

/// Nor is it counted against a handle that came later.
#[test]
fn a_limit_is_for_the_credit_before_it() {
    let limit = adjustable(slow(1000), 1, 100);
    limit.adjust(slow(10), Held::Deficit);
    limit.adjust(slow(1000), Held::Deficit);
    let shard = drawn(&limit);
    assert_eq!(shard.credit(), 99);
    limit.pause_until(at(1));
    limit.resume();
    assert_eq!((shard.try_acquire(), shard.credit()), (Ok(()), 98));
}

#[test]
fn a_capacity_that_is_too_small_makes_a_plain_bucket_until_a_larger_one_comes() {
    let limit = adjustable(slow(1000), 4, 50);
    let shard = drawn(&limit);
    limit.adjust(slow(19), Held::Tokens);
    assert_eq!((limit.plan().is_plain(), limit.max_cost()), (true, 19));
    assert_eq!((shard.try_acquire_n(19), shard.credit()), (Ok(()), 0), "it is the root that admits");
    assert_eq!(shard.try_acquire().unwrap_err().wait(), Some(nanos(S)));
    assert_eq!((shard.acquire_up_to(9), limit.acquire_up_to(9)), (0, 0));
    limit.adjust(slow(1000), Held::Deficit);
    assert_eq!((shard.try_acquire(), shard.credit()), (Ok(()), 47), "a sixteenth of 781, less one");
}

#[test]
fn a_debt_is_the_roots_and_stays() {
    for (held, debt) in [(Held::Tokens, 30), (Held::Fraction, 30), (Held::Deficit, 430)] {
        let limit = adjustable(slow(1000), 2, 100);
        let shard = drawn(&limit);
        limit.charge(limit.peek().available() + 30);
        limit.adjust(slow(500), held);
        assert_eq!(limit.peek().debt(), debt, "{held:?}");
        assert_eq!((shard.try_acquire_n(50), shard.acquire_up_to(1)), (Ok(()), 0), "credit is no debt");
        shard.park();
        assert_eq!(limit.peek().debt(), debt);
    }
}

#[test]
fn the_same_quota_changes_nothing() {
    for held in HELDS {
        let limit = adjustable(slow(64_000), MANY, 100);
        let shard = drawn(&limit);
        limit.try_acquire().unwrap();
        for _ in 0..3 {
            limit.adjust(quota!("60/min burst 64000 empty"), held);
        }
        assert_eq!((shard.try_acquire(), shard.credit(), limit.peek().available()), (Ok(()), 98, 57_400));
        limit.park();
        assert_eq!(limit.peek().available(), 57_499, "{held:?}");
    }
}

#[test]
fn the_rate_alone_leaves_all_credit() {
    let limit = adjustable(slow(1000), 2, 100);
    let shard = drawn(&limit);
    for held in HELDS {
        limit.adjust(quota!("7/s burst 1000"), held);
        limit.adjust(slow(1000), held);
    }
    limit.charge(limit.peek().available());
    limit.adjust(quota!("10/s burst 1000"), Held::Tokens);
    assert_eq!(shard.credit(), 99);
    assert_eq!(shard.try_acquire_n(100).unwrap_err().wait(), Some(nanos(S / 10)));
    assert_eq!(shard.try_acquire_n(99), Ok(()));
}

/// Eight shards that lose a token each leave the root seven more where the whole has one less.
#[test]
fn where_the_root_grows_and_the_whole_does_not_nothing_is_given() {
    for held in HELDS {
        let limit = adjustable(slow(1000), 8, 100);
        let shards: Vec<_> = (0..8).map(|_| limit.shard()).collect();
        for shard in &shards {
            limit.refund(200);
            assert_eq!(shard.try_acquire_n(100), Ok(()));
        }
        // Admitted are 800; 200 are left, and the shards have none.
        limit.refund(200);
        limit.adjust(slow(999), held);
        assert_eq!((limit.max_cost(), limit.acquire_up_to(1000)), (207, 200), "{held:?}");
        limit.adjust(slow(1000), held);
        let debt = if held == Held::Deficit { 7 } else { 0 };
        assert_eq!((limit.max_cost(), limit.peek().debt()), (200, debt), "{held:?}");
    }
}

/// C84, also where ceilings are rounded on the way.
#[test]
fn changes_in_a_circle_give_no_budget() {
    for held in HELDS {
        for circle in [[500, 999, 1000], [999, 500, 1000], [1999, 3, 1000]] {
            let limit = adjustable(slow(1000), 8, 100);
            limit.charge(150);
            for _ in 0..100 {
                for capacity in circle {
                    limit.adjust(slow(capacity), held);
                }
            }
            assert!(limit.peek().available() <= 50, "{held:?}, {circle:?}: {:?}", limit.peek());
        }
    }
}

/// C82 and C85: the new rate counts at once, and changes the rate alone. C83: size and balance change together.
#[test]
fn c82_to_c85_hold_for_the_default_plan() {
    let of = |quota: Quota| Sharded::adjustable(Plan::for_threads(&quota, 4), Manual::new());
    let limit = of(quota!("2/h"));
    limit.try_acquire_n(2).unwrap();
    limit.clock().set(at(600 * S));
    limit.adjust(quota!("10/h"), Held::Tokens);
    assert_eq!(limit.try_acquire().unwrap_err().wait(), Some(nanos(240 * S)));

    let limit = of(quota!("20/min"));
    limit.adjust(quota!("10/min"), Held::Tokens);
    assert_eq!(limit.try_acquire_n(12), Err(Denied::OverCapacity { cost: 12, capacity: 10 }));
    assert_eq!(limit.peek().available(), 10);

    for (held, available) in [(Held::Tokens, 40), (Held::Fraction, 20)] {
        let limit = of(quota!("100/s"));
        limit.charge(limit.peek().available() - 40);
        for quota in [quota!("100/s"); 1000].into_iter().chain([quota!("100/s burst 50"); 1000]) {
            limit.adjust(quota, held);
        }
        assert_eq!(limit.peek().available(), available, "{held:?}");
    }

    let limit = of(quota!("10/s"));
    limit.adjust(quota!("100/s burst 10"), Held::Tokens);
    assert_eq!((0..50).filter(|_| limit.try_acquire().is_ok()).count(), 10);
    assert_eq!(limit.try_acquire().unwrap_err().wait(), Some(nanos(S / 100)));
}

#[test]
fn a_pause_stays_through_a_change() {
    let limit = adjustable(slow(1000), 2, 100);
    let (shard, later) = (drawn(&limit), drawn(&limit));
    limit.charge(limit.peek().available());
    limit.pause_for(nanos(S));
    limit.adjust(slow(500), Held::Tokens);
    for refusal in [shard.try_acquire(), limit.try_acquire()] {
        assert_eq!(refusal.unwrap_err().wait(), Some(nanos(S)));
    }
    assert_eq!((shard.credit(), limit.peek().available()), (0, 50));
    limit.clock().set(at(S));
    assert_eq!((later.try_acquire(), later.credit()), (Ok(()), 49), "the pause is over when it looks");
}

#[test]
fn a_clock_that_panics_leaves_the_old_quota() {
    struct Broken(std::cell::Cell<bool>);
    impl tollgate::Clock for Broken {
        fn now(&self) -> tollgate::Nanos {
            assert!(!self.0.get(), "out of order");
            at(0)
        }
    }
    let plan = Plan::new(&slow(1000), 2, 100).unwrap();
    let limit = Sharded::adjustable(plan, Broken(false.into()));
    limit.clock().0.set(true);
    let change = || limit.adjust(slow(500), Held::Tokens);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(change)).is_err());
    limit.clock().0.set(false);
    assert_eq!((limit.plan(), limit.max_cost()), (plan, 800));
    limit.adjust(slow(1000), Held::Tokens);
    let shard = limit.shard();
    assert_eq!((shard.try_acquire(), shard.credit()), (Ok(()), 99));
}

#[test]
fn they_are_limiters_and_show_what_is_in_force() {
    fn ask(limiter: &impl Limiter) -> [Result<(), Denied>; 2] {
        [limiter.try_acquire_n(2), limiter.try_acquire()]
    }
    let limit = adjustable(slow(1000), 2, 100);
    limit.adjust(slow(500), Held::Tokens);
    assert_eq!((ask(&limit), ask(&limit.shard())), ([Ok(()); 2], [Ok(()); 2]));
    assert_eq!(limit.shard().try_acquire_n(0), Err(Denied::ZeroCost));
    let shown = format!("{limit:?} {:?}", limit.shard());
    assert!(shown.contains("1 per 1s burst 500") || shown.contains("1/s burst 500"), "{shown}");
    assert!(shown.contains("ceiling: 50") && shown.contains("Adjustable"), "{shown}");
}
