//! `budget`: what work costs, before and after; reservations against a replay of the whole history, guards, deadlines;
//! several limits at once; runs; trees.

#[cfg(feature = "inflight")]
mod all_of;
#[cfg(feature = "allowances")]
mod allowances;
mod by_id;
mod calibrated;
mod count;
mod history;
mod output;
#[cfg(feature = "serde")]
mod price_files;
mod providers;
mod ratio;
mod replay;
mod reservation;
mod run;
mod spend;
mod stress;
mod tree;
mod usage;
mod weights;

use std::time::Duration;

use proptest::prelude::*;
use tollgate::budget::{Budget, BudgetBuilder, Ratio, TokenClass, Usage};
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

fn ratio(over: u32, under: u32) -> Ratio {
    Ratio::new(over, under).unwrap_or_else(|error| panic!("{error}"))
}

/// Fractions with small denominators, so that their sums fit 128 bits in whatever way they are formed.
fn ratios() -> impl Strategy<Value = Ratio> {
    (0..=2_000_u32, 1..=100_u32).prop_map(|(over, under)| ratio(over, under))
}

/// Both sides told, tokens by class.
fn usage_of(tokens: [u64; 6]) -> Usage {
    let classes = TokenClass::ALL.into_iter().zip(tokens);
    classes.fold(Usage::default(), |usage, (class, tokens)| usage.with(class, tokens))
}

fn tokens() -> impl Strategy<Value = [u64; 6]> {
    prop::array::uniform6(prop_oneof![0..=5_u64, 0..=1_000_000_u64, 0..=1_u64 << 60])
}
