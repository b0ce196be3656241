//! Trying again: whether, when, and how often in all.

mod backoff;
mod budget;
mod policy;
mod tries;

pub use self::backoff::Backoff;
pub use self::budget::{RetryBudget, RetryBudgetError};
pub(super) use self::policy::is_server_error;
pub use self::policy::{Retry, RetryPolicy};
pub use self::tries::Tries;
