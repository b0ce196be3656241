//! A call that asks once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::amount::Amount;
use super::config::Consumed;
use super::grants::{Grant, Grants};
use super::source::Asked;
use super::{Allowances, InForce};
use crate::budget::all_of::{Reason, take_each};
use crate::budget::estimate::Estimate;
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;

/// A call of a tool that is about to ask for all that it consumes.
#[derive(Debug)]
#[must_use = "it asks for nothing before `try_acquire`"]
pub struct Call<'a, C: Clock = Monotonic> {
    allowances: &'a Allowances<C>,
    tool: &'a str,
    caller: Option<&'a str>,
    estimate: Option<u64>,
    /// By allowance.
    estimates: Vec<(&'a str, u64)>,
}

/// A call that was not admitted. Nothing was taken of any allowance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the call may not be made"]
#[non_exhaustive]
pub enum NotAdmitted {
    /// An allowance refused. If more than one did, it is the one that stands in the way longest, as for
    /// [`Refused`](crate::budget::Refused).
    Refused {
        /// The name of the allowance.
        allowance: Arc<str>,
        /// Why, and how long.
        reason: Reason,
    },
    /// No such tool is declared, so nothing says what it consumes.
    UnknownTool {
        /// The tool.
        tool: String,
    },
    /// The tool consumes tokens, and neither the call nor the file says how many.
    NoEstimate {
        /// The name of the allowance.
        allowance: Arc<str>,
    },
    /// The call states an estimate for an allowance of which it consumes no tokens.
    NotConsumed {
        /// The name of the allowance.
        allowance: String,
    },
}

impl<'a, C: Clock> Call<'a, C> {
    pub(super) fn new(allowances: &'a Allowances<C>, tool: &'a str) -> Self {
        Self { allowances, tool, caller: None, estimate: None, estimates: Vec::new() }
    }

    /// Who makes it. Without one, or for one that is not declared, it is made by `"*"`, if that is declared.
    pub fn by(mut self, caller: &'a str) -> Self {
        self.caller = Some(caller);
        self
    }

    /// What it is estimated at, in tokens, for each allowance of tokens that it consumes. Without it, what the file
    /// assumes.
    pub fn estimate(mut self, tokens: u64) -> Self {
        self.estimate = Some(tokens);
        self
    }

    /// What it is estimated at for one allowance, and all shares of it, where a call consumes different kinds of tokens.
    pub fn estimate_of(mut self, allowance: &'a str, tokens: u64) -> Self {
        self.estimates.push((allowance, tokens));
        self
    }

    /// Takes from all allowances that it consumes now, or refuses and takes from none.
    ///
    /// # Errors
    ///
    /// [`NotAdmitted`]
    pub fn try_acquire(self) -> Result<Grants<C>, NotAdmitted> {
        let now = self.allowances.clock().now();
        self.try_acquire_at(now)
    }

    /// [`try_acquire`](Self::try_acquire) at a reading that the caller has taken from the clock of the allowances.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_at(self, now: Nanos) -> Result<Grants<C>, NotAdmitted> {
        let in_force = self.allowances.in_force();
        let consumed = self.consumed(&in_force)?;
        let asked =
            consumed.iter().map(|one| self.asked(one, &in_force, now)).collect::<Result<Vec<_>, _>>()?;
        let given = take_each(&asked).map_err(|worst| {
            let refused = worst.named(|_| "");
            let place = consumed.get(refused.place()).map(|one| one.place);
            NotAdmitted::Refused { allowance: in_force.name(place), reason: refused.reason() }
        })?;
        let grants = consumed.iter().zip(given).map(|(one, given)| Grant {
            name: in_force.name(Some(one.place)),
            whole: in_force.name(Some(in_force.config.whole_of(one.place))),
            is_settled: matches!(one.amount, Amount::Estimate { .. }),
            given,
        });
        Ok(Grants::new(grants.collect()))
    }

    fn consumed(&self, in_force: &InForce<C>) -> Result<Vec<Consumed>, NotAdmitted> {
        let config = &in_force.config;
        let Some(tool) = config.tools.get(self.tool) else {
            return Err(NotAdmitted::UnknownTool { tool: self.tool.to_owned() });
        };
        let consumed = config.consumed(tool, config.caller(self.caller));
        let is_consumed = |name: &str| {
            let of_tokens = consumed.iter().filter(|one| matches!(one.amount, Amount::Estimate { .. }));
            config.named(name).is_some_and(|place| of_tokens.clone().any(|one| one.place == place))
        };
        match self.estimates.iter().find(|(name, _)| !is_consumed(name)) {
            Some((name, _)) => Err(NotAdmitted::NotConsumed { allowance: (*name).to_owned() }),
            None => Ok(consumed),
        }
    }

    fn asked<'s>(
        &self,
        one: &Consumed,
        in_force: &'s InForce<C>,
        now: Nanos,
    ) -> Result<Asked<'s, C>, NotAdmitted> {
        let no_estimate = || NotAdmitted::NoEstimate { allowance: in_force.name(Some(one.place)) };
        let cost = match one.amount {
            Amount::Fixed(number) => Estimate::Stated(number),
            Amount::Estimate { assumed } => match self.estimate_for(one.place, in_force) {
                Some(stated) => Estimate::Stated(stated),
                None => Estimate::Defaulted(assumed.ok_or_else(no_estimate)?),
            },
        };
        // There is one for each allowance.
        let source = in_force.sources.get(one.place).ok_or_else(no_estimate)?;
        Ok(Asked { source, cost, now })
    }

    /// What is stated for the allowance, or for the nearest that it is a share of, or else for all.
    fn estimate_for(&self, place: usize, in_force: &InForce<C>) -> Option<u64> {
        let mut stated = None;
        in_force.config.with_all_above(place, |place| {
            let name = in_force.config.name(place);
            let of_this = self.estimates.iter().rev().find(|(of, _)| *of == name).map(|(_, tokens)| *tokens);
            stated = stated.or(of_this);
        });
        stated.or(self.estimate)
    }
}

impl NotAdmitted {
    /// The allowance that refused, or that lacks an estimate.
    pub fn allowance(&self) -> Option<&str> {
        match self {
            Self::Refused { allowance, .. } | Self::NoEstimate { allowance } => Some(allowance),
            Self::NotConsumed { allowance } => Some(allowance),
            Self::UnknownTool { .. } => None,
        }
    }

    /// The largest wait of all that refused, zero where only work in flight stands in the way; `None` if the same call is
    /// never admitted under the declarations in force.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Refused { reason, .. } => reason.wait(),
            _ => None,
        }
    }
}

impl fmt::Display for NotAdmitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { allowance, reason } => write!(f, "refused by `{allowance}`: {reason}"),
            Self::UnknownTool { tool } => write!(f, "no tool `{tool}` is declared"),
            Self::NoEstimate { allowance } => {
                write!(f, "no estimate for `{allowance}`: state one, or let the file assume one")
            }
            Self::NotConsumed { allowance } => {
                write!(f, "an estimate for `{allowance}`, of which the call consumes no tokens")
            }
        }
    }
}

impl std::error::Error for NotAdmitted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { reason, .. } => Some(reason),
            _ => None,
        }
    }
}
