//! Reservations that are open, and how little was missing from the bucket since each was made.
//!
//! # What a surplus may give back
//!
//! A reservation of 50 that turns out to cost 20 should leave the bucket as if 20 had been reserved. Had it been, the
//! bucket would hold 30 more, but never more than its capacity: where it came close to full meanwhile, refill ran over, and
//! that part is lost in either history. So a surplus `x` gives back `min(x, least deficit since the charge)`. And what is
//! given back belongs to the past too: the deficits that are remembered for others since then become smaller by it. The walk
//! from the charge on, `x := min(x, d); d := d - x` over every remembered deficit, is that of `GUARANTEES` section 6, and
//! leaves the bucket as a replay with the settled amounts would.
//!
//! # Why so little has to be remembered
//!
//! A deficit is least just before something is taken, or just after something is given. All that the walk must know of two
//! such moments that follow each other, with no open reservation made between them, is the smaller deficit: every walk
//! that comes to one comes to both, and `min` and the subtraction leave the same least behind, whether done twice or once
//! on the minimum. So there is one number for each open reservation: the least deficit from its charge until the next open
//! one was made. When a reservation is closed, its number becomes part of the one before.
//!
//! The tests hold this against a replay of the whole history.

use std::collections::{BTreeMap, BTreeSet};

/// Open reservations in the order in which they were made.
#[derive(Debug)]
pub(super) struct Ledger {
    open: BTreeMap<u64, Open>,
    /// Their deadlines and numbers.
    deadlines: BTreeSet<(u64, u64)>,
    made: u64,
    /// The latest reading so far. An older one counts as this.
    latest: u64,
}

/// What is remembered of one reservation.
#[derive(Clone, Copy, Debug)]
struct Open {
    held: Held,
    deadline: u64,
    /// The least deficit since it was made, and until the next one was.
    least: u64,
}

/// What a reservation has been charged, and what is known of its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Tokens charged.
    pub(super) tokens: u64,
    /// Tokens used so far, if that was told.
    pub(super) observed: Option<u64>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { open: BTreeMap::new(), deadlines: BTreeSet::new(), made: 0, latest: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The reading, or the latest one if that is later.
    pub(super) fn advance(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Remembers that so much was missing at one moment.
    pub(super) fn note(&mut self, deficit: u64) {
        if let Some(mut last) = self.open.last_entry() {
            let open = last.get_mut();
            open.least = open.least.min(deficit);
        }
    }

    /// Turns all that is remembered into other units. What was missing by now must have been noted.
    #[cfg(feature = "allowances")]
    pub(super) fn rescale(&mut self, to: impl Fn(u64) -> u64) {
        for open in self.open.values_mut() {
            open.least = to(open.least);
        }
    }

    /// Opens a reservation and tells its number. What was missing before its charge must have been noted.
    pub(super) fn open(&mut self, held: Held, deadline: u64) -> u64 {
        let number = self.made;
        self.made += 1;
        self.open.insert(number, Open { held, deadline, least: u64::MAX });
        self.deadlines.insert((deadline, number));
        number
    }

    /// What the reservation has been charged; nothing if it is closed.
    pub(super) fn held(&self, number: u64) -> Option<Held> {
        self.open.get(&number).map(|open| open.held)
    }

    pub(super) fn set_held(&mut self, number: u64, held: Held) {
        if let Some(open) = self.open.get_mut(&number) {
            open.held = held;
        }
    }

    /// How much of a surplus of the reservation may be given back, while so much is missing; it counts as given from here
    /// on, so it must be.
    pub(super) fn give_back(&mut self, number: u64, surplus: u64, deficit: u64) -> u64 {
        self.note(deficit);
        self.open.range_mut(number..).fold(surplus, |given, (_, open)| {
            let given = given.min(open.least);
            open.least -= given;
            given
        })
    }

    /// Closes the reservation. What is remembered since it was made becomes part of what is since the one before.
    pub(super) fn close(&mut self, number: u64) {
        let Some(closed) = self.open.remove(&number) else { return };
        self.deadlines.remove(&(closed.deadline, number));
        if let Some((_, before)) = self.open.range_mut(..number).next_back() {
            before.least = before.least.min(closed.least);
        }
    }

    /// An open reservation whose deadline is over.
    pub(super) fn overdue(&self, now: u64) -> Option<u64> {
        let &(deadline, number) = self.deadlines.first()?;
        (deadline <= now).then_some(number)
    }

    /// The earliest deadline of those that are open; `u64::MAX` if there is none.
    pub(super) fn next_deadline(&self) -> u64 {
        self.deadlines.first().map_or(u64::MAX, |&(deadline, _)| deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(tokens: u64) -> Held {
        Held { tokens, observed: None }
    }

    #[test]
    fn a_surplus_gives_back_what_refill_did_not() {
        let mut ledger = Ledger::new();
        ledger.note(0);
        let first = ledger.open(held(50), u64::MAX);
        // 50 were missing; 20 before the next charge of 40.
        ledger.note(20);
        assert_eq!(ledger.give_back(first, 50, 60), 20);
        assert_eq!(ledger.give_back(first, 50, 40), 0, "given once");
    }

    #[test]
    fn what_is_given_back_is_missing_less_for_others() {
        let mut ledger = Ledger::new();
        let first = ledger.open(held(10), u64::MAX);
        ledger.note(10);
        let second = ledger.open(held(10), u64::MAX);
        // Refill left 12 of the 20 missing before 8 more were taken.
        ledger.note(12);
        assert_eq!(ledger.give_back(first, 10, 20), 10);
        // Without the first it would have been 2 then, so of the second one's 10 refill has made good 8.
        assert_eq!(ledger.give_back(second, 10, 10), 2);
    }

    #[test]
    fn a_closed_one_leaves_what_it_remembers_to_the_one_before() {
        let mut ledger = Ledger::new();
        let first = ledger.open(held(10), u64::MAX);
        ledger.note(9);
        let second = ledger.open(held(1), u64::MAX);
        ledger.note(3);
        ledger.close(second);
        assert_eq!((ledger.give_back(first, 10, 30), ledger.len()), (3, 1));
    }

    #[test]
    fn deadlines_are_found_in_order_and_leave_with_what_is_closed() {
        let mut ledger = Ledger::new();
        let late = ledger.open(held(1), 20);
        let soon = ledger.open(held(1), 10);
        assert_eq!((ledger.overdue(9), ledger.overdue(10), ledger.next_deadline()), (None, Some(soon), 10));
        ledger.close(soon);
        assert_eq!((ledger.overdue(19), ledger.overdue(30), ledger.next_deadline()), (None, Some(late), 20));
        ledger.close(late);
        assert_eq!((ledger.overdue(u64::MAX), ledger.next_deadline()), (None, u64::MAX));
    }
}
