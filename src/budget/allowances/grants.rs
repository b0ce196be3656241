//! What an admitted call holds.

use std::fmt;
use std::sync::Arc;

use super::source::Given;
use crate::budget::reserve::{Late, Settled};
use crate::clock::{Clock, Monotonic};

/// All that an admitted call has been given: keep it for as long as the call runs, and settle it with what it cost.
///
/// Tokens are settled as a [`Reservation`](crate::budget::Reservation) is: a surplus comes back, an overrun is charged.
/// Calls stay charged. Permits come back when it is settled or dropped. Dropped without being settled it keeps what has
/// been charged, and so it does if it is not settled within ten minutes. What was admitted before a reload is settled with
/// the allowances that gave it.
#[must_use = "grants that are dropped at once keep their estimate, and limit nothing in flight"]
pub struct Grants<C: Clock = Monotonic> {
    grants: Vec<Grant<C>>,
}

/// What one allowance has given.
pub(super) struct Grant<C: Clock> {
    pub(super) name: Arc<str>,
    /// What the allowance is a share of in the end.
    pub(super) whole: Arc<str>,
    /// Whether its cost is known only when the work is done.
    pub(super) is_settled: bool,
    pub(super) given: Given<C>,
}

/// What became of the tokens of one allowance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settlement {
    /// The name of the allowance.
    pub allowance: Arc<str>,
    /// What it came to; or that it had been closed at its deadline, and what is charged now beyond what was kept then.
    pub settled: Result<Settled, Late>,
}

impl<C: Clock> Grants<C> {
    pub(super) fn new(grants: Vec<Grant<C>>) -> Self {
        Self { grants }
    }

    /// The allowances that the call consumes.
    pub fn allowances(&self) -> impl Iterator<Item = &str> {
        self.grants.iter().map(|grant| &*grant.name)
    }

    /// Tells how many tokens have been used so far; see [`observe`](crate::budget::Reservation::observe).
    pub fn observe(&mut self, tokens: u64) {
        self.observe_by(|_| Some(tokens));
    }

    /// [`observe`](Self::observe) with a figure for each allowance. A share is asked by the name of its whole.
    pub fn observe_by(&mut self, tokens: impl Fn(&str) -> Option<u64>) {
        for grant in self.grants.iter_mut().filter(|grant| grant.is_settled) {
            if let (Given::Reserved(reservation), Some(tokens)) = (&mut grant.given, tokens(&grant.whole)) {
                reservation.observe(tokens);
            }
        }
    }

    /// Settles all tokens with what the call has cost, and gives permits back.
    pub fn settle(self, tokens: u64) -> Vec<Settlement> {
        self.settle_by(|_| Some(tokens))
    }

    /// [`settle`](Self::settle) with a figure for each allowance, where a call consumes different kinds of tokens. A share
    /// is asked by the name of its whole. Where there is no figure, what was charged stays: a use that nobody told is not
    /// zero.
    pub fn settle_by(self, tokens: impl Fn(&str) -> Option<u64>) -> Vec<Settlement> {
        let settle = |grant: Grant<C>| match grant.given {
            Given::Reserved(reservation) if grant.is_settled => {
                let settled = reservation.settle_reported(tokens(&grant.whole));
                Some(Settlement { allowance: grant.name, settled })
            }
            Given::Reserved(reservation) => {
                reservation.keep();
                None
            }
            Given::Permit(permit) => {
                drop(permit);
                None
            }
        };
        self.grants.into_iter().filter_map(settle).collect()
    }

    /// Gives everything back, calls too, for a call that was never made.
    pub fn release(self) {
        for grant in self.grants {
            match grant.given {
                // Closed in time or at its deadline: in either case it is closed.
                Given::Reserved(reservation) => drop(reservation.release()),
                Given::Permit(permit) => drop(permit),
            }
        }
    }
}

impl<C: Clock> fmt::Debug for Grants<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.grants.iter().map(|grant| match &grant.given {
            Given::Reserved(reservation) => (&grant.name, reservation.charged()),
            Given::Permit(permit) => (&grant.name, permit.weight().into()),
        });
        f.debug_map().entries(held).finish()
    }
}
