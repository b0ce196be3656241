//! Who waits for tokens of a lease.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::pot::Pot;
use crate::redis::error::{Refused, StoreError};
use crate::redis::outage::DecidedBy;

/// Waiters in the order in which they came, and whether any more may.
#[derive(Default)]
pub(super) struct Line {
    waiting: VecDeque<Waiter>,
    /// What all of them ask for, with those who have given up and are not taken out yet.
    total: u64,
    /// Those who have given up are taken out when so many are in line.
    sweep_at: usize,
    /// Whether anybody has ever drawn for them.
    begun: bool,
    closed: bool,
    /// They are told what became of the lease.
    closers: Vec<oneshot::Sender<Outcome>>,
    outcome: Option<Outcome>,
}

/// What was given back of the lease at its end, in tokens.
pub(super) type Outcome = Result<u64, StoreError>;

/// What a waiter gets.
pub(super) type Answer = Result<Grant, Refused>;

struct Waiter {
    cost: u64,
    answer: oneshot::Sender<Answer>,
}

/// What a waiter was admitted by. Dropped before it was taken, its tokens go back into the lease.
pub(super) struct Grant {
    decided_by: DecidedBy,
    tokens: u64,
    pot: Arc<Pot>,
}

impl Line {
    pub(super) fn enter(&mut self, cost: u64) -> Result<oneshot::Receiver<Answer>, StoreError> {
        if self.closed {
            return Err(StoreError::Closed);
        }
        if self.waiting.len() >= self.sweep_at {
            self.sweep();
        }
        let (answer, answered) = oneshot::channel();
        self.total = self.total.saturating_add(cost);
        self.waiting.push_back(Waiter { cost, answer });
        Ok(answered)
    }

    /// What the first waiter that still waits asks for.
    pub(super) fn first(&mut self) -> Option<u64> {
        while self.waiting.front().is_some_and(|waiter| waiter.answer.is_closed()) {
            self.pop();
        }
        self.waiting.front().map(|waiter| waiter.cost)
    }

    /// What all of them ask for, at least.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes the first out, to be answered.
    pub(super) fn leave(&mut self) -> Option<(u64, oneshot::Sender<Answer>)> {
        self.first()?;
        self.pop().map(|Waiter { cost, answer }| (cost, answer))
    }

    fn pop(&mut self) -> Option<Waiter> {
        let waiter = self.waiting.pop_front()?;
        self.total = self.total.saturating_sub(waiter.cost);
        Some(waiter)
    }

    /// So that who gives up behind one who waits for long does not stay for as long. Next when there are
    /// twice as many.
    fn sweep(&mut self) {
        const FEWEST: usize = 64;
        self.waiting.retain(|waiter| !waiter.answer.is_closed());
        self.total = self.waiting.iter().fold(0, |sum, waiter| sum.saturating_add(waiter.cost));
        self.sweep_at = self.waiting.len().saturating_mul(2).max(FEWEST);
    }

    /// Somebody draws.
    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Nobody enters any more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Where to learn what became of the lease. Of one for which nobody ever drew there is nothing to wait
    /// for.
    pub(super) fn outcome(&mut self) -> oneshot::Receiver<Outcome> {
        let (closer, told) = oneshot::channel();
        match &self.outcome {
            Some(outcome) => drop(closer.send(outcome.clone())),
            None if !self.begun => drop(closer.send(Ok(0))),
            None => self.closers.push(closer),
        }
        told
    }

    /// Tells what became of the lease, and sends those away who wait. What is told first counts.
    pub(super) fn end(&mut self, outcome: Outcome) {
        self.closed = true;
        self.waiting.clear();
        self.total = 0;
        let outcome = self.outcome.get_or_insert(outcome);
        for closer in self.closers.drain(..) {
            let _gone = closer.send(outcome.clone());
        }
    }
}

impl Grant {
    /// Tokens of the store.
    pub(super) fn of_the_store(pot: &Arc<Pot>, tokens: u64) -> Self {
        pot.grant(tokens);
        Self { decided_by: DecidedBy::Store, tokens, pot: Arc::clone(pot) }
    }

    /// Admitted by the outage rule: there are no tokens to give back.
    pub(super) fn of_the_fallback(pot: &Arc<Pot>) -> Self {
        Self { decided_by: DecidedBy::Fallback, tokens: 0, pot: Arc::clone(pot) }
    }

    pub(super) fn take(mut self) -> DecidedBy {
        self.pot.is_granted_no_more(std::mem::take(&mut self.tokens));
        self.decided_by
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.pot.put(self.tokens);
        self.pot.is_granted_no_more(self.tokens);
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("waiting", &self.waiting.len())
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_given_up_does_not_stay() {
        let mut line = Line::default();
        let patient = line.enter(5).unwrap();
        for _ in 0..10_000 {
            drop(line.enter(3).unwrap());
            assert!(line.waiting.len() <= 65);
        }
        let last = line.enter(2).unwrap();
        assert!(line.total() >= 7);
        assert_eq!(line.leave().unwrap().0, 5);
        drop(patient);
        assert_eq!((line.first(), line.total()), (Some(2), 2));
        line.end(Ok(1));
        assert!((line.first(), line.total()) == (None, 0) && line.enter(1).is_err());
        assert!(last.blocking_recv().is_err());
        assert!(matches!(line.outcome().blocking_recv(), Ok(Ok(1))));
    }
}
