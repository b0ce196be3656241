//! C43-C47 as far as this floor has them: refund, debt, and a late undo.

use crate::oracle::Answer;
use crate::support::{MINUTE, MS, Pair, S, at, bucket, quota};

#[test]
fn c43_a_charge_undone_at_once_comes_back_whole() {
    let limit = bucket(quota(1, S, 5));
    let charge = limit.try_charge_at(1, at(0)).unwrap();
    charge.undo_at(at(MS));
    assert_eq!(limit.peek_at(at(MS)).available(), 5);
    for cost in 1..=5 {
        let limit = bucket(quota(1, S, 5));
        limit.try_charge_at(cost, at(0)).unwrap().undo_at(at(MS));
        assert_eq!(limit.peek_at(at(MS)).available(), 5, "cost {cost}");
        assert_eq!(
            limit.peek_at(at(MS)).time_to_full().as_nanos(),
            0,
            "what was refilled does not come twice"
        );
    }
}

#[test]
fn c44_a_refused_weighted_request_leaves_the_balance() {
    let mut limit = Pair::holding(1, 10 * S, 10, 2, 0);
    limit.deny(5, 0, 30 * S);
    assert_eq!(limit.remaining(0), 2);
    limit.never(1_000_000, 0);
    assert_eq!(limit.remaining(0), 2);
    limit.ok(2, 0);
    for cost in 3..=10 {
        let mut limit = Pair::holding(1, 10 * S, 10, 2, 0);
        for _ in 0..100 {
            limit.deny(cost, 0, (cost - 2) * 10 * S);
        }
        limit.ok(2, 0);
    }
}

#[test]
fn c45_a_refund_commutes_with_refill() {
    let mut limit = Pair::new(1, S, 10);
    limit.ok(10, 0);
    limit.refund(3, 5 * S);
    assert_eq!(limit.remaining(5 * S), 8);
    assert_eq!(limit.remaining(6 * S), 9);
    for spent in 0..=10 {
        for refund in 0..=12 {
            for elapsed in [0, 1, S / 2, S, 3 * S + 1, 11 * S] {
                let (mut early, mut late) = (Pair::new(1, S, 10), Pair::new(1, S, 10));
                early.charge(spent, 0);
                late.charge(spent, 0);
                early.refund(refund, 0);
                late.refund(refund, elapsed);
                assert_eq!(early.remaining(elapsed), late.remaining(elapsed));
                assert_eq!(early.to_full(elapsed), late.to_full(elapsed));
            }
        }
    }
}

/// The first half of the case. Its busy half needs a history, which a later floor keeps.
#[test]
fn c46_a_late_undo_gives_back_nothing_that_refill_gave() {
    let limit = bucket(quota(60_000, MINUTE, 60_000));
    let a = limit.try_charge_at(50_000, at(0)).unwrap();
    assert_eq!(limit.try_acquire_n_at(40_000, at(65 * S)), Ok(()));
    a.undo_at(at(70 * S));
    assert_eq!(limit.peek_at(at(70 * S)).available(), 25_000);
    for seconds in 0..=120 {
        let limit = bucket(quota(60_000, MINUTE, 60_000));
        let a = limit.try_charge_at(50_000, at(0)).unwrap();
        a.undo_at(at(seconds * S));
        assert_eq!(limit.peek_at(at(seconds * S)).available(), 60_000, "alone it is exact");
    }
}

#[test]
fn c47_taking_what_is_there_in_debt_takes_nothing() {
    let mut limit = Pair::new(50, S, 50);
    limit.charge(60, 0);
    assert_eq!(limit.take_up_to(5, 0), 0);
    assert_eq!(limit.bucket.peek_at(at(0)).debt(), 10);
    assert_eq!(limit.remaining(0), 0);
    assert_eq!(limit.ask(1, 0), Answer::Wait(u128::from(220 * MS)));
    assert_eq!((limit.remaining(200 * MS), limit.bucket.peek_at(at(200 * MS)).debt()), (0, 0));
    limit.ok(1, 220 * MS);
    for debt in [1, 2, 10, 50, 51, 1000, 1 << 38] {
        let mut limit = Pair::new(50, S, 50);
        limit.charge(50 + debt, 0);
        for most in [0, 1, 5, 50, u64::MAX] {
            assert_eq!(limit.take_up_to(most, 0), 0);
        }
        limit.check_level(0);
        limit.deny(1, 0, (debt + 1) * 20 * MS);
    }
}
