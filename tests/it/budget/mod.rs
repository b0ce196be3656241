//! `budget`: reservations against a replay of the whole history, guards, deadlines.

#[cfg(feature = "inflight")]
mod all_of;
#[cfg(feature = "allowances")]
mod allowances;
mod replay;
mod reservation;
mod stress;

use std::time::Duration;

use tollgate::budget::{Budget, BudgetBuilder};
use tollgate::{Manual, Nanos};

use crate::support::{at, quota};

/// A budget on a clock that stands at zero, without a deadline that any test comes to.
fn budget(tokens: u64, period: u64, burst: u64) -> Budget<Manual> {
    built(Budget::builder(quota(tokens, period, burst)).time_limit(Duration::MAX))
}

fn built(builder: BudgetBuilder) -> Budget<Manual> {
    builder.build_with_clock(Manual::new()).unwrap()
}

fn set(budget: &Budget<Manual>, now: u64) -> Nanos {
    budget.clock().set(at(now));
    at(now)
}

fn available(budget: &Budget<Manual>) -> u64 {
    budget.peek().available()
}
