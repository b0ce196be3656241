//! How a budget is made.

use std::time::Duration;

use super::{Budget, BudgetError, Charging, Policy, Unsettled};
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::quota::Quota;

/// Options of a [`Budget`].
///
/// ```
/// use std::time::Duration;
/// use tollgate::budget::{Budget, Charging, Unsettled};
/// use tollgate::quota;
///
/// let tokens = Budget::builder(quota!("100k/min"))
///     .dropped(Unsettled::Observed)
///     .time_limit(Duration::from_secs(120))
///     .charging(Charging::Completions)
///     .build()?;
/// # Ok::<(), tollgate::budget::BudgetError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "it makes no budget before `build`"]
pub struct BudgetBuilder {
    quota: Quota,
    policy: Policy,
}

impl BudgetBuilder {
    pub(super) fn new(quota: Quota) -> Self {
        Self { quota, policy: Policy::default() }
    }

    /// What becomes of a reservation that is dropped; by default it keeps its charge.
    pub fn dropped(mut self, policy: Unsettled) -> Self {
        self.policy.dropped = policy;
        self
    }

    /// What becomes of a reservation at its deadline; by default it keeps its charge, the worst case.
    pub fn overdue(mut self, policy: Unsettled) -> Self {
        self.policy.overdue = policy;
        self
    }

    /// What work is charged for; attempts by default.
    pub fn charging(mut self, charging: Charging) -> Self {
        self.policy.charging = charging;
        self
    }

    /// How long a reservation may be open; ten minutes by default. It must be above 0.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.policy.time_limit = Nanos::from_duration(limit);
        self
    }

    /// How much is kept of what progress lets expect, in per cent of it; 130 by default. It must be at least 100.
    pub fn margin_percent(mut self, percent: u32) -> Self {
        self.policy.margin_percent = percent;
        self
    }

    /// The budget, on the [`Monotonic`] clock.
    ///
    /// # Errors
    ///
    /// [`BudgetError`] for a choice that is out of its range.
    pub fn build(self) -> Result<Budget, BudgetError> {
        self.build_with_clock(Monotonic::new())
    }

    /// The budget, on a clock of the caller's.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_with_clock<C: Clock>(self, clock: C) -> Result<Budget<C>, BudgetError> {
        let Policy { time_limit, margin_percent, .. } = self.policy;
        if time_limit == Nanos::ZERO {
            return Err(BudgetError::TimeLimit { limit: time_limit.as_duration() });
        }
        if margin_percent < 100 {
            return Err(BudgetError::Margin { percent: margin_percent });
        }
        Ok(Budget::with_policy(self.quota, self.policy, clock))
    }
}
