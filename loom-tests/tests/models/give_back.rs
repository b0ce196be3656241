//! Admission racing debts and refunds.

use std::collections::BTreeSet;

use tollgate_loom_tests::{Bucket, at, bucket, explore, missing, race2, race3};

fn with_missing(capacity: u64, taken: u64) -> &'static Bucket {
    let bucket = bucket(capacity);
    assert!(bucket.try_acquire_n_at(taken, at(0)).is_ok());
    bucket
}

fn ask(bucket: &'static Bucket, cost: u64) -> impl FnOnce() -> bool + Send + 'static {
    move || bucket.try_acquire_n_at(cost, at(0)).is_ok()
}

fn refund(bucket: &'static Bucket, cost: u64) -> impl FnOnce() + Send + 'static {
    move || bucket.refund_at(cost, at(0))
}

#[test]
fn a_refund_is_there_for_one() {
    let outcomes = explore("give_back_refund_for_one", || {
        let bucket = with_missing(1, 1);
        let (admitted, ()) = race2(ask(bucket, 1), refund(bucket, 1));
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1), (false, 0)]));
}

#[test]
fn a_refund_is_wanted_by_two() {
    let outcomes = explore("give_back_refund_wanted_by_two", || {
        let bucket = with_missing(1, 1);
        let (a, b, ()) = race3(ask(bucket, 1), ask(bucket, 1), refund(bucket, 1));
        (a, b, missing(bucket, 0))
    });
    let one_or_none = [(true, false, 1), (false, true, 1), (false, false, 0)];
    assert_eq!(outcomes, BTreeSet::from(one_or_none));
}

/// One of three tokens is missing, five are given back and one taken: two are there at the end, or three.
#[test]
fn a_refund_stops_at_full() {
    let outcomes = explore("give_back_refund_stops_at_full", || {
        let bucket = with_missing(3, 1);
        let (admitted, ()) = race2(ask(bucket, 1), refund(bucket, 5));
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0), (true, 1)]));
}

/// Three tokens at 19 would be the two of refill too many: giving back more than is missing does not bring back the
/// time before.
#[test]
fn a_refund_stops_at_full_for_older_readings_too() {
    let outcomes = explore("give_back_refund_and_older_reading", || {
        let bucket = bucket(3);
        assert!(bucket.try_acquire_at(at(20)).is_ok());
        let ask = move || bucket.try_acquire_n_at(3, at(19)).is_ok();
        let ((), admitted) = race2(move || bucket.refund_at(5, at(20)), ask);
        (admitted, missing(bucket, 20))
    });
    assert_eq!(outcomes, BTreeSet::from([(false, 0)]));
}

/// Each refund gives back what is missing when it is its turn, not what was missing when it was called.
#[test]
fn refunds_take_their_turns() {
    let outcomes = explore("give_back_refunds_take_turns", || {
        let bucket = with_missing(10, 1);
        let refund_and_take = move || {
            bucket.refund_at(1, at(0));
            bucket.try_acquire_n_at(3, at(0)).is_ok()
        };
        let (admitted, ()) = race2(refund_and_take, refund(bucket, 2));
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 3), (true, 1)]));
}

#[test]
fn two_refunds_of_one_charge_give_back_both() {
    let outcomes = explore("give_back_two_refunds", || {
        let bucket = with_missing(4, 3);
        race2(refund(bucket, 1), refund(bucket, 1));
        missing(bucket, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([1]));
}

/// Two tokens, a debt of three: whoever comes first, nothing is lost and nothing is free.
#[test]
fn a_debt_is_owed_whole() {
    let outcomes = explore("give_back_debt_is_owed_whole", || {
        let bucket = bucket(2);
        let charge = move || {
            bucket.charge_at(3, at(0));
        };
        let (admitted, ()) = race2(ask(bucket, 1), charge);
        (admitted, bucket.peek_at(at(0)).debt())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 2), (false, 1)]));
}

#[test]
fn a_debt_meets_a_refund_and_an_admission() {
    let outcomes = explore("give_back_debt_refund_admission", || {
        let bucket = with_missing(2, 1);
        let charge = move || {
            bucket.charge_at(2, at(0));
        };
        let (admitted, (), ()) = race3(ask(bucket, 1), charge, refund(bucket, 1));
        (admitted, missing(bucket, 0))
    });
    // Missing: 1 before, 2 charged, 1 refunded, and 1 if admitted. The admission needs 1 or less at its turn.
    assert_eq!(outcomes, BTreeSet::from([(true, 3), (false, 2)]));
}
