//! Why something was refused, out of a fixed set.

use crate::decision::Denied;

/// Why a call was refused: the values of the label `reason`.
///
/// What an operator does about a refusal depends on this; how long the wait is, and whose key it was, is for
/// logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// The tokens were not there, or the limiter was paused.
    NotYet,
    /// The permits were in use, or others stood before; or open calls of a run had reserved what is left of
    /// it.
    InUse,
    /// There was no room: for another key, or in the line.
    NoRoom,
    /// The caller's time was up, or would have been.
    TooLate,
    /// So much is never admitted.
    Never,
    /// It asked for nothing.
    Invalid,
    /// The limit takes nothing any more.
    Closed,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::NotYet, Self::InUse, Self::NoRoom, Self::TooLate, Self::Never, Self::Invalid, Self::Closed];

    /// The value of the label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotYet => "not_yet",
            Self::InUse => "in_use",
            Self::NoRoom => "no_room",
            Self::TooLate => "too_late",
            Self::Never => "never",
            Self::Invalid => "invalid",
            Self::Closed => "closed",
        }
    }
}

/// A refusal that has a [`Reason`]. Implement it for refusals of your own.
pub trait HasReason {
    /// The reason.
    fn reason(&self) -> Reason;
}

impl HasReason for Reason {
    fn reason(&self) -> Reason {
        *self
    }
}

impl<R: HasReason> HasReason for &R {
    fn reason(&self) -> Reason {
        (**self).reason()
    }
}

impl HasReason for Denied {
    #[inline]
    fn reason(&self) -> Reason {
        match self {
            Self::NotYet(_) => Reason::NotYet,
            Self::OverCapacity { .. } => Reason::Never,
            Self::ZeroCost => Reason::Invalid,
            Self::NoRoom(_) => Reason::NoRoom,
        }
    }
}

#[cfg(feature = "inflight")]
impl HasReason for crate::inflight::NoPermit {
    fn reason(&self) -> Reason {
        match self {
            Self::InUse { .. } | Self::OthersFirst { .. } => Reason::InUse,
            Self::LineFull { .. } => Reason::NoRoom,
            Self::TimedOut => Reason::TooLate,
            Self::OverLimit { .. } => Reason::Never,
            Self::ZeroWeight => Reason::Invalid,
        }
    }
}

#[cfg(feature = "inflight")]
impl HasReason for crate::inflight::Unjoined {
    fn reason(&self) -> Reason {
        match self {
            Self::Rate(denied) => denied.reason(),
            Self::InFlight(no) => no.reason(),
        }
    }
}

#[cfg(feature = "wait")]
impl HasReason for crate::wait::Refused {
    fn reason(&self) -> Reason {
        match self {
            Self::Full(_) => Reason::NoRoom,
            Self::Hopeless(_) => Reason::TooLate,
            Self::Closed => Reason::Closed,
            Self::Never(denied) => denied.reason(),
        }
    }
}

#[cfg(feature = "budget")]
impl HasReason for crate::budget::Reason {
    fn reason(&self) -> Reason {
        match self {
            Self::Denied(denied) => denied.reason(),
            #[cfg(feature = "inflight")]
            Self::NoPermit(no) => no.reason(),
            Self::Ended(_) => Reason::Closed,
            Self::Reserved(_) => Reason::InUse,
        }
    }
}

#[cfg(feature = "budget")]
impl HasReason for crate::budget::Refused<'_> {
    fn reason(&self) -> Reason {
        HasReason::reason(&Self::reason(self))
    }
}
