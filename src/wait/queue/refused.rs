//! Why a queue does not serve an entry, and what can be counted of it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::decision::{Denied, NotYet};

/// Why a [`Queue`](super::Queue) did not admit an entry. Nothing was consumed.
///
/// A caller does something else about each reason: come back later, give the work up, go elsewhere, or mend the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
pub enum Refused {
    /// The queue is full: no place is free, or the wait would be longer than the queue lets anybody wait. It can also
    /// come later, when entries of higher classes have come in before this one.
    Full(NotYet),
    /// The entry's own deadline cannot be met any more.
    Hopeless(NotYet),
    /// The queue has been [closed](super::Queue::close).
    Closed,
    /// The cost is 0 or above the bucket's capacity: it will never be admitted.
    Never(Denied),
}

impl Refused {
    /// How long until the entry would have been served, as the line stood when it was refused; `None` for never.
    ///
    /// Exact if nobody comes in between and nobody leaves.
    pub fn wait(&self) -> Option<Duration> {
        self.expected().map(NotYet::wait)
    }

    /// The same in whole seconds, rounded up and never zero, for a `Retry-After` field.
    pub fn retry_after(&self) -> Option<Duration> {
        self.expected().map(NotYet::retry_after)
    }

    /// When capacity is expected: see [`wait`](Self::wait).
    pub fn expected(&self) -> Option<&NotYet> {
        match self {
            Self::Full(expected) | Self::Hopeless(expected) => Some(expected),
            Self::Closed | Self::Never(_) => None,
        }
    }

    /// `denied`, which is for now or for ever, for the reason `why`.
    pub(super) fn because(why: fn(NotYet) -> Self, denied: Denied) -> Self {
        match denied {
            Denied::NotYet(expected) => why(expected),
            never => Self::Never(never),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(expected) => {
                write!(f, "the queue is full: capacity is expected in {:?}", expected.wait())
            }
            Self::Hopeless(expected) => {
                write!(f, "the deadline cannot be met: capacity is expected in {:?}", expected.wait())
            }
            Self::Closed => write!(f, "the queue is closed"),
            Self::Never(denied) => denied.fmt(f),
        }
    }
}

impl Error for Refused {}

/// How entries ended, counted since the queue was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Served.
    pub admitted: u64,
    /// Dropped by the caller before they were served.
    pub cancelled: u64,
    /// Refused with [`Refused::Full`].
    pub full: u64,
    /// Refused with [`Refused::Hopeless`].
    pub hopeless: u64,
    /// Refused with [`Refused::Closed`].
    pub closed: u64,
    /// Refused with [`Refused::Never`].
    pub never: u64,
}

impl Outcomes {
    pub(super) fn count(&mut self, refused: &Refused) {
        let count = match refused {
            Refused::Full(_) => &mut self.full,
            Refused::Hopeless(_) => &mut self.hopeless,
            Refused::Closed => &mut self.closed,
            Refused::Never(_) => &mut self.never,
        };
        *count += 1;
    }
}
