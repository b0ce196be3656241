//! Why a call may not be sent, and why a mirror cannot be built.

use core::fmt;
use core::time::Duration;

use crate::upstream::read::{Class, Dimension};

/// Why a call may not be sent now. Nothing was charged.
///
/// ```
/// use std::time::Duration;
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Mirror, Refused};
///
/// let mirror = Mirror::builder().limit(Dimension::Requests, quota!("2/min")).build()?;
/// let never = Refused::OverCapacity { dimension: Dimension::Requests, capacity: 2 };
/// assert_eq!(mirror.try_send(&Cost::requests(3)).unwrap_err(), never);
/// assert_eq!(never.wait(), None);
///
/// mirror.pause_for(Duration::from_secs(600));
/// assert!(matches!(mirror.try_send(&Cost::requests(1)), Err(Refused::Paused { .. })));
/// # Ok::<(), tollgate::upstream::MirrorError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a refusal means that the call may not be sent"]
pub enum Refused {
    /// A limit has not enough left; the one with the longest wait is named.
    NotYet {
        /// What the limit counts.
        dimension: Dimension,
        /// How long until it has enough, if all that is in flight is counted and nobody takes anything meanwhile;
        /// rounded up, never zero.
        wait: Duration,
    },
    /// The cost is above what the limit ever has for this caller: it will never be let through.
    OverCapacity {
        /// What the limit counts.
        dimension: Dimension,
        /// The most that is ever let through at once: the capacity less what is kept for others.
        capacity: u64,
    },
    /// The upstream asked everybody to wait.
    Paused {
        /// How long still; or longer, if a limit needs longer too.
        wait: Duration,
    },
    /// A quota is used up and no wait helps, until [`Mirror::reopen`](super::Mirror::reopen).
    Terminal(Class),
}

impl Refused {
    /// How long until the same cost can be let through; `None` if waiting does not help.
    pub const fn wait(&self) -> Option<Duration> {
        match self {
            Self::NotYet { wait, .. } | Self::Paused { wait } => Some(*wait),
            Self::OverCapacity { .. } | Self::Terminal(_) => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet { dimension, wait } => write!(f, "not yet: {dimension:?} has enough in {wait:?}"),
            Self::OverCapacity { dimension, capacity } => {
                write!(f, "the cost in {dimension:?} is above {capacity} and will never be let through")
            }
            Self::Paused { wait } => write!(f, "the upstream asked to wait: {wait:?}"),
            Self::Terminal(_) => write!(f, "a quota of the upstream is used up, and no wait helps"),
        }
    }
}

impl core::error::Error for Refused {}

/// A mirror that cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MirrorError {
    /// Nothing would be left of a limit.
    KeepsAll {
        /// What the limit counts.
        dimension: Dimension,
        /// What is to be kept for others.
        keep: u64,
        /// What the limit has when it is full.
        capacity: u64,
    },
    /// Something is to be kept of a limit that is not there.
    KeepsOfNothing {
        /// What the limit would count.
        dimension: Dimension,
    },
    /// A window of no length or without allowance, or one that is too large.
    Window {
        /// What the limit counts.
        dimension: Dimension,
        /// What is wrong with it as a quota.
        error: crate::quota::QuotaError,
    },
}

impl fmt::Display for MirrorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeepsAll { dimension, keep, capacity } => {
                let most = capacity.saturating_sub(1);
                write!(
                    f,
                    "keeping {keep} of {dimension:?}: must be at most {most}, for the capacity is {capacity}"
                )
            }
            Self::KeepsOfNothing { dimension } => {
                write!(f, "keeping some of {dimension:?}: a limit of {dimension:?} must be set too")
            }
            Self::Window { dimension, error } => write!(f, "window of {dimension:?}: {error}"),
        }
    }
}

impl core::error::Error for MirrorError {}
