//! A retry budget: no token is taken twice, and none that a success brought is lost.

use std::collections::BTreeSet;

use tollgate::upstream::RetryBudget;
use tollgate_loom_tests::{explore, leak, race2, race3};

/// Of a capacity of 3 and with 2 a retry, after one retry: 1 token is left.
fn with_one_token() -> &'static RetryBudget {
    let budget = RetryBudget::new(3, 2, 1).expect("valid figures");
    assert!(budget.try_withdraw());
    leak(budget)
}

#[test]
fn the_last_tokens_allow_one_retry() {
    let outcomes = explore("retry_last_tokens", || {
        let budget = leak(RetryBudget::new(3, 2, 1).expect("valid figures"));
        let withdraw = move || budget.try_withdraw();
        (race2(withdraw, withdraw), budget.available())
    });
    assert_eq!(outcomes, BTreeSet::from([((true, false), 1), ((false, true), 1)]));
}

/// A success brings the token that was missing for one of two: for one at most, and not for none if both came late.
#[test]
fn a_success_allows_one_retry() {
    let outcomes = explore("retry_success_and_two_retries", || {
        let budget = with_one_token();
        let withdraw = move || budget.try_withdraw();
        let (first, second, ()) = race3(withdraw, withdraw, move || budget.deposit());
        (first, second, budget.available())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false, 0), (false, true, 0), (false, false, 2)]));
}

/// Each success counts, but for those above the capacity.
#[test]
fn successes_are_added_up_to_the_capacity() {
    let outcomes = explore("retry_three_successes", || {
        let budget = with_one_token();
        let succeed = move || budget.deposit();
        race3(succeed, succeed, succeed);
        budget.available()
    });
    assert_eq!(outcomes, BTreeSet::from([3]));
}
