//! What became of a call, as the upstream's gates see it.

use core::time::Duration;

use smallvec::SmallVec;

use super::gate::Word;
use crate::upstream::retry::is_server_error;
use crate::upstream::{Cost, Dimension, Heard, Reading};

/// What became of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The upstream is well, whatever it thinks of the call.
    Well,
    /// It failed; it may say how long to wait.
    Failed(Option<Duration>),
    /// A limit was passed: of these dimensions, or if there is none, of all.
    Limited(Dimensions, Option<Duration>),
    /// The call never left, or the mirror is closed and takes care of it.
    Unknown,
}

type Dimensions = SmallVec<[Dimension; 2]>;

impl Verdict {
    /// Of a response to a call of this cost, which its mirror has heard.
    pub(super) fn of_response(reading: &Reading<'_>, heard: Heard, cost: &Cost) -> Self {
        let failed = is_server_error(reading.status());
        match heard {
            Heard::Terminal(_) => Self::Unknown,
            Heard::RetryAfter(wait) if failed => Self::Failed(Some(wait)),
            Heard::RetryAfter(wait) => Self::Limited(exhausted(reading, cost), Some(wait)),
            Heard::Limited(wait) => Self::Limited(exhausted(reading, cost), wait),
            Heard::Overloaded => Self::Failed(None),
            _ if failed => Self::Failed(None),
            _ => Self::Well,
        }
    }

    /// Those whose limit was passed.
    pub(super) fn dimensions(&self) -> &[Dimension] {
        match self {
            Self::Limited(dimensions, _) => dimensions,
            _ => &[],
        }
    }

    /// For the gate before all calls.
    pub(super) fn of_all(&self) -> Word {
        match self {
            Self::Well => Word::Good,
            Self::Failed(None) => Word::Bad,
            Self::Failed(hint) => Word::Close(*hint),
            Self::Limited(dimensions, hint) if dimensions.is_empty() => Word::Close(*hint),
            // It answers, and knows its limits.
            Self::Limited(..) => Word::Good,
            Self::Unknown => Word::Nothing,
        }
    }

    /// For the gate before calls that need a dimension, as this one did.
    pub(super) fn of(&self, dimension: Dimension) -> Word {
        match self {
            Self::Well => Word::Good,
            Self::Limited(dimensions, hint) if dimensions.contains(&dimension) => Word::Close(*hint),
            _ => Word::Nothing,
        }
    }
}

/// What the call needs and the response tells to be used up.
fn exhausted(reading: &Reading<'_>, cost: &Cost) -> Dimensions {
    let mut dimensions = Dimensions::new();
    for window in reading.windows() {
        let dimension = window.dimension;
        let is_missed = window.remaining == Some(0) && cost.amount(dimension) > 0;
        if is_missed && !dimensions.contains(&dimension) {
            dimensions.push(dimension);
        }
    }
    dimensions
}
