//! What is behind the queue's lock: the line, and who stands where in it.

use std::collections::HashMap;
use std::mem;
use std::task::{Poll, Waker};

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::decision::{Denied, NotYet};
use crate::gcra::Gcra;
use crate::line::{Gone, Line, Place, Ticket, Turn};
use crate::nanos::Nanos;
use crate::wait::queue::ledger::{Promised, Sight};
use crate::wait::queue::{Entry, Outcomes, Refused, Rest};

/// The number of a place.
pub(super) type Number = u64;

/// The state of a queue. No method wakes, sleeps or reads a clock: who has to be woken is in `wakes` when the lock is
/// given back.
pub(super) struct Desk {
    gcra: Gcra,
    longest_wait: Nanos,
    line: Line<Number>,
    places: HashMap<Number, Taken>,
    next: Number,
    promised: Promised,
    outcomes: Outcomes,
    closed: bool,
    /// The latest reading that was used: a caller that read the clock and had to wait for the lock is not behind others.
    latest: Nanos,
    /// Whom to wake once the lock is given back.
    wakes: Vec<Waker>,
    /// When the one whose turn it is can be called.
    pub(super) next_call: Option<Nanos>,
}

/// A place that somebody has.
struct Taken {
    tokens: u64,
    /// The caller's own deadline; the queue's may be earlier.
    own_deadline: Nanos,
    waker: Option<Waker>,
    stands: Stands,
}

enum Stands {
    Waiting(Ticket),
    Called(Turn<Number>),
    Out(Refused),
}

impl Desk {
    pub(super) fn new(gcra: Gcra, longest_wait: Nanos, depth: usize) -> Self {
        Self {
            gcra,
            longest_wait,
            line: Line::new(depth),
            places: HashMap::new(),
            next: 0,
            promised: Promised::default(),
            outcomes: Outcomes::default(),
            closed: false,
            latest: Nanos::ZERO,
            wakes: Vec::new(),
            next_call: None,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.line.depth()
    }

    /// Entries that wait, and entries that have been called.
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.line.called()
    }

    pub(super) fn oldest(&self) -> Option<Nanos> {
        self.line.oldest()
    }

    pub(super) fn outcomes(&self) -> Outcomes {
        self.outcomes
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn take_wakes(&mut self) -> Vec<Waker> {
        mem::take(&mut self.wakes)
    }

    /// Takes a place, or says why not.
    pub(super) fn enter<C: Clock>(
        &mut self,
        bucket: &Bucket<C>,
        now: Nanos,
        entry: &Entry,
        own_deadline: Nanos,
    ) -> Result<Number, Refused> {
        let sight = self.proceed(bucket, now);
        let entered = self.enter_at(&sight, entry, own_deadline);
        match &entered {
            Ok(_) => self.advance(&sight),
            Err(refused) => self.outcomes.count(refused),
        }
        entered
    }

    fn enter_at(&mut self, sight: &Sight, entry: &Entry, own_deadline: Nanos) -> Result<Number, Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        let units = sight.cost(entry.cost).map_err(Refused::Never)?.units;
        let deadline = own_deadline.min(sight.now.saturating_add(self.longest_wait));
        let place = Place { reach: sight.reach(deadline), ..Place::new(entry.class, units, deadline) };
        let expected = sight.expected(&self.promised, self.line.ahead_of(place.class, units), units);
        let refused = Refused::because(why(own_deadline, deadline), expected);
        if refused.expected().is_some_and(|expected| expected.ready_at() > deadline) {
            return Err(refused);
        }
        let full = |_| Refused::because(Refused::Full, expected);
        let entered = self.line.enter(place, sight.now, self.next).map_err(full)?;
        if let Some(gone) = entered.displaced {
            self.turn_out(gone.item, Refused::because(Refused::Full, self.expected_of(sight, &gone)));
        }
        let stands = Stands::Waiting(entered.ticket);
        self.places.insert(self.next, Taken { tokens: entry.cost, own_deadline, waker: None, stands });
        self.next += 1;
        Ok(self.next - 1)
    }

    /// How it stands with a place: admitted, refused, or neither yet; then the waker is kept. The one in its stead is to
    /// be dropped once the lock is given back.
    pub(super) fn ask<C: Clock>(
        &mut self,
        bucket: &Bucket<C>,
        now: Nanos,
        number: Number,
        waker: &mut Option<Waker>,
    ) -> Poll<Result<(), Refused>> {
        let Some(mut taken) = self.places.remove(&number) else {
            return Poll::Pending;
        };
        let answer = match taken.stands {
            Stands::Out(refused) => return Poll::Ready(Err(refused)),
            Stands::Waiting(_) => Err(taken.stands),
            Stands::Called(turn) => self.come(bucket, now, turn, taken.tokens, taken.own_deadline),
        };
        match answer {
            // No waker is left behind: it was woken when the entry was called.
            Ok(answer) => Poll::Ready(answer),
            Err(stands) => {
                taken.stands = stands;
                mem::swap(&mut taken.waker, waker);
                self.places.insert(number, taken);
                Poll::Pending
            }
        }
    }

    /// One that was called has come, and takes its tokens, unless it is too late or somebody barged in: then it waits on,
    /// ahead of all others.
    fn come<C: Clock>(
        &mut self,
        bucket: &Bucket<C>,
        now: Nanos,
        turn: Turn<Number>,
        tokens: u64,
        own_deadline: Nanos,
    ) -> Result<Result<(), Refused>, Stands> {
        self.latest = self.latest.max(now);
        let Place { cost, deadline, .. } = *turn.place();
        self.promised.settle(cost);
        if self.latest > deadline {
            self.line.gave_up(turn);
            let sight = Sight::new(bucket, &self.gcra, self.latest);
            let refused =
                Refused::because(why(own_deadline, deadline), sight.expected(&self.promised, 0, cost));
            self.outcomes.count(&refused);
            return Ok(Err(refused));
        }
        if bucket.try_acquire_n_at(tokens, self.latest).is_err() {
            return Err(Stands::Waiting(self.line.put_back(turn)));
        }
        self.line.came(turn);
        self.outcomes.admitted += 1;
        Ok(Ok(()))
    }

    /// Gives a place up. The waker is to be dropped once the lock is given back.
    pub(super) fn leave(&mut self, number: Number) -> Option<Waker> {
        let taken = self.places.remove(&number)?;
        match taken.stands {
            Stands::Out(_) => return None,
            Stands::Waiting(ticket) => drop(self.line.leave(ticket)),
            Stands::Called(turn) => {
                self.promised.settle(turn.place().cost);
                self.line.gave_up(turn);
            }
        }
        self.outcomes.cancelled += 1;
        taken.waker
    }

    pub(super) fn close(&mut self, rest: Rest) {
        self.closed = true;
        if rest == Rest::Refuse {
            while let Some(number) = self.line.dismiss() {
                self.turn_out(number, Refused::Closed);
            }
        }
    }

    /// Everything that can be done at a reading: the hopeless are turned out, and whose turn has come is called.
    pub(super) fn proceed<C: Clock>(&mut self, bucket: &Bucket<C>, now: Nanos) -> Sight {
        self.latest = self.latest.max(now);
        let sight = Sight::new(bucket, &self.gcra, self.latest);
        self.advance(&sight);
        sight
    }

    fn advance(&mut self, sight: &Sight) {
        self.turn_out_late(sight);
        self.next_call = loop {
            let Some((&Place { cost, .. }, _)) = self.line.front() else {
                break None;
            };
            let expected = Refused::because(Refused::Full, sight.expected(&self.promised, 0, cost));
            match expected.expected().map(|expected| expected.ready_at()) {
                Some(ready) if ready > sight.now => break Some(ready),
                _ => self.call(sight),
            }
        };
    }

    fn turn_out_late(&mut self, sight: &Sight) {
        let base = sight.arrival(&self.promised).into();
        while let Some(gone) = self.line.take_late(base, sight.opening) {
            let why = match self.places.get(&gone.item) {
                Some(taken) => why(taken.own_deadline, gone.place.deadline),
                None => Refused::Full,
            };
            self.turn_out(gone.item, Refused::because(why, self.expected_of(sight, &gone)));
        }
    }

    fn call(&mut self, sight: &Sight) {
        let Some(turn) = self.line.call() else { return };
        self.promised.call(sight, turn.place().cost);
        if let Some(taken) = self.places.get_mut(turn.item()) {
            self.wakes.extend(taken.waker.take());
            taken.stands = Stands::Called(turn);
        }
    }

    fn turn_out(&mut self, number: Number, refused: Refused) {
        self.outcomes.count(&refused);
        if let Some(taken) = self.places.get_mut(&number) {
            self.wakes.extend(taken.waker.take());
            taken.stands = Stands::Out(refused);
        }
    }

    fn expected_of(&self, sight: &Sight, gone: &Gone<Number>) -> Denied {
        sight.expected(&self.promised, gone.ahead, gone.place.cost)
    }
}

/// Whose deadline is the earlier one decides what a missed one means.
fn why(own_deadline: Nanos, deadline: Nanos) -> fn(NotYet) -> Refused {
    if own_deadline <= deadline { Refused::Hopeless } else { Refused::Full }
}
