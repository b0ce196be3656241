//! `upstream::RetryPolicy` and `RetryBudget`.

mod budget;
mod policy;
