//! What can stand in the way of several buckets.

use core::fmt;
use core::time::Duration;

use crate::decision::Denied;
use crate::redis::error::{NotRepresentable, StoreError};

/// Why limits cannot be asked in one call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotTogether {
    /// There are none.
    NoLimits,
    /// A key twice.
    SameKey {
        /// The key.
        key: String,
    },
    /// Two keys that may lie on different nodes of a cluster.
    OtherSlot {
        /// A key.
        first: String,
        /// Its slot, of 16384.
        first_slot: u16,
        /// A key after it.
        other: String,
        /// Its slot.
        other_slot: u16,
    },
    /// A quota that cannot be kept exactly.
    Quota {
        /// Its key.
        key: String,
        /// What is wrong with it.
        why: NotRepresentable,
    },
}

/// Why nothing was admitted by any, or nothing is known.
#[derive(Debug)]
#[non_exhaustive]
pub enum AllOfRefused {
    /// A limit refuses. Nothing was consumed of any.
    Denied {
        /// Its place, from 0.
        place: usize,
        /// Its key.
        key: String,
        /// Why, and for how long.
        denied: Denied,
    },
    /// The server gave no answer. Whether the costs were taken is not known.
    Store(StoreError),
}

impl AllOfRefused {
    /// The wait after which the same costs are admitted, if it is known and nobody else takes the tokens.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Denied { denied, .. } => denied.wait(),
            Self::Store(_) => None,
        }
    }
}

impl From<StoreError> for AllOfRefused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for NotTogether {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLimits => f.write_str("limits: there are none"),
            Self::SameKey { key } => write!(f, "key: {key:?} is there twice"),
            Self::OtherSlot { first, first_slot, other, other_slot } => write!(
                f,
                "key: {other:?} has slot {other_slot} and {first:?} has slot {first_slot}; give them the same part in \
                 braces, as in {{api}}:requests and {{api}}:tokens"
            ),
            Self::Quota { key, why } => write!(f, "{key:?}: {why}"),
        }
    }
}

impl fmt::Display for AllOfRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { key, denied, .. } => write!(f, "{key}: {denied}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotTogether {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Quota { why, .. } => Some(why),
            _ => None,
        }
    }
}

impl std::error::Error for AllOfRefused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Denied { denied, .. } => Some(denied),
            Self::Store(error) => Some(error),
        }
    }
}
