//! An allowance whose quota changes while shards spend and draw. A capacity of 40 is divided as 32 for the root and 4 for each
//! of two shards, one of 10 as 8 and 1. The clock stands still.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::adjust::{Adjustable, Held};
use tollgate::sharded::Plan;
use tollgate::{Manual, Quota};
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{at, explore, leak, race2, race3};

type Clock = &'static Manual;
type Sharded = tollgate::sharded::Sharded<Clock, Adjustable<Clock>>;
type Shard = tollgate::sharded::Shard<Clock, Adjustable<Clock>>;

fn quota(capacity: u64) -> Quota {
    Quota::with_burst(1, Duration::from_nanos(1), capacity).expect("a valid quota")
}

fn sharded() -> &'static Sharded {
    let plan = Plan::new(&quota(40), 2, 4).expect("a valid plan");
    leak(Sharded::adjustable(plan, leak(Manual::new())))
}

/// A shard with three tokens of credit, and `there` at the root.
fn drawn(limit: &'static Sharded, there: u64) -> Shard {
    let shard = limit.shard();
    assert_eq!((shard.try_acquire(), shard.credit()), (Ok(()), 3));
    limit.charge(limit.peek().available() - there);
    shard
}

/// What the shard still has when it has looked up, and what is at the root.
fn left(limit: &Sharded, shard: &Shard) -> (u64, u64) {
    assert_eq!(shard.acquire_up_to(0), 0);
    (shard.credit(), limit.peek().available())
}

/// Of three tokens the shard keeps one, before it spends one or after.
#[test]
fn beside_a_spend() {
    let outcomes = explore("shards_change_spend", || {
        let limit = sharded();
        let shard = drawn(limit, 5);
        let ask = move || (shard.try_acquire().is_ok(), shard);
        let ((), (admitted, shard)) = race2(|| limit.adjust(quota(10), Held::Tokens), ask);
        (admitted, left(limit, &shard))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, (1, 5)), (true, (0, 5))]));
}

/// A shard that draws has drawn by the ceiling of before, and keeps one token, or by the new one. It has caught up with a
/// pause, long over, at any moment of the change.
#[test]
fn beside_a_draw() {
    let outcomes = explore("shards_change_draw", || {
        let limit = sharded();
        let shard = limit.shard();
        limit.pause_until(at(0));
        let ask = move || (shard.try_acquire().is_ok(), shard);
        let ((), (admitted, shard)) = race2(|| limit.adjust(quota(10), Held::Tokens), ask);
        (admitted, left(limit, &shard))
    });
    let all = [
        // Four before the change: of the 28 that are left at the root 8 fit, and of the three that it has one.
        (true, (1, 8)),
        // One by the new ceiling, before the root has changed, or after.
        (true, (0, 8)),
        (true, (0, 7)),
        // Four by the old one, after: an eighth of 8 is one.
    ];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// Down and up again: what did not fit in between does not come back, and the root keeps what fits.
#[test]
fn down_and_up_beside_a_spend() {
    let outcomes = explore("shards_change_down_and_up", || {
        let limit = sharded();
        let shard = drawn(limit, 5);
        let ask = move || (shard.try_acquire().is_ok(), shard);
        let change = || {
            limit.adjust(quota(10), Held::Tokens);
            limit.adjust(quota(40), Held::Tokens);
        };
        let ((), (admitted, shard)) = race2(change, ask);
        (admitted, left(limit, &shard))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, (1, 5)), (true, (0, 5))]));
}

/// Two changes at once, in one order or the other, beside a shard that spends.
#[test]
fn two_changes_beside_a_spend() {
    let outcomes = explore("shards_two_changes", || {
        let limit = sharded();
        let shard = drawn(limit, 5);
        let change = |capacity| move || limit.adjust(quota(capacity), Held::Tokens);
        let ask = move || (shard.try_acquire().is_ok(), shard);
        let ((), (), (admitted, shard)) = race3(change(10), change(20), ask);
        assert_eq!(limit.max_cost(), limit.plan().root_capacity());
        (admitted, limit.max_cost(), left(limit, &shard))
    });
    assert!(
        outcomes.iter().all(|&(admitted, _, (credit, root))| admitted && credit <= 1 && root == 5),
        "{outcomes:?}"
    );
    let ends: BTreeSet<_> = outcomes.iter().map(|outcome| outcome.1).collect();
    assert_eq!(ends, BTreeSet::from([8, 16]));
}

/// A call that happens after a change finds no more than the new ceiling.
#[test]
fn what_happens_after_obeys_it() {
    let outcomes = explore("shards_change_seen_after", || {
        let (limit, changed) = (sharded(), leak(AtomicBool::new(false)));
        let shard = drawn(limit, 0);
        let change = move || {
            limit.adjust(quota(10), Held::Tokens);
            changed.store(true, Ordering::Release);
        };
        let ask = move || (changed.load(Ordering::Acquire), shard.acquire_up_to(3));
        race2(change, ask).1
    });
    assert_eq!(outcomes, BTreeSet::from([(false, 3), (false, 1), (true, 1)]));
}

/// Also while the change is under way: credit is cut before the root is, so who finds the root cut has no more.
#[test]
fn who_sees_the_new_root_obeys_the_new_ceiling() {
    let outcomes = explore("shards_change_seen_at_the_root", || {
        let limit = sharded();
        let shard = drawn(limit, 0);
        let ask = move || (limit.max_cost(), shard.acquire_up_to(3));
        race2(|| limit.adjust(quota(10), Held::Tokens), ask).1
    });
    assert_eq!(outcomes, BTreeSet::from([(32, 3), (32, 1), (8, 1)]));
}
