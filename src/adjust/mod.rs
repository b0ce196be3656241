//! Live change of rate and capacity: a bucket whose quota changes while threads ask it.
//!
//! [`Bucket`](crate::Bucket) has one quota for life. [`Adjustable`] is a bucket that can be given another one at any
//! moment: by an operator, by a configuration that is loaded again, or by an upstream that states its limits anew. What
//! happens to the tokens that are held is the caller's choice, [`Held`].
//!
//! ```
//! use std::time::Duration;
//! use tollgate::adjust::{Adjustable, Held};
//! use tollgate::{Manual, quota};
//!
//! let limit = Adjustable::with_clock(quota!("2/hour"), Manual::new());
//! limit.try_acquire_n(2)?;
//! limit.clock().advance(Duration::from_secs(600));
//! assert_eq!(limit.peek().wait_for(1), Ok(Duration::from_secs(1200)));
//!
//! limit.adjust(quota!("10/hour"), Held::Tokens);
//! assert_eq!(limit.peek().wait_for(1), Ok(Duration::from_secs(240)));
//! # Ok::<(), tollgate::Denied>(())
//! ```
//!
//! # What can be changed
//!
//! | limiter | change | what is held |
//! |---|---|---|
//! | [`Adjustable`] | [`adjust`](Adjustable::adjust) | the caller's choice |
//! | `keyed::Keyed` | `adjust`, class by class, all keys of it | the caller's choice, for each key |
//! | `sharded::Sharded::adjustable` | `adjust` | the caller's choice at the root; shards keep their credit as it fits |
//! | `inflight::InFlight` | `set_limit` | permits stay |
//! | `keyed::Table` | none: build another | |

mod cell;
mod cells;

use std::fmt;
use std::time::Duration;

use self::cell::Cell;
use self::cells::{Cells, Look};
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
pub use crate::held::Held;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;

/// A token bucket whose rate and capacity can be changed while any number of threads ask it.
///
/// It decides as [`Bucket`](crate::Bucket) does, to the nanosecond. Time before a change counts at the old rate, time after
/// it at the new one. A pause stays through a change; so does a debt.
///
/// # The bound
///
/// In every interval of the clock no more is admitted than the capacity at its beginning, plus what the rate in force at
/// each moment issues in it, `B(s) + ∫ r dt`; and, for [`Held::Fraction`] and [`Held::Deficit`], plus what each change in the
/// interval makes the capacity larger by. With [`Held::Tokens`] a change gives nothing. (Quotas on the binary scale add
/// less than a unit each, see [`Bucket`](crate::Bucket).)
///
/// Nothing is admitted at a reading from before the last change: such a call sees a pause that ends at the change. That is
/// stricter than either quota alone, and never looser. A call that sleeps through two changes, there and back to the quota
/// that it began with, may be admitted by that quota as if it had been made at the second change.
///
/// # Cost
///
/// Finding the quota in force takes one load of a word that only changes write, and two that find the place it names,
/// whose contents never change. An admission takes 1 to 12 % longer than a fixed bucket's
/// (`cargo bench -p tollgate-bench --bench adjust`), and refusals still write nothing. A call that meets a change waits
/// for its end: some hundred nanoseconds, or a few microseconds after hundreds of quotas. Pausing and resuming take a lock.
///
/// A bucket takes 8 KiB, and less than 512 bytes for each *different* quota after its first, up to 510 of them; changing
/// back and forth adds nothing. Quotas beyond those are as exact, and replaced without a trace, but while one of them is in
/// force calls take turns under a lock. So a controller that computes its rates should round them: steps of 2 % are 350
/// from 1 to 1000.
///
/// # Memory ordering
///
/// As for a bucket: decisions carry no happens-before edge. A call that happens after a change is decided by the new
/// quota, and one that happens after a pause obeys it.
#[doc(alias = "dynamic")]
#[doc(alias = "reconfigurable")]
#[doc(alias = "set_rate")]
pub struct Adjustable<C = Monotonic> {
    cells: Cells,
    clock: C,
}

impl Adjustable {
    /// A bucket on the [`Monotonic`] clock, with the quota's initial fill.
    pub fn new(quota: Quota) -> Self {
        Self::with_clock(quota, Monotonic::new())
    }
}

impl<C: Clock> Adjustable<C> {
    /// A bucket on a clock of the caller's, with the quota's initial fill as of now.
    pub fn with_clock(quota: Quota, clock: C) -> Self {
        let cells = Cells::new(quota, clock.now().as_u64());
        Self { cells, clock }
    }

    /// Changes rate and capacity, both as the quota says, from now on. The quota's initial fill is ignored: what is
    /// held is what `held` makes of it.
    ///
    /// The same rate and capacity as before change nothing at all, so a configuration may be applied again and again.
    /// Changes by several threads take turns.
    ///
    /// ```
    /// use tollgate::adjust::{Adjustable, Held};
    /// use tollgate::{Manual, quota};
    ///
    /// let limit = Adjustable::with_clock(quota!("100/s"), Manual::new());
    /// limit.try_acquire_n(60)?;
    /// limit.adjust(quota!("50/s"), Held::Fraction);
    /// assert_eq!(limit.peek().available(), 20);
    /// // The rate alone: the capacity is said again.
    /// limit.adjust(quota!("1000/s burst 50"), Held::Tokens);
    /// assert_eq!((limit.quota().capacity(), limit.peek().available()), (50, 20));
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    pub fn adjust(&self, quota: Quota, held: Held) {
        self.cells.change(quota, held, || self.clock.now_ordered().as_u64());
    }

    /// [`adjust`](Self::adjust) at a reading of the bucket's clock, which should be no older than any that it has been
    /// asked with: for those calls the time between the two has counted at the old rate, and will count at the new one
    /// too. A reading older than the last change counts as that one; until a later one than now nothing is admitted.
    pub fn adjust_at(&self, quota: Quota, held: Held, now: Nanos) {
        self.cells.change(quota, held, || now.as_u64());
    }

    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait by the quota in force.
    #[doc(alias = "check")]
    #[inline(always)]
    pub fn try_acquire(&self) -> Result<(), Denied> {
        let look = self.cells.look();
        self.unless_moved(look, look.cell.admit(&self.clock), |cell| cell.admit(&self.clock))
    }

    /// [`try_acquire`](Self::try_acquire) at a reading that the caller has taken from the bucket's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline(always)]
    pub fn try_acquire_at(&self, now: Nanos) -> Result<(), Denied> {
        self.ask(|cell| cell.ruled().admit(&cell.gcra.one, now).map(drop))
    }

    /// Admits `cost` tokens now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, [`Denied::OverCapacity`] for a cost that will never be admitted under the
    /// quota in force, or [`Denied::ZeroCost`].
    #[doc(alias = "check_n")]
    #[inline(always)]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let look = self.cells.look();
        self.unless_moved(look, look.cell.admit_n(cost, &self.clock), |cell| cell.admit_n(cost, &self.clock))
    }

    /// [`try_acquire_n`](Self::try_acquire_n) at a reading that the caller has taken from the bucket's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline(always)]
    pub fn try_acquire_n_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.ask(|cell| cell.ruled().admit(&cell.gcra.cost(cost)?, now).map(drop))
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many: 0 if none are there, while the bucket is
    /// in debt or paused, or for a `most` of 0. What is not there is refused, not waited for. It never makes a debt.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        self.take_up_to(most, || self.clock.now())
    }

    /// [`acquire_up_to`](Self::acquire_up_to) at a reading of the bucket's clock.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to_at(&self, most: u64, now: Nanos) -> u64 {
        self.take_up_to(most, || now)
    }

    /// Takes `cost` tokens whether they are there or not, for work that has been done already.
    ///
    /// What is not there becomes debt. A pause does not stop it, a cost above the capacity is charged in full (debts
    /// saturate near 2^64 units), and a cost of 0 takes nothing. Beside a change it is made once, before it or after it.
    pub fn charge(&self, cost: u64) {
        self.move_once(|cell| cell.charge(cost, self.clock.now()));
    }

    /// [`charge`](Self::charge) at a reading of the bucket's clock.
    pub fn charge_at(&self, cost: u64, now: Nanos) {
        self.move_once(|cell| cell.charge(cost, now));
    }

    /// Gives `cost` tokens back, up to a full bucket; in debt it pays off debt. Each refund may widen the bound by its
    /// amount. Beside a change it is made once, before it or after it.
    pub fn refund(&self, cost: u64) {
        self.move_once(|cell| cell.refund(cost, self.clock.now()));
    }

    /// [`refund`](Self::refund) at a reading of the bucket's clock.
    pub fn refund_at(&self, cost: u64, now: Nanos) {
        self.move_once(|cell| cell.refund(cost, now));
    }

    /// Admits nothing before the clock reads `until`. Tokens go on being issued. Neither a shorter pause nor a refund
    /// nor a change of the quota ends it; only [`resume`](Self::resume) does.
    pub fn pause_until(&self, until: Nanos) {
        self.cells.settled(|cell| cell.word.pause(until.as_u64()));
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for(&self, span: Duration) {
        self.pause_until(self.clock.now().saturating_add(Nanos::from_duration(span)));
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.cells.resume();
    }

    /// Looks without consuming: what is there, what is owed, and how long things will take under the quota in force.
    pub fn peek(&self) -> Level {
        self.read(|cell| cell.ruled().peek(self.clock.now()))
    }

    /// [`peek`](Self::peek) at a reading of the bucket's clock. At one from before the last change it shows a pause until
    /// the change.
    pub fn peek_at(&self, now: Nanos) -> Level {
        self.read(|cell| cell.ruled().peek(now))
    }

    /// The quota in force: as it was first given, if one of the same rate and capacity has been in force before.
    pub fn quota(&self) -> Quota {
        self.read(|cell| cell.quota)
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Asks the cell in force.
    #[inline(always)]
    fn ask<T>(&self, ask: impl Fn(&Cell) -> Result<T, Denied>) -> Result<T, Denied> {
        let look = self.cells.look();
        self.unless_moved(look, ask(look.cell), ask)
    }

    /// The answer of the cell in force, or that of asking again. An admission is one, whatever changes meanwhile; a refusal may
    /// be that of a retired word.
    ///
    /// The hot path hands over an answer, not a closure: one that is called in two places is not inlined in either.
    #[inline(always)]
    fn unless_moved<T>(
        &self,
        look: Look<'_>,
        answer: Result<T, Denied>,
        again: impl Fn(&Cell) -> Result<T, Denied>,
    ) -> Result<T, Denied> {
        match answer {
            Err(_) if self.cells.moved(look) => self.cells.settled(again),
            answer => answer,
        }
    }

    /// [`Ruled::lend_now`](crate::bucket::Ruled::lend_now), by the quota in force.
    #[cfg(feature = "sharded")]
    pub(crate) fn lend(&self, least: u64, most: u64, part: u32) -> Result<u64, Denied> {
        self.ask(|cell| cell.ruled().lend_now(least, most, part, &self.clock))
    }

    fn take_up_to(&self, most: u64, now: impl Fn() -> Nanos) -> u64 {
        let lent = |cell: &Cell| cell.ruled().lend(1, most, 0, now());
        if most == 0 { 0 } else { self.ask(lent).unwrap_or(0) }
    }

    /// Moves the word in force. A retired one does not move, and the move tells so.
    fn move_once(&self, step: impl Fn(&Cell) -> bool) {
        if !step(self.cells.look().cell) {
            self.cells.settled(step);
        }
    }

    fn read<R>(&self, read: impl Fn(&Cell) -> R) -> R {
        let look = self.cells.look();
        let seen = read(look.cell);
        if self.cells.moved(look) { self.cells.settled(read) } else { seen }
    }
}

impl<C: Clock> Limiter for Adjustable<C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        Self::try_acquire(self)
    }
}

impl<C: Clock> fmt::Debug for Adjustable<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peek().describe(f.debug_struct("Adjustable"), self.quota())
    }
}
