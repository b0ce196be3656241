//! Callers with older and newer readings at the refill boundary. A bucket of one token, empty at 0, has it again at 10.

use std::collections::BTreeSet;

use tollgate::Clock;
use tollgate_loom_tests::{Admission, Bucket, at, bucket_of, explore, missing, race2, race3, within};

fn empty() -> &'static Bucket {
    let bucket = bucket_of(10, 1);
    assert!(bucket.try_acquire_at(at(0)).is_ok());
    bucket
}

fn ask(bucket: &'static Bucket, now: u64) -> impl FnOnce() -> bool + Send + 'static {
    move || bucket.try_acquire_at(at(now)).is_ok()
}

/// With the first admission, at 0.
fn lawful(admitted: &[(u64, bool)]) -> bool {
    let admitted =
        admitted.iter().filter(|(_, admitted)| *admitted).map(|&(at, _)| Admission { at, cost: 1 });
    within(10, 1, &[Admission { at: 0, cost: 1 }].into_iter().chain(admitted).collect::<Vec<_>>())
}

#[test]
fn one_nanosecond_early_and_just_in_time() {
    let outcomes = explore("reading_early_and_in_time", || {
        let bucket = empty();
        race2(ask(bucket, 9), ask(bucket, 10))
    });
    assert_eq!(outcomes, BTreeSet::from([(false, true)]));
}

/// The newer reading first: the older one finds the token of 20 taken from 20 on, and its own not there yet.
#[test]
fn an_older_reading_mints_nothing() {
    let outcomes = explore("reading_older_and_newer", || {
        let bucket = empty();
        let (older, newer) = race2(ask(bucket, 10), ask(bucket, 20));
        assert!(lawful(&[(10, older), (20, newer)]));
        (older, newer, missing(bucket, 20))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, true, 10), (false, true, 10)]));
}

#[test]
fn one_refill_is_taken_once() {
    let outcomes = explore("reading_one_refill_three_callers", || {
        let bucket = empty();
        let (a, b, c) = race3(ask(bucket, 10), ask(bucket, 10), ask(bucket, 19));
        assert!(lawful(&[(10, a), (10, b), (19, c)]));
        (a, b, c)
    });
    let one = [(true, false, false), (false, true, false), (false, false, true)];
    assert_eq!(outcomes, BTreeSet::from(one));
}

#[test]
fn two_refills_are_taken_twice_at_most() {
    let outcomes = explore("reading_two_refills_three_callers", || {
        let bucket = empty();
        let (a, b, c) = race3(ask(bucket, 10), ask(bucket, 20), ask(bucket, 20));
        assert!(lawful(&[(10, a), (20, b), (20, c)]));
        (a, b, c)
    });
    let lawful = [(true, true, false), (true, false, true), (false, true, false), (false, false, true)];
    assert_eq!(outcomes, BTreeSet::from(lawful));
}

/// Each caller reads the clock itself, while one of them moves it over the boundary.
#[test]
fn the_clock_moves_meanwhile() {
    let outcomes = explore("reading_clock_moves_meanwhile", || {
        let bucket = empty();
        let ask = move || {
            let now = bucket.clock().now();
            (now.as_u64(), bucket.try_acquire_at(now).is_ok())
        };
        let move_and_ask = move || {
            bucket.clock().set(at(10));
            ask()
        };
        let (moved, other) = race2(move_and_ask, ask);
        assert!(lawful(&[moved, other]));
        (moved, other)
    });
    let all = [((10, true), (0, false)), ((10, true), (10, false)), ((10, false), (10, true))];
    assert_eq!(outcomes, BTreeSet::from(all));
}
