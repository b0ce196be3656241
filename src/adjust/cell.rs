//! A quota, its rules and its word.

use crossbeam_utils::CachePadded;

use crate::bucket::Ruled;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::Gcra;
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

    /// Admits one token now, or refuses.
    #[inline(always)]
    pub(super) fn admit(&self, clock: &impl Clock) -> Result<(), Denied> {
        match self.ruled().refuse_at_a_glance(&self.gcra.one, clock) {
            Some(denied) => Err(denied),
            None => self.ruled().admit(&self.gcra.one, clock.now()).map(drop),
        }
    }

    /// Admits `cost` tokens now, or refuses.
    #[inline(always)]
    pub(super) fn admit_n(&self, cost: u64, clock: &impl Clock) -> Result<(), Denied> {
        let asked = self.gcra.cost(cost)?;
        match self.ruled().refuse_at_a_glance(&asked, clock) {
            Some(denied) => Err(denied),
            None => self.ruled().admit(&asked, clock.now()).map(drop),
        }
    }

    /// Takes `cost` tokens, there or not; `false`, and nothing taken, if the cell is not in force.
    pub(super) fn charge(&self, cost: u64, now: Nanos) -> bool {
        self.ruled().charge(self.gcra.units(cost), now).0.is_of_a_word_in_force()
    }

    /// Gives `cost` tokens back, up to a full bucket; `false`, and nothing given, if the cell is not in force.
    pub(super) fn refund(&self, cost: u64, now: Nanos) -> bool {
        self.ruled().refund(cost, now)
    }
}
