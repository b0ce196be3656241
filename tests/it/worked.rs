//! The worked examples that the design starts from, number by number.

use tollgate::{Denied, Manual};

use crate::oracle::Answer;
use crate::support::{Pair, S, at, bucket, nanos, quota};

#[test]
fn three_at_once_then_one_every_half_second() {
    let mut limit = Pair::new(2, S, 3);
    for _ in 0..3 {
        limit.ok(1, 0);
    }
    limit.deny(1, 0, S / 2);
    limit.deny(1, S / 4, S / 4);
    limit.ok(1, S / 2);
    limit.deny(1, S / 2, S / 2);
}

#[test]
fn the_eleven_events() {
    let mut limit = Pair::new(2, S, 3);
    let events = [
        (0, 1, true),
        (0, 1, true),
        (0, 1, true),
        (0, 1, false),
        (S / 4, 1, false),
        (S / 2, 1, true),
        (3 * S / 2, 2, true),
        (100 * S, 1, true),
        (100 * S, 1, true),
        (100 * S, 1, true),
        (100 * S, 1, false),
    ];
    for (now, cost, admitted) in events {
        assert_eq!(limit.try_take(cost, now) == Answer::Admitted, admitted, "{cost} at {now}");
    }
    assert_eq!(limit.remaining(100 * S), 0);
}

#[test]
fn four_of_three_is_refused_without_consuming() {
    let limit = bucket(quota(2, S, 3));
    assert_eq!(limit.try_acquire_n(4), Err(Denied::OverCapacity { cost: 4, capacity: 3 }));
    assert_eq!(limit.peek().available(), 3);
    assert_eq!(limit.try_acquire_n(3), Ok(()));
    assert_eq!(limit.peek().available(), 0);
    assert_eq!(limit.try_acquire_n_at(3, at(0)).unwrap_err().wait(), Some(nanos(3 * S / 2)));
}

/// Two buckets are two budgets; a share of the capacity is what keeps four of them to one.
#[test]
fn four_buckets_admit_twelve_at_once_and_one_shared_bucket_three() {
    let whole = quota(2, S, 3);
    let admitted = |buckets: &[tollgate::Bucket<Manual>]| {
        (0..40).filter(|call| buckets[call % buckets.len()].try_acquire().is_ok()).count()
    };
    let independent: Vec<_> = (0..4).map(|_| bucket(whole)).collect();
    assert_eq!(admitted(&independent), 12);
    assert_eq!(admitted(&[bucket(whole)]), 3);
    let shares: Vec<_> = whole.split(3).unwrap().map(bucket).collect();
    assert_eq!(admitted(&shares), 3);
}
