//! A reservation as a guard.

use std::fmt;
use std::sync::Arc;

use super::books::Books;
use super::ledger::Held;
use super::{Budget, Late, Policy, Progress, Settled};
use crate::clock::Clock;
use crate::nanos::Nanos;

/// A charge whose final amount is not known yet, from a budget by reference or in an [`Arc`].
///
/// It is closed exactly once: what closes it consumes it. Dropped, also by a panic or a cancelled future, it is closed by the
/// budget's [policy](super::Unsettled); so a stream keeps it in its body, tells it what has been used with
/// [`observe`](Self::observe), and settles it at the end. Forgotten with [`std::mem::forget`], it is closed at its deadline.
///
/// ```
/// use tollgate::budget::{Budget, Progress, Unsettled};
/// use tollgate::{Manual, quota};
///
/// let budget = Budget::builder(quota!("50k/min")).dropped(Unsettled::Observed).build_with_clock(Manual::new())?;
/// let mut stream = budget.reserve(50_000)?;
/// stream.observe_progress(5_000, Progress::percent(80));
/// assert_eq!((stream.charged(), budget.peek().available()), (8_125, 41_875));
/// drop(stream);
/// assert_eq!(budget.peek().available(), 45_000, "what was observed stays charged");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a reservation that is dropped at once is closed by the budget's policy"]
pub struct Reservation<A: Account> {
    account: A,
    claim: Claim,
    is_open: bool,
}

/// A budget, by reference or in an [`Arc`]. What holds a reference borrows the budget; what holds an `Arc` can go anywhere. The
/// trait is sealed.
pub trait Account: Keep {}

impl<A: Keep> Account for A {}

/// What its holder knows of a reservation.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    number: u64,
    held: Held,
}

/// How a reservation is closed.
#[derive(Clone, Copy, Debug)]
pub enum Close {
    /// The cost is known.
    Actual(u64),
    /// It has been dropped.
    Dropped,
    /// The work has failed.
    Failed,
}

/// What a budget does for a reservation. It is out of reach from outside.
pub trait Keep {
    fn close(&self, claim: Claim, how: Close, now: Option<Nanos>) -> Result<Settled, Late>;
    /// Charges what was used beyond what is held, and gives back what is expected to be left.
    fn observe(&self, claim: &mut Claim, used: u64, progress: Option<Progress>, now: Option<Nanos>);
}

impl<A: Account> Reservation<A> {
    pub(super) fn new(account: A, claim: Claim) -> Self {
        Self { account, claim, is_open: true }
    }

    /// The tokens that are charged for it now.
    pub fn charged(&self) -> u64 {
        self.claim.held.tokens
    }

    /// The tokens used so far, if that was told.
    pub fn observed(&self) -> Option<u64> {
        self.claim.held.observed
    }

    /// Tells how many tokens have been used in all so far. What is above the charge is charged at once, as debt where it is
    /// not there. A smaller figure than before changes nothing.
    pub fn observe(&mut self, used: u64) {
        self.account.observe(&mut self.claim, used, None, None);
    }

    /// [`observe`](Self::observe), with how far the work is: what it will not need by that measure, with the budget's
    /// [margin](super::BudgetBuilder::margin_percent) on top, is given back now.
    pub fn observe_progress(&mut self, used: u64, progress: Progress) {
        self.account.observe(&mut self.claim, used, Some(progress), None);
    }

    /// [`observe_progress`](Self::observe_progress) at a reading of the budget's clock, with or without progress.
    pub fn observe_at(&mut self, used: u64, progress: Option<Progress>, now: Nanos) {
        self.account.observe(&mut self.claim, used, progress, Some(now));
    }

    /// Closes it with what the work has cost: gives back the surplus, or charges the overrun.
    ///
    /// # Errors
    ///
    /// [`Late`] if it was closed at its deadline; the overrun is charged nevertheless.
    pub fn settle(self, actual: u64) -> Result<Settled, Late> {
        self.close(Close::Actual(actual), None)
    }

    /// [`settle`](Self::settle) at a reading of the budget's clock.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub fn settle_at(self, actual: u64, now: Nanos) -> Result<Settled, Late> {
        self.close(Close::Actual(actual), Some(now))
    }

    /// [`settle`](Self::settle) with a figure that the upstream may have left out. Without one, what is charged stays: a use
    /// that nobody told is not zero.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub fn settle_reported(self, actual: Option<u64>) -> Result<Settled, Late> {
        let charged = self.charged();
        self.settle(actual.unwrap_or(charged))
    }

    /// Closes it for work that was never started: gives everything back.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub fn release(self) -> Result<Settled, Late> {
        self.settle(0)
    }

    /// Closes it for work that was tried and failed: by the budget's [`Charging`](super::Charging) it keeps its charge, or
    /// gives back what was not observed.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub fn fail(self) -> Result<Settled, Late> {
        self.close(Close::Failed, None)
    }

    /// Closes it with what it has been charged.
    pub fn keep(self) {
        let charged = self.charged();
        // Late or not: it has cost what it has cost.
        let _kept = self.settle(charged);
    }

    fn close(mut self, how: Close, now: Option<Nanos>) -> Result<Settled, Late> {
        self.is_open = false;
        self.account.close(self.claim, how, now)
    }
}

impl Claim {
    pub(super) fn new(number: u64, tokens: u64) -> Self {
        Self { number, held: Held { tokens, observed: None } }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Closes the reservation in its books, or charges there what was used after it was closed.
    pub(super) fn close(self, how: Close, books: &mut Books<'_>, policy: Policy) -> Result<Settled, Late> {
        let actual = match how {
            Close::Actual(tokens) => Some(tokens),
            Close::Dropped => None,
            Close::Failed => Some(policy.charging.of_failure().kept(self.held)),
        };
        match books.ledger.held(self.number) {
            Some(held) => {
                Ok(books.settle(self.number, held, actual.unwrap_or_else(|| policy.dropped.kept(held))))
            }
            None => Err(books.charge_late(policy.overdue.kept(self.held), actual)),
        }
    }

    /// Charges in its books what was used beyond what is held, and gives back what is expected to be left.
    pub(super) fn observe(
        &mut self,
        used: u64,
        progress: Option<Progress>,
        books: &mut Books<'_>,
        policy: Policy,
    ) {
        if books.ledger.held(self.number).is_some() {
            self.held = books.observe(self.number, self.held, used, progress, policy.margin_percent);
            return;
        }
        let Late { kept, overrun } = books.charge_late(policy.overdue.kept(self.held), Some(used));
        let tokens = kept.saturating_add(overrun);
        self.held = Held { tokens, observed: Some(tokens) };
    }
}

impl<A: Account> Drop for Reservation<A> {
    fn drop(&mut self) {
        if self.is_open {
            // Closed at its deadline already, or now by the policy: nobody is there to be told.
            let _closed = self.account.close(self.claim, Close::Dropped, None);
        }
    }
}

impl<A: Account> fmt::Debug for Reservation<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("charged", &self.charged())
            .field("observed", &self.observed())
            .finish_non_exhaustive()
    }
}

impl<C: Clock> Keep for Budget<C> {
    fn close(&self, claim: Claim, how: Close, now: Option<Nanos>) -> Result<Settled, Late> {
        let now = now.unwrap_or_else(|| self.clock.now_ordered());
        self.with_books(now, |books| claim.close(how, books, self.policy))
    }

    fn observe(&self, claim: &mut Claim, used: u64, progress: Option<Progress>, now: Option<Nanos>) {
        let now = now.unwrap_or_else(|| self.clock.now());
        self.with_books(now, |books| claim.observe(used, progress, books, self.policy));
    }
}

impl<A: Keep> Keep for &A {
    fn close(&self, claim: Claim, how: Close, now: Option<Nanos>) -> Result<Settled, Late> {
        (**self).close(claim, how, now)
    }

    fn observe(&self, claim: &mut Claim, used: u64, progress: Option<Progress>, now: Option<Nanos>) {
        (**self).observe(claim, used, progress, now);
    }
}

impl<A: Keep> Keep for Arc<A> {
    fn close(&self, claim: Claim, how: Close, now: Option<Nanos>) -> Result<Settled, Late> {
        (**self).close(claim, how, now)
    }

    fn observe(&self, claim: &mut Claim, used: u64, progress: Option<Progress>, now: Option<Nanos>) {
        (**self).observe(claim, used, progress, now);
    }
}
