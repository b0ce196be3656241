//! Calls that take what is there: `acquire_up_to` and `drain`.

use std::collections::BTreeSet;

use tollgate_loom_tests::{Bucket, at, bucket, explore, missing, race2, race3};

fn up_to(bucket: &'static Bucket, most: u64) -> impl FnOnce() -> u64 + Send + 'static {
    move || bucket.acquire_up_to_at(most, at(0))
}

fn drain(bucket: &'static Bucket) -> impl FnOnce() -> u64 + Send + 'static {
    move || bucket.drain_at(at(0))
}

#[test]
fn part_is_never_debt() {
    let outcomes = explore("partial_is_never_debt", || {
        let bucket = bucket(3);
        let ask = move || bucket.try_acquire_n_at(2, at(0)).is_ok();
        let (part, admitted) = race2(up_to(bucket, 2), ask);
        (part, admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(2, false, 2), (1, true, 3)]));
}

#[test]
fn parts_of_one_bucket_add_up() {
    let outcomes = explore("partial_parts_add_up", || {
        let bucket = bucket(4);
        let parts = race3(up_to(bucket, 2), up_to(bucket, 2), up_to(bucket, 2));
        (parts, missing(bucket, 0))
    });
    let all = [((2, 2, 0), 4), ((2, 0, 2), 4), ((0, 2, 2), 4)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

#[test]
fn a_part_of_a_refund() {
    let outcomes = explore("partial_of_a_refund", || {
        let bucket = bucket(2);
        assert_eq!(bucket.drain_at(at(0)), 2);
        let refund = move || bucket.refund_at(1, at(0));
        let (part, ()) = race2(up_to(bucket, 2), refund);
        (part, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 2), (0, 1)]));
}

#[test]
fn a_drain_takes_what_an_admission_left() {
    let outcomes = explore("partial_drain_and_admission", || {
        let bucket = bucket(3);
        let ask = move || bucket.try_acquire_n_at(1, at(0)).is_ok();
        let (drained, admitted) = race2(drain(bucket), ask);
        (drained, admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(3, false, 3), (2, true, 3)]));
}

#[test]
fn two_drains_take_it_once() {
    let outcomes = explore("partial_two_drains", || {
        let bucket = bucket(3);
        race2(drain(bucket), drain(bucket))
    });
    assert_eq!(outcomes, BTreeSet::from([(3, 0), (0, 3)]));
}

/// An older reading finds the bucket emptier, and what it empties stays empty for the newer one.
#[test]
fn a_drain_and_a_part_with_different_readings() {
    let outcomes = explore("partial_drain_with_older_reading", || {
        let bucket = bucket(3);
        let drain = move || bucket.drain_at(at(10));
        let part = move || bucket.acquire_up_to_at(2, at(12));
        let (drained, part) = race2(drain, part);
        (drained, part, missing(bucket, 12))
    });
    // The part first: the word is 14, at 10 that is 4 missing of 3, nothing to drain.
    assert_eq!(outcomes, BTreeSet::from([(3, 2, 3), (0, 2, 2)]));
}

#[test]
fn a_drain_meets_a_refund_and_an_admission() {
    let outcomes = explore("partial_drain_refund_admission", || {
        let bucket = bucket(2);
        assert!(bucket.try_acquire_at(at(0)).is_ok());
        let refund = move || bucket.refund_at(1, at(0));
        let ask = move || bucket.try_acquire_n_at(2, at(0)).is_ok();
        let (drained, (), admitted) = race3(drain(bucket), refund, ask);
        (drained, admitted, missing(bucket, 0))
    });
    let all = [(0, true, 2), (2, false, 2), (1, false, 1)];
    assert_eq!(outcomes, BTreeSet::from(all));
}
