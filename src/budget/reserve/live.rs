//! A budget whose quota can be changed.
//!
//! Rules, word and ledger are under one lock, for a surplus that comes back after a change must be measured against
//! deficits from before it.
//!
//! # What a change does to the ledger
//!
//! The tokens that are held stay, as far as they fit: [`Held::Tokens`]. A replay with the settled amounts, in which a
//! reservation took `x` less, holds `x` more before the change, up to the capacity at each moment, and then as much more as
//! still fits after it. So the walk is the same: `x` is cut down to every deficit that was remembered, each measured by the
//! capacity of its own time, and to the deficit right before the change. That right after it need not be remembered: until the
//! next deficit that is, there is only refill, and so the next one is smaller. Deficits are carried to the new units rounded
//! down, the word rounded against the caller.

use std::fmt;
use std::sync::Arc;

use super::Policy;
use super::books::Books;
use super::ledger::Ledger;
use super::outcome::{Late, Settled};
use super::progress::Progress;
use super::reservation::{Claim, Close, Keep, Reservation};
use crate::bucket::Ruled;
use crate::budget::estimate::Estimate;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::held::Held;
use crate::level::Level;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{Mutex, lock};
use crate::word::Word;

/// A [`Budget`](super::Budget) whose quota can be changed. What is held is kept by a change, and so is what is reserved.
///
/// Every call takes its lock, a refusal too. Nothing is admitted at a reading from before the last change: the tokens that
/// are there now may have been issued since.
pub(in crate::budget) struct LiveBudget<C> {
    clock: C,
    policy: Policy,
    state: Mutex<State>,
}

struct State {
    quota: Quota,
    gcra: Gcra,
    word: Word,
    ledger: Ledger,
}

impl<C: Clock> LiveBudget<C> {
    /// With the quota's initial fill as of now.
    pub(in crate::budget) fn new(quota: Quota, clock: C) -> Self {
        let gcra = Gcra::new(&quota);
        let arrival = gcra.holding(gcra.issued(clock.now().as_u64()), quota.initial_tokens());
        let state = State { quota, gcra, word: Word::new(arrival), ledger: Ledger::new() };
        Self { clock, policy: Policy::default(), state: Mutex::new(state) }
    }

    /// As [`Budget::reserve_owned`](super::Budget::reserve_owned), at a reading of the clock.
    pub(in crate::budget) fn reserve_owned_at(
        self: &Arc<Self>,
        estimate: Estimate,
        now: Nanos,
    ) -> Result<Reservation<Arc<Self>>, Denied> {
        let deadline = now.saturating_add(self.policy.time_limit);
        let claim = self.with_books(now, |books| {
            let tokens = estimate.cost(books.ruled.gcra.available(0));
            let cost = books.ruled.gcra.cost(tokens)?;
            books.reserve(&cost, tokens, deadline, now).map(|number| Claim::new(number, tokens))
        })?;
        Ok(Reservation::new(Arc::clone(self), claim))
    }

    /// Whether as much would be reserved; it takes nothing.
    pub(in crate::budget) fn would_admit_at(&self, estimate: Estimate, now: Nanos) -> Result<(), Denied> {
        self.with_books(now, |books| {
            let tokens = estimate.cost(books.ruled.gcra.available(0));
            books.ruled.would_admit(books.ruled.gcra.cost(tokens)?, now)
        })
    }

    /// What is there beside all that is reserved.
    pub(in crate::budget) fn peek(&self) -> Level {
        let now = self.clock.now();
        self.with_books(now, |books| books.ruled.peek(now))
    }

    /// The quota in force, what is there beside all that is reserved, and how many reservations are open.
    pub(in crate::budget) fn look(&self) -> (Quota, Level, usize) {
        let mut state = lock(&self.state);
        let quota = state.quota;
        let books = state.books(self.clock.now(), self.policy);
        (quota, books.ruled.peek(books.now), books.ledger.len())
    }

    /// Puts another quota into force, and keeps the tokens that are held. Its initial fill is ignored; the same rate and
    /// capacity as before change nothing.
    pub(in crate::budget) fn adjust(&self, quota: Quota) {
        let gcra = Gcra::new(&quota);
        let mut state = lock(&self.state);
        if state.gcra == gcra {
            return;
        }
        let now = state.books(self.clock.now(), self.policy).now;
        state.change(quota, gcra, now.as_u64());
    }

    /// Does something under the lock, with what is overdue closed first.
    fn with_books<R>(&self, now: Nanos, act: impl FnOnce(&mut Books<'_>) -> R) -> R {
        act(&mut lock(&self.state).books(now, self.policy))
    }
}

impl State {
    fn books(&mut self, now: Nanos, policy: Policy) -> Books<'_> {
        let now = Nanos::new(self.ledger.advance(now.as_u64()));
        let ruled = Ruled { gcra: &self.gcra, word: &self.word };
        let mut books = Books { ruled, ledger: &mut self.ledger, now };
        books.close_overdue(policy.overdue);
        books
    }

    fn change(&mut self, quota: Quota, gcra: Gcra, now: u64) {
        let (old, new) = (u128::from(self.gcra.one.units), u128::from(gcra.one.units));
        let arrival = self.word.arrival();
        self.ledger.note(arrival.saturating_sub(self.gcra.issued(now)));
        self.ledger.rescale(|units| u64::try_from(u128::from(units) * new / old).unwrap_or(u64::MAX));
        let arrival = Held::Tokens.carried(&self.gcra, &gcra, arrival, now);
        let word = Word::new(arrival);
        word.pause(now);
        (self.quota, self.gcra, self.word) = (quota, gcra, word);
    }
}

impl<C: Clock> Keep for LiveBudget<C> {
    fn close(&self, claim: Claim, how: Close, now: Option<Nanos>) -> Result<Settled, Late> {
        let now = now.unwrap_or_else(|| self.clock.now_ordered());
        self.with_books(now, |books| claim.close(how, books, self.policy))
    }

    fn observe(&self, claim: &mut Claim, used: u64, progress: Option<Progress>, now: Option<Nanos>) {
        let now = now.unwrap_or_else(|| self.clock.now());
        self.with_books(now, |books| claim.observe(used, progress, books, self.policy));
    }
}

impl<C: Clock> fmt::Debug for LiveBudget<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quota = lock(&self.state).quota;
        self.peek().describe(f.debug_struct("LiveBudget"), quota)
    }
}
