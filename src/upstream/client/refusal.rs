//! Why a call was not sent.

use core::fmt;
use core::time::Duration;

use crate::upstream::adapt::HeldBack;
use crate::upstream::mirror::Refused;

/// Why a call was not sent. Nothing was charged.
///
/// ```
/// use std::time::Duration;
/// use tollgate::upstream::{NotSent, Refused};
///
/// let paused = NotSent::Refused(Refused::Paused { wait: Duration::from_secs(7) });
/// assert_eq!((paused.wait(), paused.is_for_now()), (Some(Duration::from_secs(7)), true));
/// assert_eq!(paused.to_string(), "the upstream asked to wait: 7s");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a refusal means that the call may not be sent"]
#[non_exhaustive]
pub enum NotSent {
    /// The mirror says no; or it says how long the wait is, and that is longer than the caller would wait.
    Refused(Refused),
    /// The same of the rate that adapts.
    HeldBack(HeldBack),
    /// Others wait, and what comes free is theirs.
    OthersFirst,
    /// The line is as long as it may be.
    LineFull {
        /// How many may wait.
        depth: usize,
    },
    /// The caller's time was up while it waited in line.
    TimedOut,
}

impl NotSent {
    /// How long until the same cost can be sent, if the upstream's limits tell it; `None` if no wait helps, or if it depends
    /// on others in line.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Refused(refused) => refused.wait(),
            Self::HeldBack(held) => held.wait(),
            Self::OthersFirst | Self::LineFull { .. } | Self::TimedOut => None,
        }
    }

    /// Whether the same call can succeed later.
    pub fn is_for_now(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::HeldBack(_)) || self.wait().is_some()
    }
}

impl From<Refused> for NotSent {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<HeldBack> for NotSent {
    fn from(held: HeldBack) -> Self {
        Self::HeldBack(held)
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::HeldBack(held) => held.fmt(f),
            Self::OthersFirst => f.write_str("others wait to send, and go first"),
            Self::LineFull { depth } => write!(f, "{depth} wait to send already"),
            Self::TimedOut => f.write_str("the time was up while others were sent first"),
        }
    }
}

impl core::error::Error for NotSent {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::HeldBack(held) => Some(held),
            _ => None,
        }
    }
}

/// Why [`Throttle::run`](super::Throttle::run) has no response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// It was not sent.
    NotSent(NotSent),
    /// The client failed. Whether the upstream has counted the call is not known, so it stays charged.
    Client(E),
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) => write!(f, "not sent: {why}"),
            Self::Client(error) => write!(f, "sent, and failed: {error}"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for RunError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NotSent(why) => Some(why),
            Self::Client(error) => Some(error),
        }
    }
}
