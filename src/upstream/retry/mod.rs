//! Trying again: whether, when, and how often in all.

mod backoff;
mod budget;
mod policy;
mod tries;

pub use self::backoff::Backoff;
pub use self::budget::{RetryBudget, RetryBudgetError};
pub use self::policy::{Retry, RetryPolicy};
pub use self::tries::Tries;
