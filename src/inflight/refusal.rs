//! The answers "no", and limits that are none.

use std::fmt;

use super::tally::{MAX_LIMIT, Tally};

/// Why no permit was given. Nothing was taken.
///
/// There is no time at which a permit comes free, it depends on the work that holds it; so unlike
/// [`Denied`](crate::Denied) this has no wait to tell. Who cannot wait in line turns the work away, or tries elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
#[non_exhaustive]
pub enum NoPermit {
    /// So much is in use that the weight does not fit now.
    InUse {
        /// The permits asked for.
        weight: u32,
        /// The permits in use when it was refused.
        in_use: u32,
        /// The limit when it was refused.
        limit: u32,
    },
    /// Others wait in line; what is there, or comes free, is theirs.
    OthersFirst {
        /// The permits asked for.
        weight: u32,
        /// The permits in use when it was refused.
        in_use: u32,
        /// The limit when it was refused.
        limit: u32,
    },
    /// The weight is above the limit: it is never admitted, however long the caller waits, unless the limit is raised.
    OverLimit {
        /// The permits asked for.
        weight: u32,
        /// The limit when it was refused.
        limit: u32,
    },
    /// A weight of zero asks for nothing.
    ZeroWeight,
    /// The line is as long as it may be.
    LineFull {
        /// How many may wait.
        depth: usize,
    },
    /// The caller's time was up while it waited.
    TimedOut,
}

/// Why a refusal for lack of permits came about. Inlined: where only "yes" or "no" is wanted, all of it falls away.
#[inline]
pub(super) fn refusal(weight: u32, seen: Tally) -> NoPermit {
    let (in_use, limit) = (seen.in_use(), seen.limit());
    if weight > limit {
        NoPermit::OverLimit { weight, limit }
    } else if seen.is_marked() {
        NoPermit::OthersFirst { weight, in_use, limit }
    } else {
        NoPermit::InUse { weight, in_use, limit }
    }
}

impl NoPermit {
    /// Whether the same call can succeed later without anyone changing the limit.
    pub fn is_for_now(&self) -> bool {
        !matches!(self, Self::OverLimit { .. } | Self::ZeroWeight)
    }
}

impl fmt::Display for NoPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { weight, in_use, limit } => {
                write!(f, "{in_use} of {limit} permits are in use: {weight} more do not fit now")
            }
            Self::OthersFirst { weight, in_use, limit } => {
                write!(
                    f,
                    "{in_use} of {limit} permits are in use, and others wait for theirs before these {weight}"
                )
            }
            Self::OverLimit { weight, limit } => {
                write!(f, "weight {weight} is above the limit of {limit} and will never be admitted under it")
            }
            Self::ZeroWeight => write!(f, "weight 0 is invalid: a weight is at least 1"),
            Self::LineFull { depth } => write!(f, "the line is full: {depth} wait already"),
            Self::TimedOut => write!(f, "time was up before a permit came free"),
        }
    }
}

impl std::error::Error for NoPermit {}

/// A limit that cannot be; it names the value and the range it must lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// A limit is from 1 to 2^31 - 1.
    OutOfRange {
        /// The limit asked for.
        limit: u32,
    },
    /// The bounds of an adaptive limit are in the wrong order, or the first limit is not within them.
    OutOfOrder {
        /// The lowest limit asked for.
        min: u32,
        /// The first limit asked for.
        initial: u32,
        /// The highest limit asked for.
        max: u32,
    },
    /// A parameter of an algorithm is out of its range.
    Parameter {
        /// Its name.
        name: &'static str,
        /// The range it must lie in.
        range: &'static str,
    },
}

impl LimitError {
    /// The limit, if it can be one.
    pub(super) fn checked(limit: u32) -> Result<u32, Self> {
        if (1..=MAX_LIMIT).contains(&limit) { Ok(limit) } else { Err(Self::OutOfRange { limit }) }
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { limit } => {
                write!(f, "a limit of {limit}: it must be from 1 to {MAX_LIMIT} (2^31 - 1)")
            }
            Self::OutOfOrder { min, initial, max } => {
                write!(
                    f,
                    "a limit that starts at {initial} between {min} and {max}: it must be min <= initial <= max"
                )
            }
            Self::Parameter { name, range } => write!(f, "`{name}` must be {range}"),
        }
    }
}

impl std::error::Error for LimitError {}
