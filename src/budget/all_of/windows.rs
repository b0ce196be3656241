//! Limits by windows, beside others.

use std::fmt;

use super::limit::{CallTime, Grant, Limit, Reading};
use super::refused::Reason;
use crate::budget::reserve::{Late, Settled};
use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::window::{Algorithm, Windowed};

/// Tokens that count in a window. Dropped, they stay.
///
/// [Settled](Grant::settle), a surplus comes back to the window that it was taken in, if that still counts, and an overrun
/// counts in the window of its own time.
pub struct Counted<'a, A: Algorithm, C: Clock> {
    limit: &'a Windowed<A, C>,
    cost: u64,
    taken_at: Nanos,
}

/// An undo gives back to the window that the tokens were taken in.
impl<A: Algorithm, C: Clock> Limit for Windowed<A, C> {
    type Held<'a>
        = Counted<'a, A, C>
    where
        Self: 'a;

    #[inline]
    fn reading(&self, time: &mut CallTime) -> Reading {
        Some(time.by(self.clock()))
    }

    #[inline]
    fn look(&self, cost: u64, now: Reading) -> Result<(), Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.would_admit_at(cost, now).map_err(Reason::Denied)
    }

    #[inline]
    fn take(&self, cost: u64, now: Reading) -> Result<Counted<'_, A, C>, Reason> {
        let taken_at = now.unwrap_or_else(|| self.clock().now());
        self.try_acquire_n_at(cost, taken_at).map_err(Reason::Denied)?;
        Ok(Counted { limit: self, cost, taken_at })
    }

    fn undo(&self, held: Counted<'_, A, C>) {
        self.refund(held.cost, held.taken_at);
    }
}

impl<A: Algorithm, C: Clock> Grant for Counted<'_, A, C> {
    fn settle(self, actual: u64) -> Option<Result<Settled, Late>> {
        self.limit.refund(self.cost.saturating_sub(actual), self.taken_at);
        self.limit.charge(actual.saturating_sub(self.cost));
        None
    }
}

impl<A: Algorithm, C: Clock> fmt::Debug for Counted<'_, A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("cost", &self.cost).field("taken_at", &self.taken_at).finish()
    }
}
