//! The word: the one atomic that decides, its only compare-exchange loop, and every ordering with its reason.
//!
//! # Memory ordering
//!
//! * **Raising** the arrival point (admission, charge) is `Relaxed`. The decision depends on this word alone, its
//!   modification order is the order of the decisions, and nothing else is published through it: callers get no
//!   happens-before from a decision, and the docs of [`Bucket`](crate::Bucket) say so.
//! * **Refusing** is a relaxed load. It may miss a refund that no happens-before edge carried to the caller.
//! * **Pausing** stores `hold` with `Release`; a decision loads it with `Acquire`. A call that happens after a pause
//!   obeys it.
//! * **Lowering** (refund, undo, reset, restore) is accounted for, so that a late undo cannot give back what someone
//!   else gave back already (`GUARANTEES` section 6). It adds its units to `begun` before it lowers the word and to
//!   `done` after it. A charge that may be undone reads `done` *before* it raises the word, the undo reads `begun`
//!   *after* it has loaded the word; the difference then counts every lowering between the two, and perhaps one that
//!   was under way, never too few. Two pairs carry this:
//!   - the lowering compare-exchange releases and the undo's load of the word acquires: whoever sees a lowered word
//!     sees it in `begun`. Raises in between are read-modify-writes and keep the release sequence alive;
//!   - the addition to `done` releases and the charge's load acquires: a lowering found in `done` has already lowered
//!     the word that the charge will raise.
//!
//!   One counter alone does not do: a lowering that has added its units but not yet lowered the word would be missing
//!   from the difference of a charge that comes between (`loom-tests/twins/one-lowering-counter.patch`). The counters
//!   wrap; no less than eight whole capacities would have to be given back between a charge and its undo for that to
//!   show.

use crate::sync::{AtomicU64, Ordering};

/// The arrival point, the pause beside it, and what has been given back.
#[derive(Debug)]
pub(crate) struct Word {
    arrival: AtomicU64,
    hold: AtomicU64,
    begun: AtomicU64,
    done: AtomicU64,
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

impl Word {
    pub(crate) fn new(arrival: u64) -> Self {
        Self {
            arrival: AtomicU64::new(arrival),
            hold: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
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
    #[inline]
    pub(crate) fn raise_from(&self, seen: u64, next: impl Fn(u64) -> Option<u64>) -> Result<u64, Unraised> {
        let Some(written) = next(seen) else {
            return Err(Unraised::Declined);
        };
        match self.exchange(seen, written, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(()) => Ok(written),
            Err(changed) => Err(Unraised::Overtaken(changed)),
        }
    }

    /// Raises the arrival point to what `next` makes of it, come what may.
    pub(crate) fn raise_always(&self, next: impl Fn(u64) -> u64) -> Raised {
        match self.raise(|arrival| Some(next(arrival))) {
            Ok(raised) => raised,
            Err(seen) => Raised { seen, written: seen },
        }
    }

    /// Lowers the arrival point to what `next` makes of it, by at most `most` units. `next` is given the word and what
    /// others may have lowered it by since the start of time; see [`Word::lowered`].
    pub(crate) fn lower(&self, most: u64, next: impl Fn(u64, u64) -> u64) {
        self.begun.fetch_add(most, Ordering::Relaxed);
        let mut seen = self.arrival.load(Ordering::Acquire);
        loop {
            let by_others = self.begun.load(Ordering::Relaxed).wrapping_sub(most);
            match self.exchange(seen, next(seen, by_others), Ordering::AcqRel, Ordering::Acquire) {
                Ok(()) => break,
                Err(changed) => seen = changed,
            }
        }
        self.done.fetch_add(most, Ordering::Release);
    }

    /// What has been lowered so far, to be read before a charge that may be undone.
    #[inline]
    pub(crate) fn lowered(&self) -> Lowered {
        Lowered(self.done.load(Ordering::Acquire))
    }

    /// Moves the arrival point to `goal`. What is raised meanwhile comes after it and stays raised.
    pub(crate) fn place(&self, goal: u64) {
        match self.raise(|arrival| (arrival < goal).then_some(goal)) {
            Ok(_) => {}
            Err(above) => {
                let most = above - goal;
                self.lower(most, |arrival, _| arrival - most.min(arrival.saturating_sub(goal)));
            }
        }
    }

    #[inline]
    fn exchange(&self, seen: u64, next: u64, success: Ordering, failure: Ordering) -> Result<(), u64> {
        self.arrival.compare_exchange_weak(seen, next, success, failure).map(drop)
    }
}

impl Lowered {
    /// Units lowered since, given what [`Word::lower`] tells its rule.
    #[inline]
    pub(crate) fn until(self, by_others: u64) -> u64 {
        by_others.wrapping_sub(self.0)
    }
}
