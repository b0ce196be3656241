//! Change of the quota beside everything else. Old units never get onto the new axis, nothing comes twice, nothing is lost.
//!
//! Under the slow quota a token takes ten nanoseconds, under the quick one a single one. So a unit is a tenth of a token
//! there and a whole one here: one count on the wrong axis is off by a factor of ten.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::adjust::Held;
use tollgate::{Manual, Quota};
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{at, explore, leak, race2, race3, wait};

type Adjustable = tollgate::adjust::Adjustable<&'static Manual>;

fn slow(capacity: u64) -> Quota {
    Quota::with_burst(1, Duration::from_nanos(10), capacity).expect("a valid quota")
}

fn quick(capacity: u64) -> Quota {
    Quota::with_burst(1, Duration::from_nanos(1), capacity).expect("a valid quota")
}

fn limit(quota: Quota) -> &'static Adjustable {
    leak(Adjustable::with_clock(quota, leak(Manual::new())))
}

/// Tokens missing from a full bucket at a reading, less the debt.
fn there(limit: &Adjustable, now: u64) -> (u64, u64) {
    let level = limit.peek_at(at(now));
    (level.available(), level.debt())
}

#[test]
fn beside_an_admission() {
    let outcomes = explore("adjust_admission", || {
        let limit = limit(slow(3));
        let change = move || limit.adjust(quick(4), Held::Tokens);
        let ((), admitted) = race2(change, move || limit.try_acquire_n(2).is_ok());
        (admitted, there(limit, 0), limit.quota() == quick(4))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, (1, 0), true)]));
}

/// One of the two is refused, whichever quota decides, and the wait it is told is that of one of the two.
#[test]
fn beside_two_that_want_the_last_token() {
    let outcomes = explore("adjust_last_token", || {
        let limit = limit(slow(1));
        let ask = move || wait(limit.try_acquire());
        let ((), first, second) = race3(move || limit.adjust(quick(1), Held::Tokens), ask, ask);
        (first.min(second), first.max(second), there(limit, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(None, Some(1), (0, 0)), (None, Some(10), (0, 0))]));
}

/// Both changes are made, in one order or the other, and the admission before, between or after them.
#[test]
fn beside_another_change_and_an_admission() {
    let outcomes = explore("adjust_two_changes", || {
        let limit = limit(slow(3));
        let (one, two) =
            (move || limit.adjust(quick(2), Held::Tokens), move || limit.adjust(slow(5), Held::Deficit));
        let ((), (), admitted) = race3(one, two, move || limit.try_acquire_n(1).is_ok());
        (admitted, limit.quota() == quick(2), there(limit, 0).0)
    });
    let all = [
        // 3, then 5 - deficit, then as many as fit into 2: the admission last, or earlier.
        (true, true, 1),
        (true, true, 2),
        // 3, as many as fit into 2, then 5 - deficit; one token of the 3 did not fit, or the admission took it.
        (true, false, 4),
        (true, false, 5),
    ];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// There and back: a call that slept meanwhile finds its word as it was, and decides by its own rules.
#[test]
fn there_and_back_beside_an_admission() {
    let outcomes = explore("adjust_there_and_back", || {
        let limit = limit(slow(2));
        let change = move || {
            limit.adjust(quick(20), Held::Fraction);
            limit.adjust(slow(2), Held::Fraction);
        };
        let ((), admitted) = race2(change, move || limit.try_acquire_n(2).is_ok());
        (admitted, there(limit, 0), limit.quota() == slow(2))
    });
    // Two of 2 are all of it, two of 20 a tenth: 18/20 of 2 is 1 and 8 tenths.
    assert_eq!(outcomes, BTreeSet::from([(true, (0, 0), true), (true, (1, 0), true)]));
}

/// A charge counts once, whichever quota it is made under, and so does a refund.
#[test]
fn beside_a_charge() {
    let outcomes = explore("adjust_charge", || {
        let limit = limit(slow(3));
        race2(move || limit.adjust(quick(3), Held::Deficit), move || limit.charge(5));
        there(limit, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 2)]));
}

/// A charge that comes upon a word between two quotas leaves no mark on it that an admission would take for a debt.
#[test]
fn beside_a_charge_and_an_admission() {
    let outcomes = explore("adjust_charge_and_admission", || {
        let limit = limit(slow(3));
        let change = move || limit.adjust(quick(3), Held::Deficit);
        let ((), (), admitted) = race3(change, move || limit.charge(1), move || limit.try_acquire().is_ok());
        (admitted, there(limit, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, (1, 0))]));
}

#[test]
fn beside_a_refund() {
    let outcomes = explore("adjust_refund", || {
        let limit = limit(slow(3));
        limit.charge(3);
        race2(move || limit.adjust(quick(5), Held::Deficit), move || limit.refund(2));
        there(limit, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([(4, 0)]));
}

#[test]
fn beside_a_charge_and_a_refund() {
    let outcomes = explore("adjust_charge_and_refund", || {
        let limit = limit(slow(4));
        limit.charge(2);
        let change = move || limit.adjust(quick(4), Held::Deficit);
        race3(change, move || limit.charge(1), move || limit.refund(2));
        there(limit, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([(3, 0)]));
}

/// A pause is obeyed by every call after it, whatever changes meanwhile.
#[test]
fn beside_a_pause() {
    let outcomes = explore("adjust_pause", || {
        let (limit, paused) = (limit(slow(2)), leak(AtomicBool::new(false)));
        let pause = move || {
            limit.pause_until(at(50));
            paused.store(true, Ordering::Release);
        };
        let ask = move || paused.load(Ordering::Acquire).then(|| limit.try_acquire_at(at(0)).is_ok());
        let ((), (), asked) = race3(move || limit.adjust(quick(2), Held::Tokens), pause, ask);
        (asked, limit.peek_at(at(0)).paused_for().as_nanos())
    });
    assert_eq!(outcomes, BTreeSet::from([(None, 50), (Some(false), 50)]));
}

/// The end of a pause beside a change: it is over afterwards, under either quota.
#[test]
fn beside_the_end_of_a_pause() {
    let outcomes = explore("adjust_resume", || {
        let limit = limit(slow(2));
        limit.pause_until(at(50));
        race2(move || limit.adjust(quick(2), Held::Tokens), move || limit.resume());
        (limit.try_acquire_n(2).is_ok(), limit.peek().paused_for().is_zero())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, true)]));
}

/// Twenty are there at 20 under the quick quota. What it issued until the change counts, and no nanosecond counts under
/// both: an admission with the reading 20 is made before the change, or at a reading from before none.
#[test]
fn while_the_clock_moves() {
    let outcomes = explore("adjust_clock_moves", || {
        let limit = limit(quick(20));
        limit.charge(20);
        let take = move || {
            limit.clock().set(at(20));
            limit.try_acquire_n(20).is_ok()
        };
        let ((), admitted) = race2(move || limit.adjust(slow(20), Held::Tokens), take);
        (admitted, there(limit, 20))
    });
    // Changed at 0: two were issued since. Changed at 20, after or before the admission.
    assert_eq!(outcomes, BTreeSet::from([(false, (2, 0)), (true, (0, 0))]));
}

/// A call that happens after a change is decided by the new quota, also by a look.
#[test]
fn what_happens_after_sees_it() {
    let outcomes = explore("adjust_seen_after", || {
        let (limit, changed) = (limit(slow(2)), leak(AtomicBool::new(false)));
        let change = move || {
            limit.adjust(quick(9), Held::Deficit);
            changed.store(true, Ordering::Release);
        };
        let look = move || (changed.load(Ordering::Acquire), limit.peek_at(at(0)).available());
        race2(change, look).1
    });
    assert_eq!(outcomes, BTreeSet::from([(false, 2), (false, 9), (true, 9)]));
}

/// Parts are taken from the quota in force, and a part is none of a word that is between two.
#[test]
fn beside_a_part() {
    let outcomes = explore("adjust_part", || {
        let limit = limit(slow(3));
        let change = move || limit.adjust(quick(9), Held::Fraction);
        let ((), taken) = race2(change, move || limit.acquire_up_to(6));
        (taken, there(limit, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(3, (0, 0)), (6, (3, 0))]));
}
