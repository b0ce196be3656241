//! A budget under its lock: what one thread at a time does to the word and to the ledger.

use super::ledger::{Held, Ledger};
use super::outcome::{Late, Settled, Unsettled};
use super::progress::Progress;
use crate::bucket::Ruled;
use crate::decision::Denied;
use crate::gcra::Cost;
use crate::nanos::Nanos;

/// The word, its rules and the ledger.
pub(super) struct Books<'a> {
    pub(super) ruled: Ruled<'a>,
    pub(super) ledger: &'a mut Ledger,
    /// No older than any reading before.
    pub(super) now: Nanos,
}

impl Books<'_> {
    /// Closes what is overdue.
    pub(super) fn close_overdue(&mut self, policy: Unsettled) {
        while let Some(number) = self.ledger.overdue(self.now.as_u64()) {
            if let Some(held) = self.ledger.held(number) {
                let _kept = self.settle(number, held, policy.kept(held));
            }
        }
    }

    /// Takes the cost if it is there at the caller's own reading, and opens a reservation.
    pub(super) fn reserve(
        &mut self,
        cost: &Cost,
        tokens: u64,
        deadline: Nanos,
        asked_at: Nanos,
    ) -> Result<u64, Denied> {
        let missing = self.missing();
        self.ruled.admit(cost, asked_at)?;
        self.ledger.note(missing);
        Ok(self.ledger.open(Held { tokens, observed: None }, deadline.as_u64()))
    }

    /// Takes tokens whether they are there or not.
    pub(super) fn charge(&mut self, tokens: u64) {
        let missing = self.missing();
        self.ledger.note(missing);
        self.ruled.charge(self.ruled.gcra.units(tokens), self.now);
    }

    /// Settles an open reservation that has been charged `held`, and closes it.
    pub(super) fn settle(&mut self, number: u64, held: Held, actual: u64) -> Settled {
        let overrun = actual.saturating_sub(held.tokens);
        if overrun > 0 {
            self.charge(overrun);
        }
        let surplus = held.tokens.saturating_sub(actual);
        let given_back = self.give_back(number, surplus);
        self.ledger.close(number);
        Settled { charged: actual, given_back, withheld: surplus - given_back, overrun }
    }

    /// Charges what was used beyond what an open reservation holds, or gives back what it will not need by its progress, and
    /// tells what it holds then.
    pub(super) fn observe(
        &mut self,
        number: u64,
        held: Held,
        used: u64,
        progress: Option<Progress>,
        margin_percent: u32,
    ) -> Held {
        let used = used.max(held.observed.unwrap_or(0));
        let overrun = used.saturating_sub(held.tokens);
        if overrun > 0 {
            self.charge(overrun);
        }
        let charged = held.tokens.max(used);
        let needed = progress.and_then(|progress| progress.whole(used, margin_percent)).unwrap_or(charged);
        let tokens = needed.clamp(used, charged);
        self.give_back(number, charged - tokens);
        let held = Held { tokens, observed: Some(used) };
        self.ledger.set_held(number, held);
        held
    }

    /// Charges what a reservation has used beyond the `kept` tokens with which it was closed at its deadline.
    pub(super) fn charge_late(&mut self, kept: u64, used: Option<u64>) -> Late {
        let overrun = used.unwrap_or(0).saturating_sub(kept);
        if overrun > 0 {
            self.charge(overrun);
        }
        Late { kept, overrun }
    }

    /// Gives a surplus of an open reservation back, as far as it may, and tells how many tokens that was.
    fn give_back(&mut self, number: u64, surplus: u64) -> u64 {
        if surplus == 0 {
            return 0;
        }
        let missing = self.missing();
        let units = self.ledger.give_back(number, self.ruled.gcra.units(surplus), missing);
        self.ruled.word.lower(|arrival| arrival.saturating_sub(units));
        units / self.ruled.gcra.one.units
    }

    /// How much is missing from a full bucket, in units.
    fn missing(&self) -> u64 {
        self.ruled.peek(self.now).deficit()
    }
}
