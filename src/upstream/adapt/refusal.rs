//! Why a call was held back.

use std::fmt;
use std::time::Duration;

use crate::decision::Denied;

/// Why a call may not be sent to the upstream now. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the call may not be sent"]
pub enum HeldBack {
    /// By the rate of now; or its cost never fits.
    Denied(Denied),
    /// The upstream has asked for a pause.
    Paused {
        /// How long it lasts.
        wait: Duration,
    },
    /// A pause is over, and one call is out to see whether the upstream accepts again.
    Probing {
        /// When to ask again: in as long as that call has been out already, but no less than a hundredth of the
        /// [`probe_deadline`](super::AdaptiveRateBuilder::probe_deadline), and no later than that itself, when it is lost.
        wait: Duration,
    },
}

impl HeldBack {
    /// How long until it is worth asking again; `None` if the cost never fits.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Denied(denied) => denied.wait(),
            Self::Paused { wait } | Self::Probing { wait } => Some(*wait),
        }
    }
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            Self::Paused { wait } => write!(f, "the upstream has asked for a pause: try again in {wait:?}"),
            Self::Probing { wait } => {
                write!(f, "one call is out to try the upstream: ask again in {wait:?}")
            }
        }
    }
}

impl std::error::Error for HeldBack {}
