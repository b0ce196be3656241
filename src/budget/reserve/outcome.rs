//! What becomes of reservations: the choices of an owner, and what callers are told.

use std::fmt;
use std::time::Duration;

use super::ledger::Held;

/// What becomes of a reservation that nobody has settled: dropped, failed in a panic, or overdue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unsettled {
    /// It keeps what it has been charged. The default: whoever forgets to settle pays what was reserved.
    #[default]
    Keep,
    /// It is settled with what was [observed](super::Reservation::observe) last; where nothing was, it keeps what it has
    /// been charged, for a use that nobody told is not zero.
    Observed,
    /// It gives back what was not observed: all of it, where nothing was.
    Refund,
}

/// What a piece of work is charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charging {
    /// Being tried. [`fail`](super::Reservation::fail) keeps the charge. The default, and the bound that upstreams
    /// enforce: attempts of a net cost of at most `B + r*t` in any time `t`.
    #[default]
    Attempts,
    /// Being completed. [`fail`](super::Reservation::fail) gives back what was not observed, so only what succeeds is within
    /// `B + r*t`; how often something is tried and fails is not limited.
    Completions,
}

/// What a settled reservation came to, in tokens.
///
/// `charged + withheld` is what it counts for: its actual cost, plus what could not be given back because refill has made it
/// good already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it tells what was charged, and what was given back"]
#[non_exhaustive]
pub struct Settled {
    /// What the work cost.
    pub charged: u64,
    /// What was given back at the settlement, rounded down.
    pub given_back: u64,
    /// Surplus that was not given back, because the bucket has been refilled with it meanwhile; rounded up.
    pub withheld: u64,
    /// What was charged at the settlement beyond what had been charged before. It may have become debt.
    pub overrun: u64,
}

/// A reservation that was settled after its deadline, when it had been closed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Late {
    /// The tokens that the budget's policy kept at the deadline. Nothing of them is given back.
    pub kept: u64,
    /// What the work cost beyond that. It has been charged now.
    pub overrun: u64,
}

/// A choice that a budget cannot be built with; it names the value and the range it must lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// A reservation must be allowed to stay open for some time.
    TimeLimit {
        /// The time limit asked for.
        limit: Duration,
    },
    /// A margin is at least 100 %, for less would give back what the work is known to need.
    Margin {
        /// The margin asked for.
        percent: u32,
    },
}

impl Unsettled {
    /// The tokens that stay charged.
    pub(super) fn kept(self, held: Held) -> u64 {
        match self {
            Self::Keep => held.tokens,
            Self::Observed => held.observed.unwrap_or(held.tokens),
            Self::Refund => held.observed.unwrap_or(0),
        }
    }
}

impl Charging {
    /// What becomes of work that has failed.
    pub(super) fn of_failure(self) -> Unsettled {
        match self {
            Self::Attempts => Unsettled::Keep,
            Self::Completions => Unsettled::Refund,
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, overrun } = self;
        write!(f, "settled after the deadline, at which {kept} tokens were kept; {overrun} more are charged")
    }
}

impl std::error::Error for Late {}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeLimit { limit } => {
                write!(f, "a time limit of {limit:?} for reservations: it must be above 0")
            }
            Self::Margin { percent } => {
                write!(f, "a margin of {percent} %: it must be from 100 to {}", u32::MAX)
            }
        }
    }
}

impl std::error::Error for BudgetError {}
