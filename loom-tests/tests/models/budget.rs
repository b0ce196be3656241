//! Reservations: each is settled once, whoever settles beside whom, and what is given back is there once.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::Manual;
use tollgate::Quota;
use tollgate::budget::{AllOf, Reservation};
use tollgate_loom_tests::{at, bucket, explore, leak, missing, race2, race3};

type Budget = tollgate::budget::Budget<&'static Manual>;
type Guard = Reservation<&'static Budget>;

/// A token a nanosecond.
fn budget(capacity: u64) -> &'static Budget {
    let quota = Quota::with_burst(1, Duration::from_nanos(1), capacity).expect("a valid quota");
    leak(Budget::with_clock(quota, leak(Manual::new())))
}

fn reserve(budget: &'static Budget, tokens: u64) -> Guard {
    budget.reserve(tokens).expect("it is there")
}

fn left(budget: &Budget) -> (u64, u64, usize) {
    let level = budget.peek();
    (level.available(), level.debt(), budget.open_reservations())
}

/// Case C64: of 58 and 80 that want 100 at once, exactly one is admitted.
#[test]
fn two_reserve_what_only_one_can_have() {
    let outcomes = explore("budget_two_reserve", || {
        let budget = budget(100);
        let reserve = move |tokens| move || budget.reserve(tokens).map(|guard| guard.keep()).is_ok();
        let (less, more) = race2(reserve(58), reserve(80));
        (less, more, left(budget))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false, (42, 0, 0)), (false, true, (20, 0, 0))]));
}

/// Two settle while a third reserves: nothing is lost, and what is not there yet is refused.
#[test]
fn two_settle_while_a_third_reserves() {
    let outcomes = explore("budget_two_settle", || {
        let budget = budget(10);
        let (first, second) = (reserve(budget, 4), reserve(budget, 6));
        let settle = |guard: Guard, actual| move || guard.settle(actual).is_ok();
        let third = move || budget.reserve(3).map(|guard| guard.keep()).is_ok();
        let (first, second, third) = race3(settle(first, 1), settle(second, 8), third);
        (first && second, third, left(budget))
    });
    // 1 and 8 are used: with 3 more that is a debt of 2.
    assert_eq!(outcomes, BTreeSet::from([(true, false, (1, 0, 0)), (true, true, (0, 2, 0))]));
}

/// Both give back what refill has not made good, in whichever order, while the clock moves on.
#[test]
fn two_give_back_while_the_clock_moves() {
    let outcomes = explore("budget_give_back", || {
        let budget = budget(10);
        let (first, second) = (reserve(budget, 5), reserve(budget, 5));
        let tick = || {
            budget.clock().set(at(2));
            budget.reserve(2).map(|guard| guard.keep()).is_ok()
        };
        let settle = |guard: Guard| move || guard.settle(0).is_ok();
        let (first, second, third) = race3(settle(first), settle(second), tick);
        (first && second, third, left(budget))
    });
    // As if nobody but the third had come: 2 of a full bucket are taken, at 2.
    assert_eq!(outcomes, BTreeSet::from([(true, true, (8, 0, 0))]));
}

/// The deadline comes while its holder settles: one of them closes it.
#[test]
fn a_deadline_beside_a_settlement() {
    let outcomes = explore("budget_deadline", || {
        let budget = budget(10);
        let guard = budget.reserve_until(6, at(5)).expect("it is there");
        let settle = move || guard.settle(1).is_ok();
        let pass = || {
            budget.clock().set(at(5));
            budget.open_reservations()
        };
        let (in_time, open) = race2(settle, pass);
        (in_time, open, left(budget))
    });
    // In time it is as if 1 had been taken at 0. Late, 6 were, of which 5 are back.
    let all = [(true, 0, (10, 0, 0)), (false, 0, (9, 0, 0))];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// Two limits are asked as one while another call takes the last token of the second: whoever comes first has it, and nobody
/// is charged to the first for nothing.
#[test]
fn a_joint_admission_beside_a_single_one() {
    let outcomes = explore("budget_joint_and_single", || {
        let (first, second) = (bucket(2), bucket(1));
        let joint = move || AllOf::new(["first", "second"], (first, second)).try_acquire([1, 1]).is_ok();
        let (joint, single) = race2(joint, move || second.try_acquire_at(at(0)).is_ok());
        (joint, single, missing(first, 0), missing(second, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false, 1, 1), (false, true, 0, 1)]));
}

/// Two joint calls in opposite orders, with a token for one of them: they may both step back, but not both have it.
#[test]
fn two_joint_admissions_in_opposite_orders() {
    let outcomes = explore("budget_opposite_orders", || {
        let (first, second) = (bucket(1), bucket(1));
        let there = move || AllOf::new(["first", "second"], (first, second)).try_acquire([1, 1]).is_ok();
        let back = move || AllOf::new(["second", "first"], (second, first)).try_acquire([1, 1]).is_ok();
        let (there, back) = race2(there, back);
        (u8::from(there) + u8::from(back), missing(first, 0), missing(second, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 1, 1), (0, 0, 0)]));
}
