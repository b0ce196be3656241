//! Budgets for work whose cost is known only when it is done: reservations that are settled.
//!
//! A call to a language model, or of a tool, costs what it turns out to cost. So an estimate is *reserved* before it starts,
//! and *settled* when the cost is known: a [`Budget`] is a bucket that remembers what is needed to do that exactly. A
//! call is often within several limits: [`AllOf`] asks them as one.
#![cfg_attr(
    feature = "allowances",
    doc = "\nWhat a program shares is declared by name in a file: [`allowances`]."
)]

mod all_of;
#[cfg(feature = "allowances")]
pub mod allowances;
mod reserve;

pub use self::all_of::{
    AllOf, AnyGrant, AnyLimit, BySize, Demand, Grant, Limit, Reading, Reason, Refused, acquire_all,
};
pub use self::reserve::{
    Account, Budget, BudgetBuilder, BudgetError, Charging, Estimate, Late, Progress, Reservation, Settled,
    Unsettled,
};
