//! A quota, its rules and its word.

use crossbeam_utils::CachePadded;

use crate::bucket::Ruled;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::{Cost, Gcra};
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::word::Word;

/// A quota, its rules, and the word that counts by them. Only the word ever changes, so whoever still holds a cell that
/// went out of force holds rules that fit its word, now and when it comes into force again.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) quota: Quota,
    pub(super) gcra: Gcra,
    pub(super) word: CachePadded<Word>,
}

impl Cell {
    /// A cell that is not in force.
    pub(super) fn retired(quota: Quota, gcra: Gcra) -> Self {
        Self { quota, gcra, word: CachePadded::new(Word::retired()) }
    }

    #[inline(always)]
    pub(super) fn ruled(&self) -> Ruled<'_> {
        Ruled { gcra: &self.gcra, word: &self.word }
    }

    /// The refusal, if the cost would not be admitted even at the latest time that it can be now.
    #[inline(always)]
    pub(super) fn refuse_at_a_glance(&self, cost: &Cost, clock: &impl Clock) -> Option<Denied> {
        let (earliest, latest) = clock.glance()?.into_inner();
        let (hold, arrival) = (self.word.hold(), self.word.arrival());
        let issued = self.gcra.issued(latest.as_u64());
        if latest.as_u64() >= hold && self.gcra.admit(arrival, issued, *cost).is_some() {
            return None;
        }
        Some(self.gcra.not_yet(arrival, earliest.as_u64(), *cost, hold))
    }

    /// Takes `cost` tokens, there or not; `false`, and nothing taken, if the cell is not in force.
    pub(super) fn charge(&self, cost: u64, now: Nanos) -> bool {
        let (issued, units) = (self.gcra.issued(now.as_u64()), self.gcra.units(cost));
        self.word.raise_unless_retired(|arrival| self.gcra.charge(arrival, issued, units))
    }

    /// Gives `cost` tokens back, up to a full bucket; `false`, and nothing given, if the cell is not in force.
    pub(super) fn refund(&self, cost: u64, now: Nanos) -> bool {
        let (issued, units) = (self.gcra.issued(now.as_u64()), self.gcra.units(cost));
        self.word.lower_unless_retired(|arrival| self.gcra.refund(arrival, issued, units))
    }
}
