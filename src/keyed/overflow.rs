//! What becomes of a key for which there is no room.

use crate::bucket::Ruled;
use crate::decision::{Denied, NotYet};
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Ordering};
use crate::word::Word;

/// What becomes of a new key while there is no room for it. Keys that have a place are never touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It is refused with [`Denied::NoRoom`] until another key can be forgotten.
    Refuse,
    /// It draws on one bucket that all such keys share. A change of a class's quota does not change it.
    Share(Quota),
    /// It is admitted, and nothing is kept of it.
    Admit,
}

/// How many calls found no room, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverflowCounts {
    /// Refused for want of room.
    pub refused: u64,
    /// Decided by the shared bucket, either way.
    pub shared: u64,
    /// Admitted without limit.
    pub admitted: u64,
}

/// The choice, its bucket and its counters.
pub(super) struct Rest {
    choice: Choice,
    calls: AtomicU64,
}

enum Choice {
    Refuse,
    Share { gcra: Gcra, word: Word },
    Admit,
}

impl Rest {
    pub(super) fn new(overflow: Overflow, now: Nanos) -> Self {
        let choice = match overflow {
            Overflow::Refuse => Choice::Refuse,
            Overflow::Admit => Choice::Admit,
            Overflow::Share(quota) => {
                let gcra = Gcra::new(&quota);
                let issued = gcra.issued(now.as_u64());
                Choice::Share { gcra, word: Word::new(gcra.holding(issued, quota.initial_tokens())) }
            }
        };
        Self { choice, calls: AtomicU64::new(0) }
    }

    /// Decides on a key without a place; `room` tells when there can be one.
    pub(super) fn try_acquire(&self, tokens: u64, now: Nanos, room: NotYet) -> Result<(), Denied> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match &self.choice {
            Choice::Refuse => Err(Denied::NoRoom(room)),
            Choice::Share { gcra, word } => Ruled { gcra, word }.admit(&gcra.cost(tokens)?, now).map(drop),
            Choice::Admit => Ok(()),
        }
    }

    /// Charges a key without a place, which is nothing unless there is a shared bucket.
    pub(super) fn charge(&self, tokens: u64, now: Nanos) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if let Choice::Share { gcra, word } = &self.choice {
            Ruled { gcra, word }.charge(gcra.units(tokens), now);
        }
    }

    pub(super) fn counts(&self) -> OverflowCounts {
        let calls = self.calls.load(Ordering::Relaxed);
        let none = OverflowCounts::default();
        match self.choice {
            Choice::Refuse => OverflowCounts { refused: calls, ..none },
            Choice::Share { .. } => OverflowCounts { shared: calls, ..none },
            Choice::Admit => OverflowCounts { admitted: calls, ..none },
        }
    }
}
