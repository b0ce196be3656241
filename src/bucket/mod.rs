//! The bucket: one word, a quota and a clock.

#[cfg(feature = "wait")]
mod booked;
#[cfg(feature = "wait")]
mod cancelled;
mod charge;
mod persist;
mod ruled;

use core::fmt;
use core::time::Duration;

use crossbeam_utils::CachePadded;

#[cfg(feature = "wait")]
use self::booked::Ledger;
#[cfg(feature = "wait")]
pub(crate) use self::booked::{Booked, Spacing};
#[cfg(all(feature = "shared-memory", feature = "wait"))]
pub(crate) use self::booked::{Line, Return};
#[cfg(all(feature = "shared-memory", feature = "wait"))]
pub(crate) use self::cancelled::{Cancelled, Moment, Stretch};
pub use self::charge::Charge;
pub(crate) use self::ruled::Ruled;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::word::{Raised, Undoable};

/// A token bucket that any number of threads ask at once.
///
/// The bucket holds at most [`capacity`](Quota::capacity) tokens and is refilled evenly at the quota's rate. A cost is
/// admitted if so many tokens are there, and they are taken in the same step; otherwise it is refused, nothing is
/// taken, and the refusal tells when to come back. In every interval of the clock of length `t`, no more than
/// `capacity + rate * t` tokens are admitted (for rates that need the binary scale, less than 1 ns of refill more): the
/// strict bound, with any number of threads and any order of readings.
///
/// It limits what may *start*. It does not space starts evenly, and does not limit how much is running. Two buckets are
/// two budgets; to share one, share the bucket: it is [`Sync`], put it into an [`Arc`](std::sync::Arc) or a `static`.
///
#[cfg_attr(feature = "std", doc = "```")]
#[cfg_attr(not(feature = "std"), doc = "```ignore")]
/// use std::sync::LazyLock;
/// use tollgate::{Bucket, quota};
///
/// static LIMIT: LazyLock<Bucket> = LazyLock::new(|| Bucket::new(quota!("100/s burst 20")));
///
/// match LIMIT.try_acquire() {
///     Ok(()) => println!("start the work"),
///     Err(denied) => println!("{denied}"),
/// }
/// ```
///
/// # Cost
///
/// An admission is one reading of the clock, two loads and one compare-exchange; a refusal is the same without the
/// compare-exchange and writes nothing, so a flood of refused calls scales with the cores. No call allocates, locks or
/// divides, except that [`acquire_up_to`](Self::acquire_up_to) and [`peek`](Self::peek) divide to count whole tokens.
///
/// # Memory ordering
///
/// Every operation on one bucket takes its place in one order that all threads agree on. A decision carries no
/// happens-before edge: what another thread wrote before it was admitted is not published by the bucket. A refusal may
/// therefore miss a refund that no such edge carried to its caller; a pause is seen by every call that happens after it.
///
/// # Algorithm
///
/// The generic cell rate algorithm (ITU-T I.371, Annex A; also RFC 2697's token bucket with the whole of its burst) on
/// the axis of tokens issued, with exact integers for usual rates; see the [crate docs](crate#how-it-works).
#[doc(alias = "TokenBucket")]
#[doc(alias = "RateLimiter")]
#[doc(alias = "GCRA")]
pub struct Bucket<C = Monotonic> {
    quota: Quota,
    gcra: Gcra,
    clock: C,
    word: CachePadded<Undoable>,
    #[cfg(feature = "wait")]
    ledger: Ledger,
}

#[cfg(feature = "std")]
impl Bucket {
    /// A bucket on the [`Monotonic`] clock, with the quota's initial fill.
    pub fn new(quota: Quota) -> Self {
        Self::with_clock(quota, Monotonic::new())
    }
}

impl<C: Clock> Bucket<C> {
    /// A bucket on a clock of the caller's, with the quota's initial fill as of now.
    pub fn with_clock(quota: Quota, clock: C) -> Self {
        let gcra = Gcra::new(&quota);
        let issued = gcra.issued(clock.now().as_u64());
        let word = CachePadded::new(Undoable::new(gcra.holding(issued, quota.initial_tokens())));
        Self {
            quota,
            gcra,
            clock,
            word,
            #[cfg(feature = "wait")]
            ledger: Ledger::new(),
        }
    }

    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// It answers at once; it neither waits nor spaces calls.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait.
    #[doc(alias = "check")]
    #[doc(alias = "try_wait")]
    #[doc(alias = "until_ready")]
    #[inline(always)]
    pub fn try_acquire(&self) -> Result<(), Denied> {
        match self.ruled().refuse_at_a_glance(&self.gcra.one, &self.clock) {
            Some(denied) => Err(denied),
            None => self.try_acquire_at(self.clock.now()),
        }
    }

    /// [`try_acquire`](Self::try_acquire) at a reading that the caller has taken from the bucket's clock.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait from `now`.
    #[inline(always)]
    pub fn try_acquire_at(&self, now: Nanos) -> Result<(), Denied> {
        self.ruled().admit(&self.gcra.one, now).map(drop)
    }

    /// Admits `cost` tokens now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, [`Denied::OverCapacity`] for a cost that will never be admitted, or
    /// [`Denied::ZeroCost`].
    #[doc(alias = "check_n")]
    #[inline(always)]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let asked = self.gcra.cost(cost)?;
        match self.ruled().refuse_at_a_glance(&asked, &self.clock) {
            Some(denied) => Err(denied),
            None => self.ruled().admit(&asked, self.clock.now()).map(drop),
        }
    }

    /// [`try_acquire_n`](Self::try_acquire_n) at a reading that the caller has taken from the bucket's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline(always)]
    pub fn try_acquire_n_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.ruled().admit(&self.gcra.cost(cost)?, now).map(drop)
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many: 0 if none are there, while the bucket is
    /// in debt or paused, or for a `most` of 0. What is not there is refused, not waited for. It never makes a debt.
    ///
    /// For callers that can use a part: packets from a batch, bytes from a buffer.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        self.acquire_up_to_at(most, self.clock.now())
    }

    /// [`acquire_up_to`](Self::acquire_up_to) at a reading of the bucket's clock.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to_at(&self, most: u64, now: Nanos) -> u64 {
        if most == 0 { 0 } else { self.ruled().lend(1, most, 0, now).unwrap_or(0) }
    }

    /// Admits `cost` tokens as [`try_acquire_n`](Self::try_acquire_n) does, in a way that can be undone.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub fn try_charge(&self, cost: u64) -> Result<Charge<'_, C>, Denied> {
        self.try_charge_at(cost, self.clock.now())
    }

    /// [`try_charge`](Self::try_charge) at a reading of the bucket's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub fn try_charge_at(&self, cost: u64, now: Nanos) -> Result<Charge<'_, C>, Denied> {
        let asked = self.gcra.cost(cost)?;
        let lowered = self.word.lowered();
        let written = self.ruled().admit(&asked, now)?;
        Ok(Charge { bucket: self, units: asked.units, written, lowered })
    }

    /// What [`try_acquire_n_at`](Self::try_acquire_n_at) would answer; it takes nothing.
    #[cfg(feature = "budget")]
    #[inline]
    pub(crate) fn would_admit_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.ruled().would_admit(self.gcra.cost(cost)?, now)
    }

    /// Takes `cost` tokens whether they are there or not, for work that has been done already.
    ///
    /// What is not there becomes debt, which later refill pays off before anything is admitted. A pause does not stop
    /// it, a cost above the capacity is charged in full (debts saturate near 2^64 units), and a cost of 0 takes nothing.
    pub fn charge(&self, cost: u64) -> Charge<'_, C> {
        self.charge_at(cost, self.clock.now())
    }

    /// [`charge`](Self::charge) at a reading of the bucket's clock.
    pub fn charge_at(&self, cost: u64, now: Nanos) -> Charge<'_, C> {
        let lowered = self.word.lowered();
        let (Raised { written, .. }, units) = self.ruled().charge(self.gcra.units(cost), now);
        Charge { bucket: self, units, written, lowered }
    }

    /// Gives `cost` tokens back, up to a full bucket; in debt it pays off debt.
    ///
    /// A bare refund does not know what it refunds, so each one may widen the bound by its amount: refill may have
    /// given back a part already. To step back from a charge just made, [`Charge::undo`] keeps the bound.
    pub fn refund(&self, cost: u64) {
        self.refund_at(cost, self.clock.now());
    }

    /// [`refund`](Self::refund) at a reading of the bucket's clock.
    pub fn refund_at(&self, cost: u64, now: Nanos) {
        let issued = self.gcra.issued(now.as_u64());
        let units = self.gcra.units(cost);
        self.word.lower(|arrival| self.gcra.refund(arrival, issued, units));
    }

    /// Admits nothing before the clock reads `until`: what an upstream's `Retry-After` asks for.
    ///
    /// Tokens go on being issued. A shorter pause, a refund or a [`reset`](Self::reset) does not end it; only
    /// [`resume`](Self::resume) does. Calls that are already past their check may still complete.
    pub fn pause_until(&self, until: Nanos) {
        self.word.pause(until.as_u64());
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for(&self, span: Duration) {
        self.pause_until(self.clock.now().saturating_add(Nanos::from_duration(span)));
    }

    /// Ends any pause at once, for an operator who knows better than whoever asked for it.
    pub fn resume(&self) {
        self.word.resume();
    }

    /// Looks without consuming: what is there, what is owed, and how long things will take.
    pub fn peek(&self) -> Level {
        self.peek_at(self.clock.now())
    }

    /// [`peek`](Self::peek) at a reading of the bucket's clock.
    pub fn peek_at(&self, now: Nanos) -> Level {
        self.ruled().peek(now)
    }

    /// Puts the bucket back to its initial fill; a debt is forgotten, a pause is not. Earlier charges cannot be undone
    /// any more.
    pub fn reset(&self) {
        self.reset_at(self.clock.now());
    }

    /// [`reset`](Self::reset) at a reading of the bucket's clock.
    pub fn reset_at(&self, now: Nanos) {
        let issued = self.gcra.issued(now.as_u64());
        self.word.place(self.gcra.holding(issued, self.quota.initial_tokens()), issued);
    }

    /// Empties the bucket and tells how many whole tokens that took; a debt stays as it is.
    pub fn drain(&self) -> u64 {
        self.drain_at(self.clock.now())
    }

    /// [`drain`](Self::drain) at a reading of the bucket's clock.
    pub fn drain_at(&self, now: Nanos) -> u64 {
        self.ruled().drain(now)
    }

    /// The quota it was made with.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// [`Ruled::lend_now`].
    #[cfg(feature = "sharded")]
    pub(crate) fn lend(&self, least: u64, most: u64, part: u32) -> Result<u64, Denied> {
        self.ruled().lend_now(least, most, part, &self.clock)
    }

    #[inline(always)]
    fn ruled(&self) -> Ruled<'_> {
        Ruled { gcra: &self.gcra, word: &self.word }
    }
}

impl<C: Clock> Limiter for Bucket<C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        Self::try_acquire(self)
    }
}

impl<C: Clock> fmt::Debug for Bucket<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peek().describe(f.debug_struct("Bucket"), self.quota)
    }
}
