//! The handing over of permits to those who wait in line.

use std::sync::Arc;
use std::task::Waker;

use super::slot::Slot;
use super::{InFlight, NoPermit};
use crate::line::{Line, Place, Ticket};
use crate::nanos::Nanos;
use crate::sync::lock;

/// Those who wait, in order; see [`Line`].
pub(super) type Waiting = Line<Arc<Slot>>;

/// A place in the line, and where its answer will be.
pub(super) struct Waiter {
    ticket: Ticket,
    pub(super) slot: Arc<Slot>,
}

/// How many may wait for each permit of the limit, unless chosen otherwise.
const WAITING_PER_PERMIT: usize = 8;

/// How many may wait for permits out of `limit`, unless chosen otherwise.
pub(super) fn depth_for(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(WAITING_PER_PERMIT)
}

impl InFlight {
    /// A place in line, and whom to wake because it lost its own to it. The caller hands over afterwards.
    #[cold]
    pub(super) fn enter(&self, weight: u32, class: u8) -> Result<(Waiter, Option<Waker>), NoPermit> {
        let (slot, place) = (Arc::new(Slot::new()), Place::new(class, weight.into(), Nanos::MAX));
        let mut line = lock(&self.line);
        let refusal = NoPermit::LineFull { depth: line.depth() };
        let entered = line.enter(place, Nanos::ZERO, Arc::clone(&slot)).map_err(|_| refusal)?;
        // What was released before the mark is seen by the handing over after it, and what is released later by its own.
        self.count.mark();
        let displaced = entered.displaced.and_then(|gone| gone.item.settle(Err(refusal)));
        Ok((Waiter { ticket: entered.ticket, slot }, displaced))
    }

    /// Gives up a place in line, or what was handed over to it.
    #[cold]
    pub(super) fn leave(&self, waiter: &Waiter, weight: u32) {
        let mut line = lock(&self.line);
        let left = line.leave(waiter.ticket);
        if left.is_some() && line.len() == 0 {
            self.count.unmark();
        }
        drop(line);
        if left.is_some() {
            // It may have been the one that all others waited behind.
            self.hand_over();
        } else if waiter.slot.answer() == Some(Ok(())) {
            self.release(weight);
        }
    }

    /// Gives what is there to the first in line, one after the other, and turns those away whom the limit never admits.
    #[cold]
    pub(super) fn hand_over(&self) {
        while let Some(served) = self.serve_first() {
            if let Some(waker) = served {
                waker.wake();
            }
        }
    }

    /// Serves the first in line, if it can be, and tells whom to wake.
    fn serve_first(&self) -> Option<Option<Waker>> {
        let mut line = lock(&self.line);
        let weight = line.front()?.0.cost as u32;
        let (slot, answer) = match self.count.take_in_turn(weight) {
            Ok(()) => (line.serve()?.1, Ok(())),
            Err(seen) if weight <= seen.limit() => return None,
            Err(seen) => (line.dismiss()?, Err(NoPermit::OverLimit { weight, limit: seen.limit() })),
        };
        if line.len() == 0 {
            self.count.unmark();
        }
        Some(slot.settle(answer))
    }
}
