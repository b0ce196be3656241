//! What a limit said to an arrival.

use std::time::Duration;

use tollgate::Denied;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Admitted,
    /// Not enough tokens at that moment, and the wait that would help.
    Refused(Duration),
    /// The cost is above the capacity.
    Never,
    /// It asks for nothing.
    ZeroCost,
}

#[cfg(feature = "redis")]
impl Decision {
    /// Whether both admit, or both do not and for the same reason; waits may be told in other units.
    pub(super) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl From<Result<(), Denied>> for Decision {
    fn from(decision: Result<(), Denied>) -> Self {
        match decision {
            Ok(()) => Self::Admitted,
            Err(Denied::NotYet(refusal) | Denied::NoRoom(refusal)) => Self::Refused(refusal.wait()),
            Err(Denied::OverCapacity { .. }) => Self::Never,
            Err(Denied::ZeroCost) => Self::ZeroCost,
        }
    }
}
