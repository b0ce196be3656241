//! A bucket whose word lies in the mapped file.

use std::fmt;
use std::sync::Arc;

use core::time::Duration;

use super::charge::SharedCharge;
use super::clock::MachineClock;
#[cfg(feature = "wait")]
use super::late::LatePlaces;
#[cfg(feature = "wait")]
use super::mapped_word::MappedWord;
use super::mapping::MappedSlot;
use super::opened::Opened;
#[cfg(feature = "wait")]
use crate::bucket::Booked;
use crate::bucket::Ruled;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::word::Raised;

/// A bucket that every process has which opened it by its name: a [`Bucket`](crate::Bucket) between processes.
///
/// Made by [`Region::bucket`](super::Region::bucket). All verbs keep the bucket's promises over all processes together.
/// With the feature `budget` it can be one of several limits (`budget::Limit`), with `wait` places can be booked and waited
/// for. Its quota does not change: a bucket with another quota has another name.
///
/// # Cost
///
/// That of a [`Bucket`](crate::Bucket): a reading of the counter and one compare-exchange, and one hop to the
/// mapped word. Only what gives back takes a lock: an [undo](SharedCharge::undo), the return of a place, a
/// refund, a reset. That is four system calls, some microseconds. While others have the lock, it waits for
/// them for up to a millisecond; then a refund and a reset are done without.
pub struct SharedBucket {
    quota: Quota,
    gcra: Gcra,
    clock: MachineClock,
    slot: MappedSlot,
    opened: Arc<Opened>,
    #[cfg(feature = "wait")]
    late: LatePlaces,
}

impl SharedBucket {
    pub(super) fn new(opened: Arc<Opened>, slot: MappedSlot, quota: Quota) -> Self {
        Self {
            quota,
            gcra: Gcra::new(&quota),
            clock: opened.clock().clone(),
            slot,
            opened,
            #[cfg(feature = "wait")]
            late: LatePlaces::none(),
        }
    }

    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait.
    #[inline]
    pub fn try_acquire(&self) -> Result<(), Denied> {
        self.try_acquire_at(self.clock.now())
    }

    /// [`try_acquire`](Self::try_acquire) at a reading that the caller has taken from the region's clock.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait from `now`.
    #[inline]
    pub fn try_acquire_at(&self, now: Nanos) -> Result<(), Denied> {
        self.ruled().admit(&self.gcra.one, now).map(drop)
    }

    /// Admits `cost` tokens now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, [`Denied::OverCapacity`] for a cost that will never be admitted, or
    /// [`Denied::ZeroCost`].
    // Out of line: in a caller's loop the compiler makes a branch of the rule's choice, which costs are bound to mispredict.
    #[inline(never)]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let asked = self.gcra.cost(cost)?;
        self.ruled().admit(&asked, self.clock.now()).map(drop)
    }

    /// [`try_acquire_n`](Self::try_acquire_n) at a reading of the region's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline]
    pub fn try_acquire_n_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.ruled().admit(&self.gcra.cost(cost)?, now).map(drop)
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many; the rest is refused. It never makes a debt.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        self.acquire_up_to_at(most, self.clock.now())
    }

    /// [`acquire_up_to`](Self::acquire_up_to) at a reading of the region's clock.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to_at(&self, most: u64, now: Nanos) -> u64 {
        if most == 0 { 0 } else { self.ruled().lend(1, most, 0, now).unwrap_or(0) }
    }

    /// Admits `cost` tokens as [`try_acquire_n`](Self::try_acquire_n) does, in a way that can be undone.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub fn try_charge(&self, cost: u64) -> Result<SharedCharge<'_>, Denied> {
        self.try_charge_at(cost, self.clock.now())
    }

    /// [`try_charge`](Self::try_charge) at a reading of the region's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub fn try_charge_at(&self, cost: u64, now: Nanos) -> Result<SharedCharge<'_>, Denied> {
        let asked = self.gcra.cost(cost)?;
        let lowered = self.slot.word.lowered();
        let written = self.ruled().admit(&asked, now)?;
        Ok(SharedCharge { bucket: self, units: asked.units, written, lowered })
    }

    /// What [`try_acquire_n_at`](Self::try_acquire_n_at) would answer; it takes nothing.
    #[cfg(feature = "budget")]
    #[inline]
    pub(super) fn would_admit_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.ruled().would_admit(self.gcra.cost(cost)?, now)
    }

    /// Takes `cost` tokens whether they are there or not; what is not there becomes debt.
    pub fn charge(&self, cost: u64) -> SharedCharge<'_> {
        self.charge_at(cost, self.clock.now())
    }

    /// [`charge`](Self::charge) at a reading of the region's clock.
    pub fn charge_at(&self, cost: u64, now: Nanos) -> SharedCharge<'_> {
        let lowered = self.slot.word.lowered();
        let (Raised { written, .. }, units) = self.ruled().charge(self.gcra.units(cost), now);
        SharedCharge { bucket: self, units, written, lowered }
    }

    /// The undo of a charge, with readings of the region's clock.
    pub(super) fn give_back(&self, charge: &SharedCharge<'_>, now: impl Fn() -> Nanos) {
        let &SharedCharge { units, written, lowered: before, .. } = charge;
        let _is_done = self.opened.undoing_alone(&self.slot, || {
            self.slot.word.undo(units, |arrival, lowered| {
                let issued = self.gcra.issued(now().as_u64());
                self.gcra.undo(arrival, issued, units, written, before.until(lowered))
            });
        });
    }

    /// The return of a place, and of those that were late, with readings of the region's clock.
    #[cfg(feature = "wait")]
    pub(super) fn give_place_back(&self, booked: &Booked, now: impl Fn() -> Nanos) {
        let mut returned = self.late.take();
        returned.push(*booked);
        let is_done = self.opened.undoing_alone(&self.slot, || {
            returned.iter().for_each(|booked| self.slot.word.cancel(booked, &self.gcra, &now));
        });
        if !is_done {
            self.late.put(returned);
        }
    }

    #[cfg(test)]
    pub(super) fn undoing_alone(&self, act: impl FnOnce()) -> bool {
        self.opened.undoing_alone(&self.slot, act)
    }

    /// Whole tokens.
    pub(super) fn tokens(&self, units: u64) -> u64 {
        units / self.gcra.one.units
    }

    /// Gives `cost` tokens back, up to a full bucket. Each refund may widen the bound by its amount, as
    /// [`Bucket::refund`](crate::Bucket::refund) says.
    pub fn refund(&self, cost: u64) {
        self.refund_at(cost, self.clock.now());
    }

    /// [`refund`](Self::refund) at a reading of the region's clock.
    pub fn refund_at(&self, cost: u64, now: Nanos) {
        let (issued, units) = (self.gcra.issued(now.as_u64()), self.gcra.units(cost));
        self.replace(|arrival| {
            let goal = self.gcra.refund(arrival, issued, units);
            (goal, arrival.saturating_sub(goal))
        });
    }

    /// Moves the arrival point alone, if that can be; otherwise beside whoever gives back at the moment.
    fn replace(&self, next: impl Fn(u64) -> (u64, u64)) {
        let word = &self.slot.word;
        if !self.opened.undoing_alone(&self.slot, || word.replace(&next)) {
            word.replace_beside(&next);
        }
    }

    /// Admits nothing, in any process, before the region's clock reads `until`. Neither a shorter pause nor a refund nor a
    /// [`reset`](Self::reset) shortens it.
    pub fn pause_until(&self, until: Nanos) {
        self.slot.word.pause(until.as_u64());
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for(&self, span: Duration) {
        self.pause_until(self.clock.now().saturating_add(Nanos::from_duration(span)));
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.slot.word.resume();
    }

    /// Looks without consuming.
    pub fn peek(&self) -> Level {
        self.peek_at(self.clock.now())
    }

    /// [`peek`](Self::peek) at a reading of the region's clock.
    pub fn peek_at(&self, now: Nanos) -> Level {
        self.ruled().peek(now)
    }

    /// Puts the bucket back to its initial fill; a debt is forgotten, a pause is not. Earlier charges cannot be undone any more.
    pub fn reset(&self) {
        self.reset_at(self.clock.now());
    }

    /// [`reset`](Self::reset) at a reading of the region's clock.
    pub fn reset_at(&self, now: Nanos) {
        let issued = self.gcra.issued(now.as_u64());
        let goal = self.gcra.holding(issued, self.quota.initial_tokens());
        // All that stood above what was issued counts as given back, so no charge made before can be undone.
        self.replace(|arrival| (goal, arrival.max(goal).saturating_sub(issued)));
    }

    /// Empties the bucket and tells how many whole tokens that took; a debt stays as it is.
    pub fn drain(&self) -> u64 {
        self.drain_at(self.clock.now())
    }

    /// [`drain`](Self::drain) at a reading of the region's clock.
    pub fn drain_at(&self, now: Nanos) -> u64 {
        self.ruled().drain(now)
    }

    /// The quota, which is the same in all processes.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// The clock of its region.
    pub fn clock(&self) -> &MachineClock {
        &self.clock
    }

    #[cfg(feature = "wait")]
    pub(super) fn word(&self) -> &MappedWord {
        &self.slot.word
    }

    #[inline(always)]
    pub(super) fn ruled(&self) -> Ruled<'_> {
        Ruled { gcra: &self.gcra, word: &self.slot.word }
    }
}

impl Limiter for SharedBucket {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        self.try_acquire_n(cost)
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        self.try_acquire()
    }
}

impl fmt::Debug for SharedBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peek().describe(f.debug_struct("SharedBucket"), self.quota)
    }
}
