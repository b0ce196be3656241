//! C33-C40: a cost above the capacity, of zero, or below it.

use tollgate::{Bucket, Denied, Manual, Quota};

use crate::oracle::Answer;
use crate::support::{MINUTE, Pair, S, bucket, quota};

#[test]
fn c33_the_capacity_is_served_and_one_more_never() {
    let mut limit = Pair::new(10, S, 10);
    limit.never(11, 0);
    limit.ok(10, 0);
    limit.never(11, 0);
    limit.deny(10, 0, S);
    for capacity in [1, 2, 3, 9, 10, 100, u64::from(u32::MAX), 1 << 32, 1 << 60] {
        let mut limit = Pair::new(10, S, capacity);
        limit.never(capacity + 1, 0);
        limit.ok(capacity, 0);
        for cost in [capacity + 1, capacity * 2, u64::MAX / 2, u64::MAX - capacity, u64::MAX - 1, u64::MAX] {
            limit.never(cost, 0);
            limit.never(cost, S);
        }
    }
}

#[test]
fn c34_four_of_three_has_no_wait() {
    let mut limit = Pair::new(3, 2 * S, 3);
    limit.never(4, 0);
    assert_eq!(limit.remaining(0), 3);
    limit.ok(3, 0);
    limit.deny(3, 0, 2 * S);
    limit.deny(1, 0, 666_666_667);
    let refusal = limit.bucket.try_acquire_n(4).unwrap_err();
    assert_eq!(refusal, Denied::OverCapacity { cost: 4, capacity: 3 });
    assert_eq!((refusal.wait(), refusal.retry_after()), (None, None));
    for cost in 4..50 {
        limit.never(cost, cost * S);
    }
}

#[test]
fn c35_a_request_that_can_never_pass_is_told_so_at_once() {
    let mut limit = Pair::new(100, MINUTE, 100);
    for cost in [200, 101, 1000, u64::MAX] {
        limit.never(cost, 0);
        assert_eq!(limit.remaining(0), 100);
    }
}

#[test]
fn c36_a_large_cost_after_a_small_one_is_refused() {
    let mut limit = Pair::new(10, MINUTE, 10);
    limit.ok(5, 0);
    limit.never(100, 0);
    assert_eq!(limit.remaining(0), 5);
    limit.ok(5, 0);
    assert_eq!(limit.remaining(0), 0);
    for first in 1..=10 {
        let mut limit = Pair::new(10, MINUTE, 10);
        limit.ok(first, 0);
        for cost in [11, 100, 1 << 32, u64::MAX / 10, u64::MAX] {
            limit.never(cost, 0);
        }
        assert_eq!(limit.remaining(0), 10 - first);
    }
}

/// A caller that guesses a cost clamps the guess to the capacity; then what is not used goes back.
#[test]
fn c37_a_guess_above_the_capacity_is_clamped_by_who_guesses() {
    let mut limit = Pair::new(100, MINUTE, 100);
    limit.never(1024, 0);
    limit.ok(1024.min(limit.bucket.quota().capacity()), 0);
    limit.refund(70, 0);
    assert_eq!(limit.remaining(0), 70);
    for used in 0..=100 {
        let mut limit = Pair::new(100, MINUTE, 100);
        limit.ok(100, 0);
        limit.refund(100 - used, 0);
        assert_eq!(limit.remaining(0), 100 - used);
    }
}

#[test]
fn c38_a_refusal_consumes_nothing() {
    let mut limit = Pair::new(300, MINUTE, 300);
    limit.never(301, 0);
    limit.ok(1, 0);
    assert_eq!(limit.remaining(0), 299);
    limit.ok(290, 0);
    for cost in 10..=310 {
        assert!(matches!(limit.try_take(cost, 0), Answer::Wait(_) | Answer::Never));
        assert_eq!(limit.remaining(0), 9);
    }
}

#[test]
fn c39_a_cost_of_zero_is_refused_and_a_look_costs_nothing() {
    let mut limit = Pair::new(1, S, 1);
    limit.ok(1, 0);
    assert_eq!(limit.bucket.try_acquire_n(0), Err(Denied::ZeroCost));
    assert_eq!(limit.remaining(0), 0);
    assert_eq!(limit.ask(1, 0), Answer::Wait(S.into()));
    for now in [0, 1, S / 2, S, 10 * S] {
        assert_eq!(limit.try_take(0, now), Answer::Zero);
        assert_eq!(limit.ask(0, now), Answer::Zero);
    }
    let refusal = limit.bucket.try_acquire_n(0).unwrap_err();
    assert_eq!((refusal.wait(), refusal.retry_after()), (None, None), "there is nothing to wait for");
    assert_eq!(limit.remaining(S), 1);
}

/// A cost is unsigned by its type: a negative one does not compile. What a careless cast makes of it is refused.
#[test]
fn c40_a_negative_cost_cannot_credit_tokens() {
    let cost: fn(&Bucket<Manual>, u64) -> Result<(), Denied> = Bucket::try_acquire_n;
    let limit = bucket(Quota::with_burst(10, std::time::Duration::from_secs(1), 10).unwrap());
    assert_eq!(limit.drain(), 10);
    for negative in [-1_i64, -10, -11, i64::from(i32::MIN), i64::MIN] {
        let before = format!("{limit:?}");
        assert_eq!(
            cost(&limit, negative as u64),
            Err(Denied::OverCapacity { cost: negative as u64, capacity: 10 })
        );
        assert_eq!(limit.acquire_up_to(0), 0);
        assert_eq!(format!("{limit:?}"), before);
    }
    let full = bucket(quota(10, S, 10));
    full.refund(1000);
    assert_eq!(full.peek().available(), 10, "a credit is a call of its own and clamped");
}
