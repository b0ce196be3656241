//! Change of a class's quota beside calls, newcomers and sweeps. Old units never get onto the new axis, and a key gets
//! nothing by being forgotten or known too late.
//!
//! Under the slow quota a token takes ten nanoseconds, under the quick one a single one. So a unit is a tenth of a token
//! there and a whole one here: one count on the wrong axis is off by a factor of ten.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::adjust::Held;
use tollgate::keyed::Overflow;
use tollgate::{Manual, Quota};
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{Itself, at, explore, leak, race2, race3, wait};

type Keyed = tollgate::keyed::Keyed<u64, &'static Manual, Itself>;

const KEY: &u64 = &7;

fn slow(capacity: u64) -> Quota {
    Quota::with_burst(1, Duration::from_nanos(10), capacity).expect("a valid quota")
}

fn quick(capacity: u64) -> Quota {
    Quota::with_burst(1, Duration::from_nanos(1), capacity).expect("a valid quota")
}

fn keyed(quota: Quota) -> &'static Keyed {
    let builder = tollgate::keyed::Keyed::builder(quota).max_keys(8).overflow(Overflow::Refuse);
    leak(builder.clock(leak(Manual::new())).hasher(Itself::default()).build().expect("a valid limiter"))
}

/// A limiter that knows the key, of which so many tokens have been used.
fn used(quota: Quota, tokens: u64) -> &'static Keyed {
    let keyed = keyed(quota);
    keyed.charge(KEY, tokens);
    keyed
}

fn change(keyed: &Keyed, quota: Quota, held: Held) {
    assert!(keyed.adjust(0, quota, held).is_ok());
}

/// Tokens of the key at the clock's reading.
fn there(keyed: &Keyed) -> Option<u64> {
    keyed.peek(KEY).map(|level| level.available())
}

#[test]
fn changed_beside_an_admission() {
    let outcomes = explore("keyed_change_admission", || {
        let keyed = used(slow(4), 1);
        let ask = move || keyed.try_acquire_n(KEY, 2).is_ok();
        let ((), admitted) = race2(move || change(keyed, quick(5), Held::Tokens), ask);
        (admitted, there(keyed), keyed.quota(0) == Some(quick(5)))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, Some(1), true)]));
}

/// One of the two is refused, whichever quota decides, and the wait it is told is that of one of the two.
#[test]
fn changed_beside_two_that_want_the_last_token() {
    let outcomes = explore("keyed_change_last_token", || {
        let keyed = used(slow(2), 1);
        let ask = move || wait(keyed.try_acquire(KEY));
        let ((), first, second) = race3(move || change(keyed, quick(2), Held::Tokens), ask, ask);
        (first.min(second), first.max(second), there(keyed))
    });
    assert_eq!(outcomes, BTreeSet::from([(None, Some(1), Some(0)), (None, Some(10), Some(0))]));
}

/// A key that is inserted before the change or after it: three tokens were there, and two are taken.
#[test]
fn changed_beside_a_newcomer() {
    let outcomes = explore("keyed_change_newcomer", || {
        let keyed = keyed(slow(3));
        let ask = move || keyed.try_acquire_n(KEY, 2).is_ok();
        let ((), admitted) = race2(move || change(keyed, quick(9), Held::Tokens), ask);
        (admitted, there(keyed))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, Some(1))]));
}

/// A key whose bucket of one is full, and forgotten before the change, or kept: it holds one of nine after it.
#[test]
fn changed_beside_a_sweep() {
    let outcomes = explore("keyed_change_sweep", || {
        let keyed = used(slow(1), 1);
        keyed.clock().set(at(10));
        race2(move || change(keyed, quick(9), Held::Tokens), move || keyed.sweep());
        (wait(keyed.try_acquire_n(KEY, 9)), keyed.try_acquire(KEY).is_ok(), there(keyed))
    });
    assert_eq!(outcomes, BTreeSet::from([(Some(8), true, Some(0))]));
}

/// A key that fills later by the change is not forgotten by what the sweep has seen before.
#[test]
fn changed_beside_a_sweep_and_a_call() {
    let outcomes = explore("keyed_change_sweep_call", || {
        let keyed = used(quick(1), 1);
        keyed.clock().set(at(1));
        let ask = move || keyed.try_acquire(KEY).is_ok();
        let ((), _, admitted) =
            race3(move || change(keyed, slow(1), Held::Tokens), move || keyed.sweep(), ask);
        keyed.clock().set(at(10));
        (admitted, keyed.sweep(), keyed.try_acquire(KEY).is_ok())
    });
    // Taken at 1: under the quick quota it was back at 2, so after a change at 1 it is not there before 11.
    assert_eq!(outcomes, BTreeSet::from([(true, 0, false)]));
}

/// Twenty are there at 20 under the quick quota. What it issued until the change counts, and no nanosecond counts under
/// both.
#[test]
fn changed_while_the_clock_moves() {
    let outcomes = explore("keyed_change_clock_moves", || {
        let keyed = used(quick(20), 20);
        let take = move || {
            keyed.clock().set(at(20));
            keyed.try_acquire_n(KEY, 20).is_ok()
        };
        let ((), admitted) = race2(move || change(keyed, slow(20), Held::Tokens), take);
        (admitted, there(keyed))
    });
    // Changed at 0: two were issued since. Changed at 20, after or before the admission.
    assert_eq!(outcomes, BTreeSet::from([(false, Some(2)), (true, Some(0))]));
}

/// A call with a reading from before the change admits nothing at it once the change is made.
#[test]
fn changed_beside_an_old_reading() {
    let outcomes = explore("keyed_change_old_reading", || {
        let keyed = used(quick(20), 20);
        let changed = leak(AtomicBool::new(false));
        keyed.clock().set(at(20));
        let change = move || {
            change(keyed, slow(20), Held::Tokens);
            changed.store(true, Ordering::Release);
        };
        let late = move || (changed.load(Ordering::Acquire), keyed.try_acquire_at(KEY, at(1)).is_ok());
        race2(change, late).1
    });
    // One was there at 1, by the old quota.
    assert_eq!(outcomes, BTreeSet::from([(false, false), (false, true), (true, false)]));
}

/// Two changes of one class take turns: all shards have the same rules in the end, and every word fits them.
#[test]
fn changed_twice() {
    let outcomes = explore("keyed_change_twice", || {
        let keyed = used(slow(3), 1);
        let (one, two) =
            (move || change(keyed, quick(5), Held::Deficit), move || change(keyed, slow(9), Held::Tokens));
        race2(one, two);
        let last = if keyed.quota(0) == Some(quick(5)) { 5 } else { 9 };
        (last, there(keyed), wait(keyed.try_acquire_n(KEY, last)))
    });
    // 2 of 9, then 7 less than 5; or 4 of 5, then 4.
    assert_eq!(outcomes, BTreeSet::from([(5, Some(0), Some(7)), (9, Some(4), Some(50))]));
}
