//! Reservations: an estimate is charged at once, and settled when the cost is known.

mod books;
mod builder;
mod by_id;
mod ledger;
#[cfg(feature = "allowances")]
mod live;
mod outcome;
mod progress;
mod reservation;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use self::books::Books;
pub use self::builder::BudgetBuilder;
pub use self::by_id::{ById, NotReserved, NotSettled};
use self::ledger::Ledger;
#[cfg(feature = "allowances")]
pub(in crate::budget) use self::live::LiveBudget;
pub use self::outcome::{BudgetError, Charging, Late, Settled, Unsettled};
pub use self::progress::Progress;
use self::reservation::Claim;
pub use self::reservation::{Account, Reservation};
use crate::bucket::Ruled;
use crate::budget::estimate::Estimate;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::word::Word;

/// A token bucket for work whose cost is known only when it is done.
///
/// ```
/// use tollgate::budget::Budget;
/// use tollgate::{Denied, quota};
///
/// let tokens = Budget::new(quota!("100k/min"));
/// let call = tokens.reserve(2_000)?;
/// // ... the call is made, and used 1200 ...
/// let settled = call.settle(1_200).expect("before its deadline");
/// assert_eq!((settled.given_back, settled.overrun), (800, 0));
/// # Ok::<(), Denied>(())
/// ```
///
/// A [`Reservation`] charges its estimate when it is made, and is closed exactly once: by settling it, by
/// [releasing](Reservation::release) it, by dropping it, or at its deadline. A surplus is given back; an overrun is charged,
/// and may become debt, which later work waits for.
///
/// # The bound
///
/// Net admitted cost, the smaller of estimate and actual cost of each reservation at the moment at which it was made, is at
/// most `B + r*t` in every interval of length `t`, however late and in whatever order reservations are settled. An overrun
/// is outside that bound and only delays what comes after it. After each call the budget holds exactly what it would hold had
/// the settled amounts been reserved in the first place; it never gives back what refill has made good meanwhile. Source:
/// `GUARANTEES` section 6, and for the memory that this takes `src/budget/reserve/ledger.rs`. One thing is conservative
/// instead of exact: what was charged by [`observe`](Reservation::observe) beyond the estimate counts, should it be given back
/// after all, as charged when the reservation was made.
///
/// # Deadlines
///
/// A reservation that is forgotten must not hold a budget for ever. At its deadline, ten minutes after it was made unless the
/// [builder](Self::builder) says otherwise, it is closed by the owner's [policy](Unsettled), by whichever call comes next.
/// Whoever settles it later [is told](Late). Work that may take longer than its deadline should be cancelled first.
///
/// # Cost
///
/// A refusal takes the clock and three loads, and no lock. Reserving and settling take a lock for some hundred nanoseconds,
/// longer where thousands of reservations are open: settling one walks those made after it. Each open one takes about 100
/// bytes.
///
/// # Memory ordering
///
/// As for a bucket: decisions carry no happens-before edge. What happens after a call sees what it did.
pub struct Budget<C: Clock = Monotonic> {
    quota: Quota,
    gcra: Gcra,
    clock: C,
    policy: Policy,
    /// Moved only under the lock of `ledger`.
    word: CachePadded<Word>,
    /// The earliest deadline of an open reservation, for those who look without the lock. A look that misses a deadline
    /// sees the budget as it was.
    next_deadline: AtomicU64,
    ledger: Mutex<Ledger>,
}

/// What an owner has chosen.
#[derive(Clone, Copy, Debug)]
struct Policy {
    charging: Charging,
    dropped: Unsettled,
    overdue: Unsettled,
    time_limit: Nanos,
    margin_percent: u32,
}

impl Budget {
    /// A budget on the [`Monotonic`] clock that keeps what is not settled.
    pub fn new(quota: Quota) -> Self {
        Self::with_clock(quota, Monotonic::new())
    }

    /// For other choices: what becomes of what is not settled, of failures, deadlines, and how much is kept by progress.
    pub fn builder(quota: Quota) -> BudgetBuilder {
        BudgetBuilder::new(quota)
    }
}

impl<C: Clock> Budget<C> {
    /// A budget on a clock of the caller's that keeps what is not settled.
    pub fn with_clock(quota: Quota, clock: C) -> Self {
        Self::with_policy(quota, Policy::default(), clock)
    }

    fn with_policy(quota: Quota, policy: Policy, clock: C) -> Self {
        let gcra = Gcra::new(&quota);
        let arrival = gcra.holding(gcra.issued(clock.now().as_u64()), quota.initial_tokens());
        Self {
            quota,
            gcra,
            clock,
            policy,
            word: CachePadded::new(Word::new(arrival)),
            next_deadline: AtomicU64::new(u64::MAX),
            ledger: Mutex::new(Ledger::new()),
        }
    }

    /// Charges an estimate now, or refuses and charges nothing. An estimate is a number of tokens, or an [`Estimate`] that tells
    /// whether it is the caller's own.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, [`Denied::OverCapacity`] for a stated estimate that will never be admitted, or
    /// [`Denied::ZeroCost`].
    pub fn reserve(&self, estimate: impl Into<Estimate>) -> Result<Reservation<&Self>, Denied> {
        self.reserve_at(estimate, self.clock.now())
    }

    /// [`reserve`](Self::reserve) at a reading that the caller has taken from the budget's clock.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_at(
        &self,
        estimate: impl Into<Estimate>,
        now: Nanos,
    ) -> Result<Reservation<&Self>, Denied> {
        let deadline = now.saturating_add(self.policy.time_limit);
        Ok(Reservation::new(self, self.open(estimate.into(), deadline, now)?))
    }

    /// [`reserve`](Self::reserve) with a deadline of its own, a reading of the budget's clock. Without effect if it is over
    /// already, but for what the policy then keeps.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_until(
        &self,
        estimate: impl Into<Estimate>,
        deadline: Nanos,
    ) -> Result<Reservation<&Self>, Denied> {
        Ok(Reservation::new(self, self.open(estimate.into(), deadline, self.clock.now())?))
    }

    /// [`reserve`](Self::reserve) for work that goes elsewhere: the reservation owns its part of the budget.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_owned(
        self: &Arc<Self>,
        estimate: impl Into<Estimate>,
    ) -> Result<Reservation<Arc<Self>>, Denied> {
        let claim = self.claim(estimate.into())?;
        Ok(Reservation::new(Arc::clone(self), claim))
    }

    /// Charges `cost` tokens whether they are there or not, for work that has been done already. What is not there becomes
    /// debt.
    pub fn charge(&self, cost: u64) {
        self.charge_at(cost, self.clock.now());
    }

    /// [`charge`](Self::charge) at a reading of the budget's clock.
    pub fn charge_at(&self, cost: u64, now: Nanos) {
        self.with_books(now, |books| books.charge(cost));
    }

    /// Admits nothing before the clock reads `until`. Tokens go on being issued, and reservations may be settled.
    pub fn pause_until(&self, until: Nanos) {
        self.word.pause(until.as_u64());
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for(&self, span: Duration) {
        self.pause_until(self.clock.now().saturating_add(Nanos::from_duration(span)));
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.word.resume();
    }

    /// Looks without consuming: what is there beside all that is reserved.
    pub fn peek(&self) -> Level {
        self.peek_at(self.clock.now())
    }

    /// [`peek`](Self::peek) at a reading of the budget's clock.
    pub fn peek_at(&self, now: Nanos) -> Level {
        if self.is_overdue(now) {
            return self.with_books(now, |books| books.ruled.peek(now));
        }
        self.ruled().peek(now)
    }

    /// Reservations that are open.
    pub fn open_reservations(&self) -> usize {
        self.with_books(self.clock.now(), |books| books.ledger.len())
    }

    /// Its quota.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Whether so many tokens would be reserved at a reading of the budget's clock; it takes nothing.
    pub(crate) fn would_admit_at(&self, tokens: u64, now: Nanos) -> Result<(), Denied> {
        let cost = self.gcra.cost(tokens)?;
        if self.is_overdue(now) {
            return self.with_books(now, |books| books.ruled.would_admit(cost, now));
        }
        self.ruled().would_admit(cost, now)
    }

    /// A reservation without a guard.
    fn claim(&self, estimate: Estimate) -> Result<Claim, Denied> {
        let now = self.clock.now();
        self.open(estimate, now.saturating_add(self.policy.time_limit), now)
    }

    fn is_open(&self, claim: &Claim) -> bool {
        self.with_books(self.clock.now(), |books| books.ledger.held(claim.number()).is_some())
    }

    fn open(&self, estimate: Estimate, deadline: Nanos, now: Nanos) -> Result<Claim, Denied> {
        let tokens = estimate.cost(self.quota.capacity());
        let cost = self.gcra.cost(tokens)?;
        if !self.is_overdue(now) {
            self.ruled().would_admit(cost, now)?;
        }
        let number = self.with_books(now, |books| books.reserve(&cost, tokens, deadline, now))?;
        Ok(Claim::new(number, tokens))
    }

    /// Does something under the lock, with what is overdue closed first.
    fn with_books<R>(&self, now: Nanos, act: impl FnOnce(&mut Books<'_>) -> R) -> R {
        let mut ledger = lock(&self.ledger);
        let now = Nanos::new(ledger.advance(now.as_u64()));
        let mut books = Books { ruled: self.ruled(), ledger: &mut ledger, now };
        books.close_overdue(self.policy.overdue);
        let done = act(&mut books);
        self.next_deadline.store(books.ledger.next_deadline(), Ordering::Relaxed);
        done
    }

    fn is_overdue(&self, now: Nanos) -> bool {
        now.as_u64() >= self.next_deadline.load(Ordering::Relaxed)
    }

    fn ruled(&self) -> Ruled<'_> {
        Ruled { gcra: &self.gcra, word: &self.word }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            charging: Charging::default(),
            dropped: Unsettled::default(),
            overdue: Unsettled::default(),
            time_limit: Nanos::from_duration(Duration::from_secs(600)),
            margin_percent: 130,
        }
    }
}

/// Charges the cost for good: a reservation that is settled with its estimate at once.
impl<C: Clock> Limiter for Budget<C> {
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        self.reserve(cost).map(Reservation::keep)
    }
}

impl<C: Clock> fmt::Debug for Budget<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peek().describe(f.debug_struct("Budget"), self.quota)
    }
}
