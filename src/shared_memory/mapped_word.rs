//! A word in a mapped file, and what has been given back to it, so that a charge can be undone; valid whenever a process
//! dies.
//!
//! An undo may give back no more than what refill has not made good, and for that it must know what other undos gave back
//! since its charge (`GUARANTEES` section 6). In a process each lowering announces itself and withdraws the announcement
//! (see [`word`](crate::word)). The announcement of a process that dies would stay for ever, and what it gave back would not
//! be counted. So it is done in another way here:
//!
//! * **One at a time.** Whoever gives back (an undo, the return of a place, a refund, a reset) holds a lock
//!   that the system takes from the dead ([`undoing_alone`](super::undo_lock::undoing_alone)). It leaves word
//!   of itself in `undoing`: the most that it may give back.
//! * **Then the word is lowered, then counted in `lowered`, then `undoing` is cleared.** Whoever gets the
//!   lock and finds something in `undoing` comes after one who died in between. It counts all of that as
//!   given back, whether it was or not, and clears it. Too much counted, or twice, only withholds, and only
//!   from charges that were there before.
//! * A charge reads `lowered` before it raises the word. What it finds counted had lowered the word before:
//!   `lowered` is released after that and acquired here. Its undo has the lock, so all others are over or
//!   were counted now; the difference misses none of them.
//! * **A refund or a reset that does not get the lock** does without, for it has to be done. It leaves word of
//!   itself in `refunding` before it lowers the word, is counted after, and then takes its word back.
//!   * An undo does not ask for that. Beside such a refund, or after one that died before it was counted, it
//!     gives back too much by no more than the refund's amount; and that once for all undos together, for
//!     among themselves they count. By so much a refund may widen the bound anyway, and says so;
//!     `docs/theory.md` has the proof that it is not twice.
//!   * The return of a place does ask, for it would be twice: it looks at where those behind stand, and an
//!     amount that is not counted brings all of them nearer. It takes what is in `refunding` for given back.
//!     If a refund dies without the lock that stays, and returns of places that others stand behind give back
//!     the less for it; no bound suffers. That takes one that was stopped with the lock and one that died
//!     within some nanoseconds of the same millisecond.
//!
//! # Memory ordering
//!
//! * `undoing` is only read by who has the lock, which orders it: relaxed, but for the store that clears it.
//!   That must not be seen before the addition to `lowered`. That it is announced before the word is lowered
//!   is ensured by the release of the word.
//! * `refunding` is added to before the word is released, so who has acquired the lowered word finds either
//!   the announcement or that it was taken back. Then it acquires the addition to `lowered`, which came
//!   before; so `refunding` is read first. Both may be found, which counts twice and withholds.
//! * `promised` is raised before the word is released by the booking, and read after the word was acquired.
//! * `cancelled` is only touched under the lock.

use core::cell::Cell;
#[cfg(feature = "wait")]
use core::iter::repeat;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "wait")]
use crate::bucket::{Booked, Cancelled, Line, Moment, Return, Spacing, Stretch};
#[cfg(feature = "wait")]
use crate::gcra::Gcra;
#[cfg(feature = "wait")]
use crate::nanos::Nanos;
use crate::word::{Lowered, Raised, Word};

/// Its layout is part of the format of the file.
#[repr(C)]
pub(super) struct MappedWord {
    word: Word,
    /// The units that who has the lock may give back; 0 if nobody does.
    undoing: AtomicU64,
    /// Units given back, or more.
    lowered: AtomicU64,
    /// Units that may be given back by those without the lock, and are not counted yet.
    refunding: AtomicU64,
    /// The latest end of a pause for which a place was booked. It is raised before the word is, and read after it.
    promised: AtomicU64,
    /// What is remembered of cancelled places, four words each; see `cancelled`. Whoever has the lock writes it, and leaves word
    /// in `undoing` before: after a death in between nothing is remembered.
    cancelled: [AtomicU64; 4 * REMEMBERED],
}

/// So many stretches of cancelled places are remembered; others count as standing.
const REMEMBERED: usize = 8;

impl MappedWord {
    /// What has been given back so far, to be read before a charge that may be undone.
    #[inline]
    pub(super) fn lowered(&self) -> Lowered {
        Lowered::counted(self.lowered.load(Ordering::Acquire))
    }

    /// Puts it to `arrival`, with no pause, while nobody else uses it.
    pub(super) fn put(&self, arrival: u64) {
        self.word.put(arrival, 0);
        self.promised.store(0, Ordering::Relaxed);
        self.refunding.store(0, Ordering::Relaxed);
        self.forget();
    }

    /// Moves the arrival point to what `next` makes of it, and counts so many units as given back as it tells
    /// beside that. The caller has the lock.
    pub(super) fn replace(&self, next: impl Fn(u64) -> (u64, u64)) {
        self.count_the_dead();
        self.moved(next, |units| self.undoing.store(units, Ordering::Relaxed));
        self.undoing.store(0, Ordering::Release);
    }

    /// [`replace`](Self::replace) for a caller that has not got the lock.
    pub(super) fn replace_beside(&self, next: impl Fn(u64) -> (u64, u64)) {
        let announced = Cell::new(0);
        self.moved(next, |units| {
            let more = units.saturating_sub(announced.get());
            self.refunding.fetch_add(more, Ordering::Relaxed);
            announced.set(announced.get() + more);
        });
        self.refunding.fetch_sub(announced.get(), Ordering::Release);
    }

    /// Moves the arrival point, and counts; before each attempt it announces how much that may give back.
    fn moved(&self, next: impl Fn(u64) -> (u64, u64), announce: impl Fn(u64)) {
        let given = Cell::new(0);
        self.word.step(|arrival| {
            let (goal, units) = next(arrival);
            announce(units);
            given.set(units);
            goal
        });
        self.count(given.get());
    }

    /// Lowers the arrival point, by at most `most`, to what `next` makes of it and of the units given back so far. The caller
    /// has the lock.
    pub(super) fn undo(&self, most: u64, next: impl Fn(u64, u64) -> u64) {
        self.count_the_dead();
        self.announced(most, || {
            self.step_back(|arrival| next(arrival, self.lowered.load(Ordering::Acquire)))
        });
    }

    /// Does what may give back so much.
    fn announced(&self, most: u64, act: impl FnOnce()) {
        self.undoing.store(most, Ordering::Relaxed);
        act();
        self.undoing.store(0, Ordering::Release);
    }

    fn step_back(&self, next: impl Fn(u64) -> u64) {
        let Raised { seen, written } = self.word.step(next);
        self.count(seen.saturating_sub(written));
    }

    /// Counts what a process may have given back that died with the lock.
    fn count_the_dead(&self) {
        let left = self.undoing.load(Ordering::Relaxed);
        if left > 0 {
            self.count(left);
            self.forget();
            self.undoing.store(0, Ordering::Release);
        }
    }

    /// Remembers no cancelled place.
    fn forget(&self) {
        self.cancelled.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    fn count(&self, units: u64) {
        self.lowered.fetch_add(units, Ordering::Release);
    }
}

/// Places that are given back, beside all others that were. The caller has the lock.
#[cfg(feature = "wait")]
impl MappedWord {
    pub(super) fn cancel(&self, booked: &Booked, gcra: &Gcra, now: impl Fn() -> Nanos) {
        self.count_the_dead();
        let mut cancelled = self.remembered();
        let return_of = Return::new(&mut cancelled, booked, Spacing::Burst, gcra);
        self.announced(return_of.most(), || {
            self.step_back(|arrival| {
                // What was booked for a pause's end keeps its time even if the pause is ended early.
                let promised = self.promised.load(Ordering::Relaxed);
                let issued = gcra.issued(now().as_u64().max(promised));
                return_of.goal(Moment { arrival, lowered: self.lowered_at_most(), issued })
            });
            self.remember(return_of.done());
        });
    }

    fn remembered(&self) -> Cancelled {
        let mut cancelled = Cancelled::new(REMEMBERED);
        let (stretches, _) = self.cancelled.as_chunks::<4>();
        let words = stretches.iter().map(|words| words.each_ref().map(|word| word.load(Ordering::Relaxed)));
        words
            .map(|[low, high, lowered, owed]| Stretch { low, high, lowered, owed })
            .filter(|stretch| stretch.low != stretch.high)
            .for_each(|stretch| cancelled.add(stretch));
        cancelled
    }

    /// Units given back, with those that may be and are not counted yet.
    fn lowered_at_most(&self) -> u64 {
        let refunding = self.refunding.load(Ordering::Acquire);
        self.lowered.load(Ordering::Acquire).wrapping_add(refunding)
    }

    fn remember(&self, cancelled: &Cancelled) {
        let stretches = cancelled.stretches().iter();
        let words = stretches.flat_map(|stretch| [stretch.low, stretch.high, stretch.lowered, stretch.owed]);
        let words = words.chain(repeat(0));
        self.cancelled.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    }
}

/// What has been lowered is read first, so that no more is taken for it than lies below the word.
#[cfg(feature = "wait")]
impl Line for MappedWord {
    fn place_on_axis(&self) -> (u64, Lowered) {
        let lowered = self.lowered();
        (self.word.arrival(), lowered)
    }

    fn promise(&self, paused_until: Nanos) {
        self.promised.fetch_max(paused_until.as_u64(), Ordering::Relaxed);
    }
}

impl Deref for MappedWord {
    type Target = Word;

    #[inline(always)]
    fn deref(&self) -> &Word {
        &self.word
    }
}

#[cfg(test)]
mod tests;
