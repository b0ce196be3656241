//! Budgets for work whose cost is known only when it is done: reservations that are settled.
//!
//! A call to a language model, or of a tool, costs what it turns out to cost. So an estimate is *reserved* before it starts,
//! and *settled* when the cost is known: a [`Budget`] is a bucket that remembers what is needed to do that exactly.

mod reserve;

pub use self::reserve::{
    Account, Budget, BudgetBuilder, BudgetError, Charging, Estimate, Late, Progress, Reservation, Settled,
    Unsettled,
};
