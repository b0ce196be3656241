//! What can stand in the way of a permit.

use core::fmt;
use core::time::Duration;

use crate::redis::error::StoreError;

/// Why permits cannot be had on these terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoInFlight {
    /// No permits, or more than 2^31 - 1.
    Limit {
        /// The limit asked for.
        limit: u32,
    },
    /// A lease shorter than 10 ms or longer than 30 days.
    Lease {
        /// The lease asked for.
        lease: Duration,
    },
}

/// Why there is no permit now.
#[derive(Debug)]
#[must_use = "a refusal means that the work may not start"]
#[non_exhaustive]
pub enum NoRedisPermit {
    /// Too much is in flight. Nothing was taken.
    Busy {
        /// The weights of all permits held.
        in_use: u64,
        /// The limit.
        limit: u32,
    },
    /// The weight is above the limit.
    OverLimit {
        /// The weight asked for.
        weight: u32,
        /// The limit.
        limit: u32,
    },
    /// A weight of 0.
    ZeroWeight,
    /// The server gave no answer. Whether it gave a permit is not known; if so it is given back, or its lease
    /// ends.
    Store(StoreError),
}

/// A lease is over, and somebody else may have the permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseLost;

/// Why a lease was not begun anew.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotRenewed {
    /// It was over.
    Lost(LeaseLost),
    /// The server gave no answer. Whether it was renewed is not known.
    Store(StoreError),
}

impl From<StoreError> for NoRedisPermit {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<StoreError> for NotRenewed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<LeaseLost> for NotRenewed {
    fn from(lost: LeaseLost) -> Self {
        Self::Lost(lost)
    }
}

impl fmt::Display for NoInFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit { limit } => write!(f, "limit: {limit} is not in 1..=2147483647"),
            Self::Lease { lease } => write!(f, "lease: {lease:?} is not from 10 ms to 30 days"),
        }
    }
}

impl fmt::Display for NoRedisPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { in_use, limit } => write!(f, "{in_use} of {limit} permits are held"),
            Self::OverLimit { weight, limit } => {
                write!(f, "a weight of {weight} is above the limit of {limit}")
            }
            Self::ZeroWeight => f.write_str("a weight of 0"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for LeaseLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lease of the permit is over")
    }
}

impl fmt::Display for NotRenewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(lost) => lost.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoInFlight {}

impl std::error::Error for NoRedisPermit {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl std::error::Error for LeaseLost {}

impl std::error::Error for NotRenewed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Lost(lost) => Some(lost),
            Self::Store(error) => Some(error),
        }
    }
}
