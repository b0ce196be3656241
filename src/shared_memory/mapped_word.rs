//! A word in a mapped file, and what has been given back to it, so that a charge can be undone; valid whenever a process
//! dies.
//!
//! An undo may give back no more than what refill has not made good, and for that it must know what other undos gave back
//! since its charge (`GUARANTEES` section 6). In a process each lowering announces itself and withdraws the announcement
//! (see [`word`](crate::word)). The announcement of a process that dies would stay for ever, and what it gave back would not
//! be counted. So it is done in another way here:
//!
//! * **One undo at a time.** Whoever undoes holds a lock that the system takes from the dead
//!   ([`UndoLock`](super::undo_lock::UndoLock)). It leaves word of itself in `undoing`: the most that it may give back.
//! * **Then the word is lowered, then counted in `lowered`, then `undoing` is cleared.** Whoever gets the lock and finds
//!   something in `undoing` comes after one who died in between. It counts all of that as given back, whether it was or not,
//!   and clears it. Too much counted, or twice, only withholds, and only from charges that were there before.
//! * A charge reads `lowered` before it raises the word. What it finds counted had lowered the word before: `lowered` is
//!   released after that and acquired here. Its undo has the lock, so all other undos are over or were counted now; the
//!   difference misses none of them.
//! * **Refunds and resets** take no lock. They are counted after they have lowered the word, so an undo at the same moment, or
//!   after a process that died between the two, may not know of one. It then gives back too much by no more than that refund's
//!   amount; and that once for all undos together, for among themselves they count. By so much a refund may widen the bound
//!   anyway, and says so; `docs/theory.md` has the proof that it is not twice.
//!
//! The lock orders undos and also publishes what they stored, as do the loads of `undoing` under it; of `undoing` nothing
//! else is asked, so it is relaxed, but for the store that clears it: that must not be seen before the addition to `lowered`.
//! That it is announced before the word is lowered is ensured by the release of the word.

#[cfg(feature = "wait")]
use core::iter::repeat;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "wait")]
use crate::bucket::{Axis, Booked, Cancelled, Moment, Return, Spacing, Stretch};
#[cfg(feature = "wait")]
use crate::gcra::Gcra;
#[cfg(feature = "wait")]
use crate::nanos::Nanos;
use crate::word::{Lowered, Raised, Word};

/// Its layout is part of the format of the file.
#[repr(C)]
pub(super) struct MappedWord {
    word: Word,
    /// The units that the undo which is under way may give back; 0 if none is.
    undoing: AtomicU64,
    /// Units given back, or more.
    lowered: AtomicU64,
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
        self.forget();
    }

    /// Lowers the arrival point to what `next` makes of it.
    pub(super) fn lower(&self, next: impl Fn(u64) -> u64) {
        let Raised { seen, written } = self.word.step(next);
        self.count(seen.saturating_sub(written));
    }

    /// Moves the arrival point to `goal`, up or down. No charge made before, at a time when no less than `issued` units
    /// had been issued, can be undone after it.
    pub(super) fn place(&self, goal: u64, issued: u64) {
        let seen = self.word.step(|_| goal).seen;
        self.count(seen.max(goal).saturating_sub(issued));
    }

    /// Lowers the arrival point, by at most `most`, to what `next` makes of it and of the units given back so far. The caller
    /// has the lock.
    pub(super) fn undo(&self, most: u64, next: impl Fn(u64, u64) -> u64) {
        self.count_the_dead();
        self.announced(most, || self.step_back(next));
    }

    /// Does what may give back so much.
    fn announced(&self, most: u64, act: impl FnOnce()) {
        self.undoing.store(most, Ordering::Relaxed);
        act();
        self.undoing.store(0, Ordering::Release);
    }

    fn step_back(&self, next: impl Fn(u64, u64) -> u64) {
        let Raised { seen, written } =
            self.word.step(|arrival| next(arrival, self.lowered.load(Ordering::Acquire)));
        self.count(seen.saturating_sub(written));
    }

    /// Counts what an undo may have given back whose process died in it.
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
            self.step_back(|arrival, lowered| {
                // What was booked for a pause's end keeps its time even if the pause is ended early.
                let promised = self.promised.load(Ordering::Relaxed);
                let issued = gcra.issued(now().as_u64().max(promised));
                return_of.goal(Moment { arrival, lowered, issued })
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

    fn remember(&self, cancelled: &Cancelled) {
        let stretches = cancelled.stretches().iter();
        let words = stretches.flat_map(|stretch| [stretch.low, stretch.high, stretch.lowered, stretch.owed]);
        let words = words.chain(repeat(0));
        self.cancelled.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    }
}

/// What has been lowered is read first, so that no more is taken for it than lies below the word.
#[cfg(feature = "wait")]
impl Axis for MappedWord {
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
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::gcra::Gcra;
    use crate::quota::Quota;

    /// A second is a token, and a token is a unit of this many.
    fn rules() -> (Gcra, u64) {
        let gcra = Gcra::new(&Quota::new(20, core::time::Duration::from_secs(20)).unwrap());
        (gcra, gcra.one.units)
    }

    fn word(arrival: u64) -> MappedWord {
        let [undoing, lowered, promised] = [0; 3].map(AtomicU64::new);
        let cancelled = [0; 4 * REMEMBERED].map(AtomicU64::new);
        MappedWord { word: Word::new(arrival), undoing, lowered, promised, cancelled }
    }

    /// A charge of 10 tokens: what was counted before it, and what it wrote.
    fn charge(word: &MappedWord, issued: u64) -> (Lowered, u64) {
        let (gcra, token) = rules();
        let lowered = word.lowered();
        (lowered, word.raise_always(|arrival| gcra.charge(arrival, issued, 10 * token)).written)
    }

    /// What an undo of it gives back.
    fn undo(word: &MappedWord, (before, written): (Lowered, u64), issued: u64) -> u64 {
        let (gcra, token) = rules();
        let held = word.arrival().max(issued);
        word.undo(10 * token, |arrival, lowered| {
            gcra.undo(arrival, issued, 10 * token, written, before.until(lowered))
        });
        (held - word.arrival().max(issued)) / token
    }

    /// Where a process can die in an undo of 10 tokens.
    const DEATHS: [fn(&MappedWord); 3] = [
        |word| word.undoing.store(10 * rules().1, Ordering::Relaxed),
        |word| {
            DEATHS[0](word);
            word.step(|arrival| arrival - 10 * rules().1);
        },
        |word| {
            DEATHS[1](word);
            word.count(10 * rules().1);
        },
    ];

    #[test]
    fn who_dies_in_an_undo_mints_nothing_for_charges_that_were_there() {
        let (gcra, token) = rules();
        for (at, die) in DEATHS.into_iter().enumerate() {
            let begin = gcra.issued(0);
            let word = word(begin);
            let (_theirs, ours) = (charge(&word, begin), charge(&word, begin));
            die(&word);
            // Refill makes good what is left, and somebody else takes ten.
            let later = word.arrival();
            word.raise_always(|arrival| arrival + 10 * token);
            assert_eq!(undo(&word, ours, later), 0, "{at}");
        }
    }

    #[test]
    fn who_dies_in_an_undo_holds_up_nothing_for_charges_to_come() {
        let begin = rules().0.issued(0);
        for die in DEATHS {
            let word = word(begin);
            let theirs = charge(&word, begin);
            die(&word);
            undo(&word, theirs, begin);
            word.place(begin, begin);
            for _ in 0..3 {
                let ours = charge(&word, begin);
                assert_eq!(undo(&word, ours, begin), 10);
            }
        }
    }

    #[test]
    fn of_who_dies_in_an_undo_no_cancelled_place_is_believed() {
        let word = word(100);
        word.cancelled.iter().for_each(|place| place.store(7, Ordering::Relaxed));
        word.undo(5, |arrival, _| arrival);
        let remembered = || word.cancelled.iter().map(|place| place.load(Ordering::Relaxed)).sum::<u64>();
        assert_eq!(remembered(), 7 * 32, "an undo that ends leaves them");
        DEATHS[0](&word);
        word.undo(5, |arrival, _| arrival);
        assert_eq!(remembered(), 0);
    }

    #[test]
    fn an_undo_leaves_word_of_itself_before_it_gives_anything_back() {
        let (word, told) = (word(100), Cell::new(0));
        word.undo(7, |arrival, _| {
            told.set(word.undoing.load(Ordering::Relaxed));
            arrival - 5
        });
        assert_eq!(
            (told.get(), word.lowered.load(Ordering::Relaxed), word.undoing.load(Ordering::Relaxed)),
            (7, 5, 0)
        );
    }

    /// A refund of which nobody counts anything, as when its process dies right after it.
    fn refund_and_die(word: &MappedWord, issued: u64, units: u64) -> u64 {
        let (gcra, _) = rules();
        let Raised { seen, written } = word.step(|arrival| gcra.refund(arrival, issued, units));
        seen - written
    }

    /// A charge that was admitted: when, how much, and how much of it was not given back.
    struct Admitted {
        issued: u64,
        kept: u64,
        undoable: Option<(u64, u64, Lowered)>,
    }

    /// A charge that may be undone, an admission, an undo, a refund, time; refunds are rare, for they widen what is checked.
    fn verbs() -> impl Strategy<Value = u8> {
        prop_oneof![5 => Just(0_u8), 4 => Just(1), 5 => Just(2), 1 => Just(3), 4 => Just(4)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        /// What an undo gives back is net of its charge only; with all that undos gave back and was admitted again, each
        /// refund widens the bound by its amount and no more.
        #[test]
        fn refunds_that_undos_do_not_know_of_widen_the_bound_once(
            steps in proptest::collection::vec((verbs(), 4..=10_u64, 0..12_u64), 8..40),
        ) {
            let (gcra, token) = rules();
            let (begin, mut refunded) = (gcra.issued(0), 0);
            let (word, mut issued, mut log) = (word(begin), begin, Vec::<Admitted>::new());
            for (verb, tokens, pick) in steps {
                let units = tokens * token;
                match verb {
                    0 | 1 => {
                        let (lowered, cost) = (word.lowered(), gcra.cost(tokens).unwrap());
                        let raised = word.raise(|arrival| gcra.admit(arrival, issued, cost));
                        if let Ok(Raised { written, .. }) = raised {
                            let undoable = (verb == 0).then_some((units, written, lowered));
                            log.push(Admitted { issued, kept: units, undoable });
                        }
                    }
                    2 => {
                        let mut open: Vec<_> = log.iter_mut().filter(|one| one.undoable.is_some()).collect();
                        let which = pick as usize % open.len().max(1);
                        let Some(one) = open.get_mut(which) else { continue };
                        let Some((units, written, before)) = one.undoable.take() else { continue };
                        word.undo(units, |arrival, lowered| {
                            gcra.undo(arrival, issued, units, written, before.until(lowered))
                        });
                        // An undone charge does not count, however little came back.
                        one.kept = 0;
                    }
                    3 => refunded += refund_and_die(&word, issued, units),
                    _ => issued += pick * token,
                }
                // If all that is there were admitted now: no interval that ends here has too much.
                let mut sum = (gcra.one.units + gcra.one.spare).saturating_sub(word.arrival().saturating_sub(issued));
                for one in log.iter().rev() {
                    sum += one.kept;
                    prop_assert!(sum <= 20 * token + refunded + issued - one.issued);
                }
            }
        }
    }
}
