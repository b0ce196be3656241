//! What a caller brings to a queue.

use std::time::Duration;

use crate::nanos::Nanos;

/// What is asked of a [`Queue`](super::Queue): a cost, of some class, by some time.
///
/// ```
/// use std::time::Duration;
/// use tollgate::wait::Entry;
///
/// // Three tokens, for work two classes below the most urgent, which is of no use after 250 ms.
/// let entry = Entry::new(3).class(2).within(Duration::from_millis(250));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(super) cost: u64,
    pub(super) class: u8,
    /// The last reading of the clock at which it is of use.
    pub(super) until: Nanos,
    /// The same as a span from the call.
    pub(super) within: Nanos,
}

impl Entry {
    /// `cost` tokens, of the highest class, with no deadline but the queue's own.
    pub const fn new(cost: u64) -> Self {
        Self { cost, class: 0, until: Nanos::MAX, within: Nanos::MAX }
    }

    /// Of this class: 0 is the highest, 7 the lowest, and what is beyond counts as the lowest.
    pub const fn class(self, class: u8) -> Self {
        Self { class, ..self }
    }

    /// Of no use after the reading `deadline` of the queue's clock, as the caller's own caller set it. The earlier one
    /// counts if [`within`](Self::within) is given too.
    pub const fn until(self, deadline: Nanos) -> Self {
        Self { until: deadline, ..self }
    }

    /// Of no use later than `span` from the call of [`acquire`](super::Queue::acquire).
    pub const fn within(self, span: Duration) -> Self {
        Self { within: Nanos::from_duration(span), ..self }
    }

    /// The deadline of a call at the reading `now`.
    pub(super) fn deadline(&self, now: Nanos) -> Nanos {
        self.until.min(now.saturating_add(self.within))
    }
}
