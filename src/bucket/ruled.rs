//! A word and the rules that move it: what every limiter on one word decides with.

use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::{Cost, Gcra};
use crate::level::Level;
use crate::nanos::Nanos;
use crate::word::{Raised, Unraised, Word};

/// A word and its rules, borrowed for one call. A bucket has one of each; keyed limiters have one word a key.
#[derive(Clone, Copy)]
pub(crate) struct Ruled<'a> {
    pub(crate) gcra: &'a Gcra,
    pub(crate) word: &'a Word,
}

impl Ruled<'_> {
    /// The refusal, if the cost would not be admitted even at the latest time that it can be now. Nothing at all for
    /// clocks that cannot be glanced at.
    #[inline(always)]
    pub(crate) fn refuse_at_a_glance(self, cost: &Cost, clock: &impl Clock) -> Option<Denied> {
        let (earliest, latest) = clock.glance()?.into_inner();
        let (hold, arrival) = (self.word.hold(), self.word.arrival());
        let issued = self.gcra.issued(latest.as_u64());
        if latest.as_u64() >= hold && self.gcra.admit(arrival, issued, *cost).is_some() {
            return None;
        }
        Some(self.gcra.not_yet(arrival, earliest.as_u64(), *cost, hold))
    }

    /// The word that was written, or the refusal. The whole of the hot path: one attempt, in straight code.
    ///
    /// The next reading of the time-stamp counter waits for what depends on the last one, beyond some 30 cycles of it.
    /// So the refusal is put together from registers, and no step on the way to its wait is there twice.
    ///
    /// Always inlined, with its callers and the few lines it calls: where only "yes" or "no" is wanted, what else a
    /// refusal says falls away, but only the caller's compiler can see that. Left to itself it inlines the first call in
    /// a program and not the second, which then takes twice the instructions.
    #[inline(always)]
    pub(crate) fn admit(self, cost: &Cost, now: Nanos) -> Result<u64, Denied> {
        let (now, hold) = (now.as_u64(), self.word.hold());
        let needed = if self.is_open(now, hold) {
            let issued = self.gcra.issued(now);
            let arrival = self.word.arrival();
            match self.word.raise_from(arrival, |arrival| self.gcra.admit(arrival, issued, *cost)) {
                Ok(written) => return Ok(written),
                Err(Unraised::Declined) => self.gcra.needed_within_horizon(arrival, *cost),
                Err(Unraised::Overtaken(_)) => match self.admit_overtaken(cost.units, now) {
                    Ok(written) => return Ok(written),
                    Err(seen) => self.gcra.needed_within_horizon(seen, *cost),
                },
            }
        } else {
            self.gcra.needed(self.word.arrival(), now.max(hold), *cost)
        };
        Err(self.gcra.refusal(needed, now, hold))
    }

    /// [`admit`](Self::admit) when another call was faster. It takes what is in registers anyway, and works out the
    /// rest again; its answer fits into registers too.
    #[cold]
    #[inline(never)]
    fn admit_overtaken(self, units: u64, now: u64) -> Result<u64, u64> {
        let (cost, issued) = (self.gcra.valid_cost(units), self.gcra.issued(now));
        self.word.raise(|arrival| self.gcra.admit(arrival, issued, cost)).map(|raised| raised.written)
    }

    /// What [`admit`](Self::admit) would answer; it takes nothing.
    #[cfg(feature = "budget")]
    #[inline]
    pub(crate) fn would_admit(self, cost: Cost, now: Nanos) -> Result<(), Denied> {
        let (now, hold) = (now.as_u64(), self.word.hold());
        let (issued, arrival) = (self.gcra.issued(now), self.word.arrival());
        if self.is_open(now, hold) && self.gcra.admit(arrival, issued, cost).is_some() {
            return Ok(());
        }
        Err(self.gcra.not_yet(arrival, now, cost, hold))
    }

    /// [`lend`](Self::lend) now, after a glance.
    #[cfg(feature = "sharded")]
    pub(crate) fn lend_now(
        self,
        least: u64,
        most: u64,
        part: u32,
        clock: &impl Clock,
    ) -> Result<u64, Denied> {
        match self.refuse_at_a_glance(&self.gcra.cost(least)?, clock) {
            Some(denied) => Err(denied),
            None => self.lend(least, most, part, clock.now()),
        }
    }

    /// Takes at least `least` tokens, or none, and at most `most`: one part in `2^part` of what is there, if that lies
    /// between the two.
    pub(crate) fn lend(self, least: u64, most: u64, part: u32, now: Nanos) -> Result<u64, Denied> {
        let cost = self.gcra.cost(least)?;
        let (now, hold) = (now.as_u64(), self.word.hold());
        if !self.is_open(now, hold) {
            return Err(self.refuse(cost, now, hold));
        }
        let issued = self.gcra.issued(now);
        let lent = |arrival: u64| {
            let there = self.gcra.available(arrival.saturating_sub(issued));
            (there >> part).min(most).max(least)
        };
        match self.word.raise(|arrival| self.gcra.admit(arrival, issued, self.gcra.cost(lent(arrival)).ok()?))
        {
            Ok(raised) => Ok(lent(raised.seen)),
            Err(arrival) => Err(self.gcra.not_yet(arrival, now, cost, hold)),
        }
    }

    /// Takes `units` whether they are there or not, and tells the step and how many were taken, which is fewer where the
    /// word saturated.
    pub(crate) fn charge(self, units: u64, now: Nanos) -> (Raised, u64) {
        let issued = self.gcra.issued(now.as_u64());
        let raised = self.word.raise_always(|arrival| self.gcra.charge(arrival, issued, units));
        (raised, raised.written - raised.seen.max(issued))
    }

    /// Gives `cost` tokens back, up to a full bucket, to a word whose charges are never undone; tells whether the word is
    /// in force.
    #[cfg(any(feature = "adjust", feature = "keyed"))]
    pub(crate) fn refund(self, cost: u64, now: Nanos) -> bool {
        let (issued, units) = (self.gcra.issued(now.as_u64()), self.gcra.units(cost));
        self.word.lower(|arrival| self.gcra.refund(arrival, issued, units))
    }

    /// Empties the bucket and tells how many whole tokens that took; a debt stays as it is.
    pub(crate) fn drain(self, now: Nanos) -> u64 {
        let issued = self.gcra.issued(now.as_u64());
        let empty = self.gcra.holding(issued, 0);
        let Raised { seen, .. } = self.word.raise_always(|arrival| arrival.max(empty));
        self.gcra.available(seen.saturating_sub(issued))
    }

    /// What is there, without taking it.
    pub(crate) fn peek(self, now: Nanos) -> Level {
        Level::new(*self.gcra, self.word.arrival(), now.as_u64(), self.word.hold())
    }

    #[inline(always)]
    fn is_open(self, now: u64, hold: u64) -> bool {
        now >= hold && self.gcra.counts(now)
    }

    #[cold]
    fn refuse(self, cost: Cost, now: u64, hold: u64) -> Denied {
        self.gcra.not_yet(self.word.arrival(), now, cost, hold)
    }
}
