//! One caller who waits: what the blocking and the async form share.

use std::time::Duration;

use crate::bucket::Booked;
use crate::decision::Denied;
use crate::nanos::Nanos;
use crate::wait::handle::Handle;

/// How long a caller would wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patience {
    /// From the moment at which it begins to.
    For(Duration),
    /// Until a reading of the limiter's clock.
    Until(Nanos),
}

/// A caller who waits. Dropped while it has a place, it gives the place back.
#[derive(Debug)]
pub(super) struct Waiter<L: Handle> {
    limiter: L,
    cost: u64,
    patience: Patience,
    place: Option<Booked>,
}

impl<L: Handle> Waiter<L> {
    pub(super) fn new(limiter: L, cost: u64, patience: Patience) -> Self {
        Self { limiter, cost, patience, place: None }
    }

    pub(super) fn be_patient(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// How long it still has to wait; `None` when it may start, which is told once. The first call takes the place.
    pub(super) fn wait(&mut self) -> Result<Option<Duration>, Denied> {
        let now = self.limiter.now();
        let place = match self.place {
            Some(place) => place,
            None => self.book(now)?,
        };
        if place.due() > now {
            return Ok(Some(place.due().saturating_sub(now).into()));
        }
        if self.limiter.paused_until() > now {
            return self.book_again(now).map(Some);
        }
        self.place = None;
        Ok(None)
    }

    /// A pause has begun since the place was taken. If all that came due in it started at its end, that would be a burst
    /// above the bound; so each books again when it comes due, in that order, for a time after the pause.
    fn book_again(&mut self, now: Nanos) -> Result<Duration, Denied> {
        self.give_back();
        let place = self.book(now)?;
        Ok(place.due().saturating_sub(now).into())
    }

    fn book(&mut self, now: Nanos) -> Result<Booked, Denied> {
        let deadline = self.deadline(now);
        if deadline < now {
            return Err(self.limiter.refuse_late(self.cost, now));
        }
        let place = self.limiter.book(self.cost, deadline.saturating_sub(now), now)?;
        self.place = Some(place);
        Ok(place)
    }

    /// The last reading at which it would start. It stays the same however often it books.
    fn deadline(&mut self, now: Nanos) -> Nanos {
        let deadline = match self.patience {
            Patience::For(longest) => now.saturating_add(longest.into()),
            Patience::Until(deadline) => deadline,
        };
        self.patience = Patience::Until(deadline);
        deadline
    }

    fn give_back(&mut self) {
        if let Some(place) = self.place.take() {
            self.limiter.cancel(&place, None);
        }
    }
}

impl<L: Handle> Drop for Waiter<L> {
    fn drop(&mut self) {
        self.give_back();
    }
}
