//! The exact form: no charge is lost to a sweep, no pause either, and no key finds its own room taken.
//!
//! A token takes ten nanoseconds and buckets hold one, so a key's bucket is full again ten nanoseconds after it was used.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::keyed::{Overflow, OverflowCounts};
use tollgate::{Manual, Quota};
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{Itself, at, explore, leak, race2, race3};

type Keyed = tollgate::keyed::Keyed<u64, &'static Manual, Itself>;

const KEY: &u64 = &7;

fn keyed(max_keys: usize) -> (&'static Keyed, &'static Manual) {
    let quota = Quota::with_burst(1, Duration::from_nanos(10), 1).expect("a valid quota");
    let clock = leak(Manual::new());
    let builder =
        tollgate::keyed::Keyed::builder(quota).max_keys(max_keys).clock(clock).hasher(Itself::default());
    (leak(builder.overflow(Overflow::Refuse).build().expect("a valid limiter")), clock)
}

/// A limiter that knows the key, whose bucket has just become full.
fn known_and_full() -> (&'static Keyed, &'static Manual) {
    let (keyed, clock) = keyed(8);
    assert!(keyed.try_acquire(KEY).is_ok());
    clock.set(at(10));
    (keyed, clock)
}

/// A sweep, a call that charges the old entry or inserts a new one, and another.
#[test]
fn swept_beside_two_calls() {
    let outcomes = explore("keyed_sweep_two_calls", || {
        let (keyed, _) = known_and_full();
        let ask = move || keyed.try_acquire(KEY).is_ok();
        let (_, first, second) = race3(move || keyed.sweep(), ask, ask);
        (u8::from(first) + u8::from(second), keyed.try_acquire(KEY).is_ok(), keyed.len())
    });
    assert_eq!(outcomes, BTreeSet::from([(1, false, 1)]));
}

/// A debt is not forgotten with the entry.
#[test]
fn swept_beside_a_charge() {
    let outcomes = explore("keyed_sweep_charge", || {
        let (keyed, clock) = known_and_full();
        race2(move || keyed.sweep(), move || keyed.charge(KEY, 2));
        clock.set(at(29));
        (keyed.try_acquire(KEY).is_ok(), keyed.len())
    });
    assert_eq!(outcomes, BTreeSet::from([(false, 1)]));
}

/// A reading from before the bucket was full admits nothing, whether the key has been forgotten or not.
#[test]
fn swept_beside_an_old_reading() {
    let outcomes = explore("keyed_sweep_old_reading", || {
        let (keyed, _) = known_and_full();
        let late = move || keyed.try_acquire_at(KEY, at(0)).is_ok();
        race2(move || keyed.sweep(), late).1
    });
    assert_eq!(outcomes, BTreeSet::from([false]));
}

/// A call that happens after a pause obeys it, whatever a sweep did to the entry meanwhile.
#[test]
fn swept_beside_a_pause() {
    let outcomes = explore("keyed_sweep_pause", || {
        let ((keyed, _), paused) = (known_and_full(), leak(AtomicBool::new(false)));
        let pause = move || {
            assert!(keyed.pause_until(KEY, at(50)));
            paused.store(true, Ordering::Release);
        };
        let ask = move || {
            let paused = paused.load(Ordering::Acquire);
            (paused, keyed.try_acquire(KEY).is_ok())
        };
        let (_, (), asked) = race3(move || keyed.sweep(), pause, ask);
        asked
    });
    assert_eq!(outcomes, BTreeSet::from([(false, false), (false, true), (true, false)]));
}

/// Room for one key, and one key: both calls find it or make it.
#[test]
fn inserted_twice_at_the_cap() {
    let outcomes = explore("keyed_insert_at_the_cap", || {
        let (keyed, _) = keyed(1);
        let ask = move || keyed.try_acquire(KEY).is_ok();
        let (first, second) = race2(ask, ask);
        (
            u8::from(first) + u8::from(second),
            keyed.len(),
            keyed.overflow_counts() == OverflowCounts::default(),
        )
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 1, true)]));
}

/// Room for one key, which is forgotten while it is asked for: its own room is not taken.
#[test]
fn swept_at_the_cap() {
    let outcomes = explore("keyed_sweep_at_the_cap", || {
        let (keyed, clock) = keyed(1);
        assert!(keyed.try_acquire(KEY).is_ok());
        clock.set(at(10));
        let (_, admitted) = race2(move || keyed.sweep(), move || keyed.try_acquire(KEY).is_ok());
        (admitted, keyed.len(), keyed.overflow_counts().refused)
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1, 0)]));
}

/// Room for one key, and two newcomers: one finds none.
#[test]
fn two_keys_at_the_cap() {
    let outcomes = explore("keyed_two_keys_at_the_cap", || {
        let (keyed, _) = keyed(1);
        let ask = move |key: u64| move || keyed.try_acquire(&key).is_ok();
        let (first, second) = race2(ask(1), ask(2));
        (u8::from(first) + u8::from(second), keyed.len(), keyed.overflow_counts().refused)
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 1, 1)]));
}
