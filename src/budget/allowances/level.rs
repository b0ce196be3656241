//! What a look at an allowance shows.

use std::sync::Arc;

use super::amount::Unit;

/// How an allowance stands at one moment; from [`Allowances::levels`](super::Allowances::levels).
///
/// ```
/// use tollgate::Manual;
/// use tollgate::budget::allowances::{Allowances, Config};
///
/// let config: Config = "
///     [allowance.plan]
///     unit = 'tokens'
///     rate = '100/min'
///
///     [tool.ask]
///     uses = { plan = 'tokens' }
/// "
/// .parse()?;
/// let allowances = Allowances::with_clock(config, Manual::new());
/// let call = allowances.call("ask").estimate(60).try_acquire()?;
/// let look = || allowances.levels().swap_remove(0);
/// assert_eq!((look().available(), look().in_flight(), look().debt()), (40, 1, 0));
/// call.settle(130);
/// assert_eq!((look().available(), look().in_flight(), look().debt()), (0, 0, 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowanceLevel {
    name: Arc<str>,
    unit: Unit,
    share_of: Option<Arc<str>>,
    figures: Figures,
}

/// The figures alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) limit: u64,
    pub(super) available: u64,
    pub(super) debt: u64,
    pub(super) in_flight: u64,
}

impl AllowanceLevel {
    pub(super) fn new(name: Arc<str>, unit: Unit, share_of: Option<Arc<str>>, figures: Figures) -> Self {
        Self { name, unit, share_of, figures }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it counts.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// What it is a share of, if it is one.
    pub fn share_of(&self) -> Option<&str> {
        self.share_of.as_deref()
    }

    /// The most that is ever there: the capacity of a rate in tokens or calls, or all permits.
    pub fn limit(&self) -> u64 {
        self.figures.limit
    }

    /// What is there now beside all that is reserved, rounded down.
    pub fn available(&self) -> u64 {
        self.figures.available
    }

    /// What has been used beyond what was there, rounded up. Permits have none.
    pub fn debt(&self) -> u64 {
        self.figures.debt
    }

    /// Calls that hold something of it and are not settled yet; of permits the number that is in use.
    pub fn in_flight(&self) -> u64 {
        self.figures.in_flight
    }
}
