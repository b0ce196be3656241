//! A reservation is closed once, by whoever comes first: its holder or its deadline.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tollgate::Denied;
use tollgate::budget::{Budget, BudgetError, Charging, Estimate, Late, Progress, Unsettled};

use super::{available, budget, built, set};
use crate::support::{MINUTE, S, at, quota};

fn builder() -> tollgate::budget::BudgetBuilder {
    Budget::builder(quota(1, 3600 * S, 100))
}

#[test]
fn a_surplus_comes_back_and_an_overrun_is_debt() {
    let budget = budget(1, S, 100);
    let settled = budget.reserve(60).unwrap().settle(20).unwrap();
    assert_eq!((settled.charged, settled.given_back, settled.withheld, settled.overrun), (20, 40, 0, 0));
    let settled = budget.reserve(80).unwrap().settle(130).unwrap();
    assert_eq!((settled.charged, settled.given_back, settled.withheld, settled.overrun), (130, 0, 0, 50));
    assert_eq!((available(&budget), budget.peek().debt()), (0, 50));
}

#[test]
fn what_refill_has_made_good_is_withheld_and_said_so() {
    let budget = budget(1, S, 100);
    let guard = budget.reserve(60).unwrap();
    set(&budget, 50 * S + 1);
    let settled = guard.settle(10).unwrap();
    // All but a nanosecond's part of 10 is missing still: given back are 9 whole ones.
    assert_eq!((settled.given_back, settled.withheld, available(&budget)), (9, 41, 100));
}

#[test]
fn dropping_follows_the_policy() {
    let cases = [
        (Unsettled::Keep, None, 40),
        (Unsettled::Keep, Some(25), 40),
        (Unsettled::Observed, None, 40),
        (Unsettled::Observed, Some(25), 75),
        (Unsettled::Refund, None, 100),
        (Unsettled::Refund, Some(25), 75),
        (Unsettled::Refund, Some(80), 20),
    ];
    for (policy, observed, left) in cases {
        let budget = built(builder().dropped(policy));
        let mut guard = budget.reserve(60).unwrap();
        observed.into_iter().for_each(|used| guard.observe(used));
        drop(guard);
        assert_eq!((available(&budget), budget.open_reservations()), (left, 0), "{policy:?} {observed:?}");
    }
}

#[test]
fn a_panic_and_a_cancelled_future_close_it() {
    let budget = built(builder().dropped(Unsettled::Refund));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = budget.reserve(60).unwrap();
        panic!("the work fails");
    }));
    assert!(panicked.is_err());
    assert_eq!((available(&budget), budget.open_reservations()), (100, 0));
    let future = async {
        let _guard = budget.reserve(60).unwrap();
        std::future::pending::<()>().await;
    };
    let mut future = Box::pin(future);
    let waker = std::task::Waker::noop();
    assert!(future.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    assert_eq!(available(&budget), 40);
    drop(future);
    assert_eq!((available(&budget), budget.open_reservations()), (100, 0));
}

#[test]
fn a_failure_is_charged_by_attempt_unless_chosen_otherwise() {
    let by_attempt = built(builder());
    let failed = by_attempt.reserve(60).unwrap().fail().unwrap();
    assert_eq!((failed.charged, failed.given_back, available(&by_attempt)), (60, 0, 40));
    let by_completion = built(builder().charging(Charging::Completions));
    let mut guard = by_completion.reserve(60).unwrap();
    guard.observe(5);
    let failed = guard.fail().unwrap();
    assert_eq!((failed.charged, failed.given_back, available(&by_completion)), (5, 55, 95));
}

#[test]
fn a_use_that_nobody_told_is_not_zero() {
    let budget = budget(1, S, 100);
    let mut guard = budget.reserve(60).unwrap();
    guard.observe(70);
    assert_eq!(guard.settle_reported(None).unwrap().charged, 70);
    assert_eq!(budget.reserve(10).unwrap().settle_reported(Some(3)).unwrap().given_back, 7);
}

#[test]
fn a_stated_estimate_is_refused_where_a_default_is_cut_down() {
    let budget = budget(100, MINUTE, 100);
    let over = Denied::OverCapacity { cost: 1024, capacity: 100 };
    assert_eq!(budget.reserve(1024).err(), Some(over));
    assert_eq!(budget.reserve(Estimate::Stated(1024)).err(), Some(over));
    assert_eq!(budget.reserve(Estimate::Defaulted(1024)).unwrap().charged(), 100);
    assert_eq!(budget.reserve(0).err(), Some(Denied::ZeroCost));
}

#[test]
fn progress_releases_early_and_never_below_what_is_used() {
    let budget = budget(1, S, 50_000);
    let mut guard = budget.reserve(50_000).unwrap();
    guard.observe_progress(5_000, Progress::percent(80));
    assert_eq!((guard.charged(), guard.observed(), available(&budget)), (8_125, Some(5_000), 41_875));
    guard.observe_progress(8_000, Progress::percent(100));
    assert_eq!(guard.charged(), 8_125, "8000 with its margin is more than is held");
    guard.observe_progress(9_000, Progress::percent(50));
    assert_eq!((guard.charged(), available(&budget)), (9_000, 41_000), "what is used is charged, no more");
    guard.observe(100);
    assert_eq!(guard.observed(), Some(9_000), "a smaller figure changes nothing");
    assert_eq!(guard.settle(8_500).unwrap().given_back, 500);
}

#[test]
fn a_forgotten_one_is_closed_at_its_deadline() {
    for (policy, left) in [(Unsettled::Keep, 40), (Unsettled::Refund, 100)] {
        let budget = built(builder().overdue(policy).time_limit(Duration::from_secs(10)));
        std::mem::forget(budget.reserve(60).unwrap());
        set(&budget, 10 * S - 1);
        assert_eq!((available(&budget), budget.open_reservations()), (40, 1));
        set(&budget, 10 * S);
        assert_eq!((available(&budget), budget.open_reservations()), (left, 0), "{policy:?}");
    }
}

#[test]
fn whoever_wants_the_tokens_closes_what_is_overdue() {
    let budget = built(builder().overdue(Unsettled::Refund));
    std::mem::forget(budget.reserve_until(60, at(5)).unwrap());
    assert!(budget.reserve(100).is_err());
    set(&budget, 5);
    assert!(budget.reserve(100).is_ok());
}

#[test]
fn who_settles_late_is_told_so_and_pays_the_overrun() {
    let budget = built(builder().overdue(Unsettled::Observed));
    let mut guards: Vec<_> = (0..3).map(|_| budget.reserve_until(20, at(5)).unwrap()).collect();
    guards[0].observe(5);
    set(&budget, 5);
    for (guard, (kept, overrun)) in guards.into_iter().zip([(5, 3), (20, 0), (20, 1)]) {
        let Late { kept: told, overrun: charged, .. } = guard.settle(kept + overrun).unwrap_err();
        assert_eq!((told, charged), (kept, overrun));
    }
    // 20 less 15 given back at the deadline, and 3 and 1 charged late: 100 - 5 - 20 - 20 - 3 - 1.
    assert_eq!(available(&budget), 51);
    let message = budget.reserve_until(1, at(0)).unwrap().settle(2).unwrap_err().to_string();
    assert!(message.contains("1 tokens were kept; 1 more"), "{message}");
}

#[test]
fn an_owned_one_outlives_its_maker_and_leaves_nothing_behind() {
    let budget = Arc::new(built(builder()));
    let guard = budget.reserve_owned(60).unwrap();
    let settled = std::thread::spawn(move || guard.settle(1)).join().unwrap().unwrap();
    assert_eq!((settled.given_back, available(&budget), Arc::strong_count(&budget)), (59, 99, 1));
}

#[test]
fn a_pause_stops_reserving_and_nothing_else() {
    let budget = budget(1, S, 100);
    let guard = budget.reserve(50).unwrap();
    budget.pause_for(Duration::from_secs(9));
    assert_eq!(budget.reserve(1).unwrap_err().wait(), Some(Duration::from_secs(9)));
    assert_eq!(guard.settle(0).unwrap().given_back, 50);
    budget.resume();
    assert!(budget.reserve(100).is_ok());
}

#[test]
fn choices_out_of_range_are_named() {
    let limit = builder().time_limit(Duration::ZERO).build().err();
    assert_eq!(limit, Some(BudgetError::TimeLimit { limit: Duration::ZERO }));
    let margin = builder().margin_percent(99).build().err();
    assert_eq!(margin, Some(BudgetError::Margin { percent: 99 }));
    assert_eq!(margin.unwrap().to_string(), "a margin of 99 %: it must be from 100 to 4294967295");
}

/// Ten thousand that are made, looked at and cancelled, in every order: exactly what was used is missing at the end.
#[test]
fn ten_thousand_cancelled_reservations_leave_the_balance_they_should() {
    let budget = built(Budget::builder(quota(1, 3600 * S, 1_000_000)).dropped(Unsettled::Observed));
    let mut used = 0;
    for round in 0..100_u64 {
        let mut guards: Vec<_> = (0..100).map(|n| budget.reserve(10 + n).unwrap()).collect();
        for (n, guard) in guards.iter_mut().enumerate().filter(|(n, _)| n % 3 == 0) {
            guard.observe(n as u64 % 10);
            used += n as u64 % 10;
        }
        while !guards.is_empty() {
            let next = guards.swap_remove((round as usize * 31) % guards.len());
            let released = next.observed().is_none();
            if released { assert!(next.release().unwrap().withheld == 0) } else { drop(next) }
        }
    }
    assert_eq!((available(&budget), budget.open_reservations()), (1_000_000 - used, 0));
}
