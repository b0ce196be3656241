//! The word: the one atomic that decides, its only compare-exchange loop, and every ordering with its reason.
//!
//! # Memory ordering
//!
//! The word's modification order is the order of the decisions, and nothing else is published through it for callers:
//! they get no happens-before from a decision, and the docs of [`Bucket`](crate::Bucket) say so. What is stronger than
//! `Relaxed` here serves pauses and undos.
//!
//! * **Refusing** is a relaxed load. It may miss a refund that no happens-before edge carried to the caller.
//! * **Pausing** stores `hold` with `Release`; a decision loads it with `Acquire`. A call that happens after a pause
//!   obeys it.
//! * **Raising** the arrival point (admission, charge) releases, on success only. An undo acquires the word before it
//!   reads the clock, so its reading is no older than that of any admission it sees, and no refill escapes it.
//! * **Lowering** (refund, undo, reset, restore) is accounted for, so that a late undo cannot give back what someone
//!   else gave back already (`GUARANTEES` section 6). A charge that may be undone reads `lowered` before it raises the
//!   word; the undo reads it again, and the difference is what others may have lowered in between. For that difference
//!   to miss nothing, an undo works only while no other lowering is under way, which `lowering` counts:
//!   - a lowering announces itself in `lowering` before it lowers the word. If an undo does not see the announcement,
//!     the lowering comes after it;
//!   - it adds to `lowered` after it has lowered the word, then withdraws the announcement with `Release`. An undo that
//!     finds it withdrawn acquires both. A charge that finds the addition in `lowered` acquires the lowered word, so
//!     what it subtracts was lowered before it;
//!   - undos exclude one another: two that lowered at once could bring the word back to what the first has seen (ABA),
//!     with refill in between that the first does not know of. A refund or a reset that begins between an undo's look
//!     at `lowering` and its exchange is not excluded; it may widen the bound by its own amount anyway, and says so.
//!
//!   One counter alone does not do: see `loom-tests/twins`. `lowered` wraps; 2^64 units, at least eight whole
//!   capacities, would have to be given back between a charge and its undo for that to show.
//! * **Booking** wants to know its place on the axis exactly, so it acquires the word, then `lowering`, then `lowered`: where
//!   no lowering is announced after the word was read, all before it are counted, and one after it changes the word. Others
//!   may raise it again to what it was; then too little is counted, which is the safe side.
//! * **Retiring** a word (a change of quota) acquires, as an undo does: the clock read after it is no older than any reading
//!   that the word has been raised with. **Reviving** it releases the arrival point, after the hold: who has seen the word
//!   retired and then, with `Acquire`, no longer retired, happens after all that was done before it was revived.

use core::ops::Deref;

use crate::sync::{AtomicU64, Ordering, spin_loop};

/// How often an undo tries to have the word's lowering to itself. Another one takes some tens of nanoseconds, so more
/// attempts than these fail only beside a thread that was stopped in the middle, for which nobody should wait.
const UNDO_ATTEMPTS: u32 = 8;

/// The arrival point, and the pause beside it.
///
/// Its layout is part of the format of mapped files.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Word {
    arrival: AtomicU64,
    hold: AtomicU64,
}

/// A word, and what has been given back, so that a charge can be undone.
#[derive(Debug)]
pub(crate) struct Undoable {
    word: Word,
    /// Lowerings that are under way.
    lowering: AtomicU64,
    /// Units lowered by those that are over.
    lowered: AtomicU64,
}

/// A step of the arrival point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raised {
    pub(crate) seen: u64,
    pub(crate) written: u64,
}

/// Why an attempt to raise the arrival point wrote nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unraised {
    /// The rule declined.
    Declined,
    /// Another call changed the word first, to this.
    Overtaken(u64),
}

/// Units given back by all lowerings that were over when this was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowered(u64);

/// What a word reads while its quota is not in force (see `adjust`). No rule admits anything on it, for it is above every
/// arrival point; and nothing else moves it.
const RETIRED: u64 = u64::MAX;

impl Word {
    pub(crate) fn new(arrival: u64) -> Self {
        Self::holding_from(arrival, 0)
    }

    /// A word with nothing admitted before the reading `hold`.
    pub(crate) fn holding_from(arrival: u64, hold: u64) -> Self {
        Self { arrival: AtomicU64::new(arrival), hold: AtomicU64::new(hold) }
    }

    /// The arrival point now.
    #[inline]
    pub(crate) fn arrival(&self) -> u64 {
        self.arrival.load(Ordering::Relaxed)
    }

    /// The reading before which nothing is admitted.
    #[inline]
    pub(crate) fn hold(&self) -> u64 {
        self.hold.load(Ordering::Acquire)
    }

    /// Admits nothing before the reading `until`, nor before an earlier pause's end.
    pub(crate) fn pause(&self, until: u64) {
        self.hold.fetch_max(until, Ordering::Release);
    }

    /// Ends any pause.
    pub(crate) fn resume(&self) {
        self.hold.store(0, Ordering::Release);
    }

    /// Admits nothing before the reading `hold`, in place of any other pause.
    #[cfg(any(feature = "adjust", feature = "keyed"))]
    pub(crate) fn hold_from(&self, hold: u64) {
        self.hold.store(hold, Ordering::Release);
    }

    /// Raises the arrival point to what `next` makes of it and returns what was replaced and what was written, or, where
    /// `next` declines, what was seen. A refusal writes nothing.
    #[inline]
    pub(crate) fn raise(&self, next: impl Fn(u64) -> Option<u64>) -> Result<Raised, u64> {
        let mut seen = self.arrival();
        loop {
            match self.raise_from(seen, &next) {
                Err(Unraised::Overtaken(changed)) => seen = changed,
                Err(Unraised::Declined) => return Err(seen),
                Ok(written) => return Ok(Raised { seen, written }),
            }
        }
    }

    /// One attempt of [`raise`](Self::raise) from the arrival point `seen`: straight code for the hot path.
    #[inline(always)]
    pub(crate) fn raise_from(&self, seen: u64, next: impl Fn(u64) -> Option<u64>) -> Result<u64, Unraised> {
        let Some(written) = next(seen) else {
            return Err(Unraised::Declined);
        };
        match self.exchange(seen, written, Ordering::Release, Ordering::Relaxed) {
            Ok(()) => Ok(written),
            Err(changed) => Err(Unraised::Overtaken(changed)),
        }
    }

    /// Raises the arrival point to what `next` makes of it, come what may; but a retired word stays as it is.
    pub(crate) fn raise_always(&self, next: impl Fn(u64) -> u64) -> Raised {
        match self.raise(|arrival| (arrival != RETIRED).then(|| next(arrival))) {
            Ok(raised) => raised,
            Err(seen) => Raised { seen, written: seen },
        }
    }

    /// Lowers the arrival point to what `next` makes of it, without accounting for it: for words whose charges are never
    /// undone. A retired word stays as it is; tells whether it is in force.
    #[cfg(any(feature = "adjust", feature = "budget", feature = "keyed", feature = "window"))]
    pub(crate) fn lower(&self, next: impl Fn(u64) -> u64) -> bool {
        let mut seen = self.arrival();
        while seen != RETIRED {
            match self.exchange(seen, next(seen), Ordering::Release, Ordering::Relaxed) {
                Ok(()) => return true,
                Err(changed) => seen = changed,
            }
        }
        false
    }

    /// Moves the arrival point to what `next` makes of it, which is told from a word that was acquired: for words whose
    /// lowerings are accounted for elsewhere.
    #[cfg(feature = "shared-memory")]
    pub(crate) fn step(&self, next: impl Fn(u64) -> u64) -> Raised {
        let mut seen = self.arrival.load(Ordering::Acquire);
        loop {
            let written = next(seen);
            match self.exchange(seen, written, Ordering::Release, Ordering::Acquire) {
                Ok(()) => return Raised { seen, written },
                Err(changed) => seen = changed,
            }
        }
    }

    /// Puts it to `arrival`, with nothing admitted before the reading `hold`, while nobody else uses it.
    #[cfg(feature = "shared-memory")]
    pub(crate) fn put(&self, arrival: u64, hold: u64) {
        self.arrival.store(arrival, Ordering::Relaxed);
        self.hold.store(hold, Ordering::Relaxed);
    }

    #[inline(always)]
    fn exchange(&self, seen: u64, next: u64, success: Ordering, failure: Ordering) -> Result<(), u64> {
        self.arrival.compare_exchange_weak(seen, next, success, failure).map(drop)
    }
}

impl Undoable {
    pub(crate) fn new(arrival: u64) -> Self {
        Self { word: Word::new(arrival), lowering: AtomicU64::new(0), lowered: AtomicU64::new(0) }
    }

    /// Lowers the arrival point to what `next` makes of it.
    pub(crate) fn lower(&self, next: impl Fn(u64) -> u64) {
        self.replace(|seen| {
            let goal = next(seen);
            (goal, seen - goal)
        });
    }

    /// Moves the arrival point to `goal`, up or down. No charge made before, at a time when no less than `issued` units
    /// had been issued, can be undone after it.
    pub(crate) fn place(&self, goal: u64, issued: u64) {
        self.replace(|seen| (goal, seen.max(goal).saturating_sub(issued)));
    }

    /// Moves the arrival point, and adds the units that `next` tells to those lowered.
    fn replace(&self, next: impl Fn(u64) -> (u64, u64)) {
        self.lowering.fetch_add(1, Ordering::Relaxed);
        let mut seen = self.word.arrival();
        let units = loop {
            let (goal, units) = next(seen);
            match self.word.exchange(seen, goal, Ordering::Release, Ordering::Relaxed) {
                Ok(()) => break units,
                Err(changed) => seen = changed,
            }
        };
        self.finish_lowering(units);
    }

    /// Lowers the arrival point to what `next` makes of it and of the units lowered by others so far; see
    /// [`lowered`](Self::lowered). It gives up, and lowers nothing, if other lowerings get in its way every time; it tells
    /// whether it did not.
    pub(crate) fn undo(&self, next: impl Fn(u64, u64) -> u64) -> bool {
        for _ in 0..UNDO_ATTEMPTS {
            if self.lowering.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                let units = self.lower_alone(&next);
                self.finish_lowering(units.unwrap_or(0));
                if units.is_some() {
                    return true;
                }
            }
            spin_loop();
        }
        false
    }

    /// Lowers the arrival point while no other lowering is under way, and tells by how much.
    fn lower_alone(&self, next: impl Fn(u64, u64) -> u64) -> Option<u64> {
        let mut seen = self.word.arrival.load(Ordering::Acquire);
        while self.lowering.load(Ordering::Acquire) == 1 {
            let goal = next(seen, self.lowered.load(Ordering::Relaxed));
            match self.word.exchange(seen, goal, Ordering::Release, Ordering::Acquire) {
                Ok(()) => return Some(seen - goal),
                Err(changed) => seen = changed,
            }
        }
        None
    }

    fn finish_lowering(&self, units: u64) {
        self.lowered.fetch_add(units, Ordering::Release);
        self.lowering.fetch_sub(1, Ordering::Release);
    }

    /// What has been lowered so far, to be read before a charge that may be undone.
    #[inline]
    pub(crate) fn lowered(&self) -> Lowered {
        Lowered(self.lowered.load(Ordering::Acquire))
    }
}

/// For charges whose place on the axis must be told exactly.
#[cfg(feature = "wait")]
impl Undoable {
    /// The arrival point, and what had been lowered by the time it was read; nothing, if a lowering is still under way after
    /// some attempts.
    pub(crate) fn arrival_and_lowered(&self) -> Option<(u64, Lowered)> {
        for _ in 0..UNDO_ATTEMPTS {
            let arrival = self.word.arrival.load(Ordering::Acquire);
            if self.lowering.load(Ordering::Acquire) == 0 {
                return Some((arrival, self.lowered()));
            }
            spin_loop();
        }
        None
    }

    /// The arrival point, and no more than what had been lowered by the time it was read.
    pub(crate) fn arrival_and_lowered_at_least(&self) -> (u64, Lowered) {
        let lowered = self.lowered();
        (self.word.arrival(), lowered)
    }
}

impl Deref for Undoable {
    type Target = Word;

    #[inline(always)]
    fn deref(&self) -> &Word {
        &self.word
    }
}

#[cfg(feature = "adjust")]
impl Raised {
    /// Whether the word that was seen is in force.
    pub(crate) fn is_of_a_word_in_force(self) -> bool {
        self.seen != RETIRED
    }
}

impl Lowered {
    /// For a word whose lowerings are counted elsewhere.
    #[cfg(feature = "shared-memory")]
    pub(crate) fn counted(units: u64) -> Self {
        Self(units)
    }

    /// Units lowered since, given what [`Undoable::undo`] tells its rule.
    pub(crate) fn until(self, lowered: u64) -> u64 {
        lowered.wrapping_sub(self.0)
    }
}

/// Retiring a word and putting it back, for a quota that changes. One thread at a time does either.
#[cfg(feature = "adjust")]
impl Word {
    pub(crate) fn retired() -> Self {
        Self::new(RETIRED)
    }

    #[inline]
    pub(crate) fn is_retired(&self) -> bool {
        self.arrival.load(Ordering::Acquire) == RETIRED
    }

    /// Lets nobody move the word from here on, and returns the arrival point it had.
    pub(crate) fn retire(&self) -> u64 {
        self.arrival.swap(RETIRED, Ordering::Acquire)
    }

    /// Puts a retired word to `arrival`, with nothing admitted before the reading `hold`.
    pub(crate) fn revive(&self, arrival: u64, hold: u64) {
        self.hold_from(hold);
        self.arrival.store(arrival, Ordering::Release);
    }
}
