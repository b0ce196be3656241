//! Which cell is in force, and how another one comes into force.
//!
//! # Publication
//!
//! A reader loads `current`, finds the cell that it names, and works on that cell's word. To change the quota, a thread
//! (one at a time, under the lock `changes`) retires the word in force, works out what it amounts to under the new
//! rules, puts that into the new cell's word and stores `current`. From the moment a word is retired nobody can move it,
//! and until `current` is stored the new one is known to nobody. A reader that comes upon a retired word has changed
//! nothing; it takes the lock, and so waits for the end of the change, and acts on the cell in force under it.
//!
//! # Why no reader can confuse two quotas
//!
//! A reader may stop at any instruction for any time, with the rules of a cell in its registers and the word's value as
//! it was. Its compare-exchange succeeds only if the word has that value again, and then is right only if its rules are
//! that word's. So *a word never changes its rules*: a cell is made for one quota and serves no other. It may go out of
//! force and come back; to a reader that slept meanwhile that is as if the word had been moved by others.
//!
//! # What else was considered
//!
//! Beside a compare-exchange of 2.4 ns, finding the cell costs 0.6 ns here, an `arc_swap::ArcSwap` 8 ns, an epoch 4 ns, a
//! lock 9 ns and more: whatever lets cells be freed makes every reader write. A ring of cells used in turn for any quota
//! costs as little as this, but is right only as long as no reader sleeps through a whole turn and finds its value again.
//!
//! # Memory
//!
//! Cells cannot be freed while a reader may hold one, and readers leave no trace. So there are at most [`KEPT`] of them,
//! one for each *different* quota: changes among those add nothing. A quota beyond gets the spare cell, which is used
//! only under the lock, and so is gone for good when it is replaced. That is slower, and still exact.
//!
//! # Memory ordering
//!
//! * `current` is stored with `Release` and loaded with `Acquire`: who sees it sees the cell's rules, its hold, and an
//!   arrival point no older than the one it came into force with.
//! * A refusal, or a look, that used a retired word must not be believed, and is found out by [`Cells::moved`]: either
//!   the word is retired still, or it has been revived since. Reviving has released what came before it, and that includes
//!   the store to `current` by the change that took the cell out of force: the count is no longer the reader's.

use std::sync::OnceLock;

use crossbeam_utils::CachePadded;

use crate::adjust::cell::Cell;
use crate::gcra::Gcra;
use crate::held::Held;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::word::Word;

/// Places for cells that are kept: 8 KiB, and less than 512 bytes for each that is taken. The first one's is not used.
const KEPT: usize = 512;

/// The place that is current while the spare cell is in force. Its own cell never is.
const NOWHERE: usize = KEPT - 1;

/// The cells of one limiter.
#[derive(Debug)]
pub(super) struct Cells {
    /// How many changes there were, times [`KEPT`], plus the place of the cell in force.
    current: AtomicU64,
    /// The cell at place 0.
    first: Cell,
    /// Those at the other places, from 1 on, none left out.
    later: Box<[OnceLock<Box<Cell>>; KEPT]>,
    changes: CachePadded<Mutex<Changes>>,
}

/// What is known to whoever changes the quota.
#[derive(Debug)]
struct Changes {
    /// The reading of the last change. Nothing is admitted at a reading before it.
    since: u64,
    /// The cell in force, if it is none of those that are kept.
    spare: Option<Cell>,
}

/// A cell that was in force when it was looked up.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) cell: &'a Cell,
    current: u64,
}

impl Cells {
    /// The quota's own fill in force, without a reading before which nothing is admitted.
    pub(super) fn new(quota: Quota, now: u64) -> Self {
        let gcra = Gcra::new(&quota);
        let first = Cell::retired(quota, gcra);
        first.word.revive(gcra.holding(gcra.issued(now), quota.initial_tokens()), 0);
        Self {
            current: AtomicU64::new(0),
            first,
            later: Box::new([const { OnceLock::new() }; KEPT]),
            changes: CachePadded::new(Mutex::new(Changes { since: 0, spare: None })),
        }
    }

    /// The cell in force, unless that is the spare one.
    #[inline(always)]
    pub(super) fn look(&self) -> Look<'_> {
        let current = self.current.load(Ordering::Acquire);
        Look { cell: self.kept(current), current }
    }

    /// The cell at the place that `current` names: the first one if there is none, and for place 0 there is none.
    #[inline(always)]
    fn kept(&self, current: u64) -> &Cell {
        self.later[current as usize % KEPT].get().map_or(&self.first, |cell| cell)
    }

    /// Whether what was seen of the cell's word may have been that it is retired.
    #[inline]
    pub(super) fn moved(&self, look: Look<'_>) -> bool {
        look.cell.word.is_retired() || self.current.load(Ordering::Relaxed) != look.current
    }

    /// Acts on the cell in force, which stays so meanwhile.
    #[cold]
    #[inline(never)]
    pub(super) fn settled<R>(&self, act: impl FnOnce(&Cell) -> R) -> R {
        let changes = lock(&self.changes);
        act(self.in_force(&changes))
    }

    /// Ends any pause.
    pub(super) fn resume(&self) {
        let changes = lock(&self.changes);
        self.in_force(&changes).word.hold_from(changes.since);
    }

    /// Puts another quota into force; nothing at all if it is the same. The reading is taken when the old one is not in
    /// force any more.
    pub(super) fn change(&self, quota: Quota, held: Held, now: impl FnOnce() -> u64) {
        let gcra = Gcra::new(&quota);
        let mut changes = lock(&self.changes);
        let old = self.in_force(&changes);
        if old.gcra == gcra {
            return;
        }
        let place = self.place_of(quota, gcra);
        let leaving = Leaving::from(&old.word);
        let now = now().max(changes.since);
        let arrival = held.carried(&old.gcra, &gcra, leaving.arrival, now);
        let hold = old.word.hold().max(now);
        leaving.done();
        changes.since = now;
        changes.spare = self.enter(place, Cell::retired(quota, gcra), arrival, hold);
    }

    fn in_force<'a>(&'a self, changes: &'a Changes) -> &'a Cell {
        changes.spare.as_ref().unwrap_or_else(|| self.look().cell)
    }

    /// Puts the cell at the place into force or, without a place, the spare one.
    fn enter(&self, place: Option<usize>, spare: Cell, arrival: u64, hold: u64) -> Option<Cell> {
        let spare = place.is_none().then_some(spare);
        let place = place.unwrap_or(NOWHERE);
        spare.as_ref().unwrap_or_else(|| self.kept(place as u64)).word.revive(arrival, hold);
        let changes = self.current.load(Ordering::Relaxed) / KEPT as u64 + 1;
        self.current.store(changes.wrapping_mul(KEPT as u64) + place as u64, Ordering::Release);
        spare
    }

    /// The place of the quota's cell, which is made if there is room for it.
    fn place_of(&self, quota: Quota, gcra: Gcra) -> Option<usize> {
        if self.first.gcra == gcra {
            return Some(0);
        }
        let made =
            |cell: &OnceLock<Box<Cell>>| cell.get_or_init(|| Box::new(Cell::retired(quota, gcra))).gcra;
        let place = (1..KEPT).find(|&place| made(&self.later[place]) == gcra)?;
        (place != NOWHERE).then_some(place)
    }
}

/// A word that goes out of force, and stays in force if what comes next panics.
struct Leaving<'a> {
    word: &'a Word,
    arrival: u64,
}

impl<'a> Leaving<'a> {
    fn from(word: &'a Word) -> Self {
        Self { word, arrival: word.retire() }
    }

    fn done(self) {
        std::mem::forget(self);
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.word.revive(self.arrival, self.word.hold());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn quota(tokens: u64) -> Quota {
        Quota::with_burst(tokens, Duration::from_secs(1), 1000).unwrap()
    }

    fn taken(cells: &Cells) -> usize {
        cells.later.iter().filter(|place| place.get().is_some()).count()
    }

    #[test]
    fn changes_among_the_same_quotas_take_no_memory() {
        let cells = Cells::new(quota(1), 0);
        for change in 0..10_000 {
            cells.change(quota(change % 3 + 1), Held::Tokens, || change);
        }
        assert_eq!(taken(&cells), 2);
    }

    #[test]
    fn ever_new_quotas_take_no_more_than_is_kept() {
        let cells = Cells::new(quota(1), 0);
        let spare = || lock(&cells.changes).spare.as_ref().map(|cell| cell.quota);
        for change in 2..=KEPT as u64 - 1 {
            cells.change(quota(change), Held::Tokens, || change);
            assert_eq!((taken(&cells) as u64, spare()), (change - 1, None));
        }
        for change in KEPT as u64..3 * KEPT as u64 {
            cells.change(quota(change), Held::Tokens, || change);
            assert_eq!((taken(&cells), spare()), (KEPT - 1, Some(quota(change))));
            assert!(cells.moved(cells.look()), "the spare cell is not looked up");
        }
        cells.change(quota(7), Held::Tokens, || 9999);
        assert!(spare().is_none() && !cells.moved(cells.look()));
        assert_eq!(cells.look().cell.quota, quota(7));
    }

    /// Docs tell it.
    #[test]
    fn a_cell_is_small() {
        assert!(size_of::<Cell>() <= 512 && size_of::<[OnceLock<Box<Cell>>; KEPT]>() <= 8192);
    }
}
