//! The word: how much is in use, out of how much, and whether someone waits.
//!
//! | bits | field |
//! |---|---|
//! | 63..32 | permits in use |
//! | 31 | someone waits in line |
//! | 30..0 | the limit |
//!
//! All three are in one word, so that an admission is one compare-exchange against the limit *of that moment*: once a
//! lower limit is written, no call that looked before can still be admitted under the old one. And a release learns by
//! the same read-modify-write that frees the permits whether it has to hand them over.
//!
//! # Memory ordering
//!
//! * **Taking** acquires and **releasing** releases. Read-modify-writes continue a release sequence, so whoever takes a
//!   permit sees what was done under all permits released before: a limit of one is a lock.
//! * **Looking** is relaxed; a refusal may miss a release that no happens-before edge carried to it.
//! * **The mark** of a waiter is set and withdrawn under the lock of the line only. A release comes after the setting of
//!   the mark in the word's modification order, then it sees the mark and hands over; or before, then the waiter's own
//!   read-modify-write, which sets the mark, sees what was released. Neither can miss the other.

use std::fmt;

use crate::sync::{AtomicU64, Ordering};

const MARK: u64 = 1 << 31;
const LIMIT: u64 = MARK - 1;
const IN_USE_SHIFT: u32 = 32;

/// The largest limit, 2^31 - 1.
pub(super) const MAX_LIMIT: u32 = LIMIT as u32;

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally(u64);

impl Tally {
    fn of(limit: u32) -> Self {
        Self(u64::from(limit))
    }

    #[inline]
    pub(super) fn in_use(self) -> u32 {
        (self.0 >> IN_USE_SHIFT) as u32
    }

    #[inline]
    pub(super) fn limit(self) -> u32 {
        (self.0 & LIMIT) as u32
    }

    /// Whether someone waits in line.
    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.0 & MARK != 0
    }

    /// What is left of the limit; 0 while more is in use than a lowered limit allows.
    pub(super) fn available(self) -> u32 {
        self.limit().saturating_sub(self.in_use())
    }

    /// With `weight` more in use, if that is within the limit.
    #[inline(always)]
    fn take(self, weight: u32) -> Option<Self> {
        let in_use = u64::from(self.in_use()) + u64::from(weight);
        (in_use <= self.0 & LIMIT).then_some(Self(self.0.wrapping_add(amount(weight))))
    }

    /// As [`take`](Self::take), if nobody waits.
    #[inline(always)]
    pub(super) fn take_as_newcomer(self, weight: u32) -> Option<Self> {
        if self.is_marked() { None } else { self.take(weight) }
    }

    fn with_limit(self, limit: u32) -> Self {
        Self(self.0 & !LIMIT | u64::from(limit))
    }
}

/// `weight` where the word counts what is in use.
#[inline]
const fn amount(weight: u32) -> u64 {
    (weight as u64) << IN_USE_SHIFT
}

/// The word itself.
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn new(limit: u32) -> Self {
        Self(AtomicU64::new(Tally::of(limit).0))
    }

    #[inline]
    pub(super) fn look(&self) -> Tally {
        Tally(self.0.load(Ordering::Relaxed))
    }

    /// Takes `weight` for a newcomer, who does not go ahead of those in line; or tells what was seen. The hot path: one
    /// attempt, in straight code.
    #[inline(always)]
    pub(super) fn take(&self, weight: u32) -> Result<(), Tally> {
        let seen = self.look();
        let next = seen.take_as_newcomer(weight).ok_or(seen)?;
        match self.exchange(seen, next) {
            Ok(()) => Ok(()),
            Err(_) => self.take_overtaken(weight),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_overtaken(&self, weight: u32) -> Result<(), Tally> {
        self.replace(|seen| seen.take_as_newcomer(weight)).map(drop)
    }

    /// Takes `weight` for the one whose turn it is.
    pub(super) fn take_in_turn(&self, weight: u32) -> Result<(), Tally> {
        self.replace(|seen| seen.take(weight)).map(drop)
    }

    /// Gives `weight` back, and tells whether it must be handed over.
    #[inline(always)]
    pub(super) fn release(&self, weight: u32) -> bool {
        Tally(self.0.fetch_sub(amount(weight), Ordering::Release)).is_marked()
    }

    /// Writes another limit, and tells what was there.
    pub(super) fn set_limit(&self, limit: u32) -> Tally {
        match self.replace(|seen| Some(seen.with_limit(limit))) {
            Ok(seen) | Err(seen) => seen,
        }
    }

    /// Marks that someone waits; the caller holds the lock of the line.
    pub(super) fn mark(&self) -> Tally {
        Tally(self.0.fetch_or(MARK, Ordering::Relaxed))
    }

    /// Withdraws the mark; the caller holds the lock of the line.
    pub(super) fn unmark(&self) {
        self.0.fetch_and(!MARK, Ordering::Relaxed);
    }

    /// Replaces the tally by what `next` makes of it, and tells what was there. A refusal writes nothing.
    fn replace(&self, next: impl Fn(Tally) -> Option<Tally>) -> Result<Tally, Tally> {
        let mut seen = self.look();
        loop {
            let next = next(seen).ok_or(seen)?;
            match self.exchange(seen, next) {
                Ok(()) => return Ok(seen),
                Err(changed) => seen = changed,
            }
        }
    }

    #[inline(always)]
    fn exchange(&self, seen: Tally, next: Tally) -> Result<(), Tally> {
        let exchanged = self.0.compare_exchange_weak(seen.0, next.0, Ordering::Acquire, Ordering::Relaxed);
        exchanged.map(drop).map_err(Tally)
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("in_use", &self.in_use())
            .field("limit", &self.limit())
            .field("is_marked", &self.is_marked())
            .finish()
    }
}
