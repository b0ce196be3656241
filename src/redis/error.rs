//! What can stand in the way.

use core::fmt;
use core::time::Duration;

use redis::RedisError;

use crate::decision::Denied;
use crate::quota::Quota;

/// Why a quota cannot be kept in Redis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotRepresentable {
    /// It does not begin full. A key that is gone is a full bucket.
    InitialFill {
        /// The quota.
        quota: Quota,
    },
    /// Its capacity has 2^52 units or more, on the scale of the script.
    TooFine {
        /// The quota.
        quota: Quota,
    },
}

/// Why nothing was admitted, or nothing is known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The limit refuses. Nothing was consumed.
    Denied(Denied),
    /// The server gave no answer. Whether the cost was taken is not known.
    Store(StoreError),
}

/// Why the server gave no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// None came within the deadline.
    Deadline {
        /// The deadline of the call.
        deadline: Duration,
    },
    /// The connection, or the server, answered with an error.
    Failed(RedisError),
    /// The answer is none of this crate's script.
    Answer,
    /// It was not asked: it has failed too often, and is asked again after so long.
    NotAsked {
        /// Until it is asked again, at the earliest.
        retry_in: Duration,
    },
    /// The limit has been closed, or what draws its leases does not run any more.
    Closed,
}

impl Refused {
    /// The wait after which the same cost is admitted, if it is known and nobody else takes it.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Denied(denied) => denied.wait(),
            Self::Store(_) => None,
        }
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for NotRepresentable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InitialFill { quota } => write!(f, "initial fill: `{quota}` does not begin full"),
            Self::TooFine { quota } => {
                write!(f, "capacity: that of `{quota}` has 2^52 units of a microsecond's share or more")
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline { deadline } => write!(f, "no answer within {deadline:?}"),
            Self::Failed(error) => write!(f, "the store failed: {error}"),
            Self::Answer => f.write_str("the store's answer is not understood"),
            Self::NotAsked { retry_in } => {
                write!(f, "the store has failed too often, and is asked again in {retry_in:?}")
            }
            Self::Closed => f.write_str("the limit is closed"),
        }
    }
}

impl std::error::Error for NotRepresentable {}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Denied(denied) => Some(denied),
            Self::Store(error) => Some(error),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            _ => None,
        }
    }
}
