//! Calls that put the bucket into another state: `reset` and `restore`.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::Snapshot;
use tollgate_loom_tests::{Bucket, at, bucket, explore, missing, race2, race3};

fn ask(bucket: &'static Bucket, cost: u64) -> impl FnOnce() -> bool + Send + 'static {
    move || bucket.try_acquire_n_at(cost, at(0)).is_ok()
}

fn reset(bucket: &'static Bucket) -> impl FnOnce() + Send + 'static {
    move || bucket.reset_at(at(0))
}

fn restore(bucket: &'static Bucket, saved: Snapshot) -> impl FnOnce() + Send + 'static {
    move || bucket.restore_at(&saved, Duration::ZERO, at(0), Duration::ZERO).expect("the same quota")
}

/// A bucket of ten with so many tokens missing, and what can be saved of it.
fn with_missing(taken: u64) -> (&'static Bucket, Snapshot) {
    let bucket = bucket(10);
    bucket.charge_at(taken, at(0));
    (bucket, bucket.snapshot_at(at(0), Duration::ZERO))
}

#[test]
fn an_admission_comes_before_a_reset_or_after() {
    let outcomes = explore("replace_reset_and_admission", || {
        let (bucket, _) = with_missing(10);
        let ((), admitted) = race2(reset(bucket), ask(bucket, 4));
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 4), (false, 0)]));
}

#[test]
fn a_debt_comes_before_a_reset_or_after() {
    let outcomes = explore("replace_reset_and_debt", || {
        let (bucket, _) = with_missing(3);
        race2(reset(bucket), move || {
            bucket.charge_at(12, at(0));
        });
        missing(bucket, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([0, 12]));
}

/// A reset puts back what is missing when it is its turn, not what was missing when it was called.
#[test]
fn a_reset_takes_its_turn_among_refund_and_admission() {
    let outcomes = explore("replace_reset_takes_its_turn", || {
        let (bucket, _) = with_missing(1);
        let refund_and_take = move || {
            bucket.refund_at(1, at(0));
            bucket.try_acquire_n_at(3, at(0)).is_ok()
        };
        let ((), admitted) = race2(reset(bucket), refund_and_take);
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0), (true, 3)]));
}

#[test]
fn two_resets_and_an_admission() {
    let outcomes = explore("replace_two_resets_and_admission", || {
        let (bucket, _) = with_missing(10);
        let ((), (), admitted) = race3(reset(bucket), reset(bucket), ask(bucket, 4));
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 4), (true, 0), (false, 0)]));
}

#[test]
fn one_of_two_restores_is_last() {
    let outcomes = explore("replace_two_restores", || {
        let ((_, two), (_, seven), (bucket, _)) = (with_missing(2), with_missing(7), with_missing(5));
        race2(restore(bucket, two), restore(bucket, seven));
        missing(bucket, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([2, 7]));
}

#[test]
fn a_restore_and_a_reset_and_an_admission() {
    let outcomes = explore("replace_restore_reset_admission", || {
        let ((_, seven), (bucket, _)) = (with_missing(7), with_missing(9));
        let ((), (), admitted) = race3(restore(bucket, seven), reset(bucket), ask(bucket, 2));
        (admitted, missing(bucket, 0))
    });
    let all = [(false, 0), (false, 7), (true, 0), (true, 2), (true, 7), (true, 9)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// What is restored is what was there at one time: a snapshot is one load.
#[test]
fn a_snapshot_is_of_one_moment() {
    let outcomes = explore("replace_snapshot_of_one_moment", || {
        let ((bucket, _), (copy, _)) = (with_missing(5), with_missing(1));
        let take_and_give = move || {
            let admitted = bucket.try_acquire_n_at(3, at(0)).is_ok();
            bucket.refund_at(7, at(0));
            admitted
        };
        let (saved, admitted) = race2(move || bucket.snapshot_at(at(0), Duration::ZERO), take_and_give);
        restore(copy, saved)();
        (admitted, missing(copy, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 5), (true, 8), (true, 1)]));
}
