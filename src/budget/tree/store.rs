//! The numbers of a tree, their lock, and how they are read without it.
//!
//! # Why a lock
//!
//! An admission moves the numbers of every node on the way to the root, all or none, and what may be borrowed depends on
//! the numbers of the nodes beside them. One compare-exchange a node cannot decide that: between two of them another call
//! could borrow what the first is about to take, and the owner would find its guarantee gone; stepping back from half an
//! admission makes others be refused meanwhile, and gives back less than was taken. All admissions meet at the root's number
//! in any case. So whoever changes numbers holds one lock, for some tens of stores, and everything else only reads.
//!
//! # Reading without it
//!
//! `version` is even while nobody is changing anything. Who changes makes it odd, changes, and makes it even again, with the
//! next number. A reader that finds the same even version before and after has seen the numbers of one moment. So a refusal
//! writes nothing, and an admission is worked out before the lock is taken; if the version is the same under it, it stands.
//!
//! # Memory ordering
//!
//! * The store that makes `version` even releases, and a reader's first load acquires: it sees all changes up to that version.
//! * Every number is stored with `Release` and loaded with `Acquire`. A reader that comes upon a number of a later change
//!   therefore also sees that `version` was made odd before it, so its second load, which is relaxed, returns another version.
//! * Changes follow each other by the lock. The numbers are read there as they were left.

use crossbeam_utils::CachePadded;

use super::error::TreeError;
use super::place::{Ceiling, Place};
use super::plan::{Measure, Plan};
use super::refused::Refused;
use super::rules::{Draw, Rules};
use super::share::Share;
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Mutex, Ordering, lock, spin_loop};

/// How often a reader that met a change looks again before it takes the lock.
const LOOKS: u32 = 8;

/// All that a tree is but its clock.
#[derive(Debug)]
pub(super) struct Store {
    gcra: Gcra,
    places: Box<[Place]>,
    version: CachePadded<AtomicU64>,
    /// The lock of everything that changes, with the shares as they were stated.
    plan: CachePadded<Mutex<Plan>>,
}

/// An admission that was worked out from the numbers of a version.
struct Decided {
    version: u64,
    draw: Draw,
    reading: u64,
}

impl Store {
    /// The places of the plan with the quota's own fill at the reading `now`.
    pub(super) fn new(quota: Quota, plan: Plan, now: u64) -> Result<Self, TreeError> {
        let gcra = Gcra::new(&quota);
        let measures = Self::measures(&plan, &gcra)?;
        let (capacity, initial, issued) = (quota.capacity(), quota.initial_tokens(), gcra.issued(now));
        let mut places: Vec<Place> = Vec::with_capacity(measures.len());
        for ((at, (name, parent, grant)), measure) in plan.nodes().enumerate().zip(measures) {
            let above = places.get(parent).map_or(&[][..], |parent| &parent.path);
            let path = [at].iter().chain(above).copied().collect();
            let place = Place::new(name, path, grant.ceiling.map(|quota| Ceiling::new(quota, now)));
            place.fill(measure, initial, capacity, issued);
            if let Some(parent) = places.get_mut(parent) {
                parent.children = parent.children.iter().copied().chain([at]).collect();
            }
            places.push(place);
        }
        Ok(Self {
            gcra,
            places: places.into(),
            version: CachePadded::new(AtomicU64::new(0)),
            plan: CachePadded::new(Mutex::new(plan)),
        })
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    pub(super) fn rules(&self) -> Rules<'_> {
        Rules { gcra: &self.gcra, places: &self.places }
    }

    /// Admits the cost, all along the way to the root, or refuses it. The clock is read after the version.
    pub(super) fn acquire(
        &self,
        place: usize,
        tokens: u64,
        now: impl Fn() -> Nanos,
    ) -> Result<(), Refused<'_>> {
        for _ in 0..LOOKS {
            let version = self.version.load(Ordering::Acquire);
            let reading = now().as_u64();
            match self.rules().judge(place, tokens, reading) {
                Err(refused) if self.is_still(version) => return Err(refused),
                Err(_) => spin_loop(),
                Ok(draw) => return self.settle(place, tokens, Some(Decided { version, draw, reading }), now),
            }
        }
        self.settle(place, tokens, None, now)
    }

    /// Takes the cost whether it is there or not.
    pub(super) fn charge(&self, place: usize, tokens: u64, now: impl Fn() -> Nanos) {
        let _changing = lock(&self.plan);
        let (reading, asked) = (now().as_u64(), self.rules().parts(tokens));
        let draw = self.rules().draw(place, asked, self.gcra.issued(reading)).owing(asked);
        self.change(|| self.take(place, tokens, &draw, reading));
    }

    /// Gives the cost back, from the root down: to each node on the way no more than to its parent, and no further than full.
    pub(super) fn refund(&self, place: usize, tokens: u64, now: impl Fn() -> Nanos) {
        let _changing = lock(&self.plan);
        let (reading, asked) = (now().as_u64(), self.rules().parts(tokens));
        let issued = self.gcra.issued(reading);
        self.change(|| {
            let mut given = asked;
            for place in self.rules().path(place).rev() {
                given = place.give(given, issued);
                if let Some(ceiling) = &place.ceiling {
                    ceiling.give(tokens, reading);
                }
            }
        });
    }

    /// Gives nodes other shares, all of them or none.
    pub(super) fn set_shares<'n>(
        &self,
        shares: impl IntoIterator<Item = (&'n str, Share)>,
        now: impl Fn() -> Nanos,
    ) -> Result<(), TreeError> {
        // The caller's iterator may do anything, so not under the lock.
        let shares: Vec<_> = shares.into_iter().collect();
        let mut plan = lock(&self.plan);
        let mut next = plan.clone();
        for (name, share) in shares {
            next.set_share(name, share)?;
        }
        let measures = Self::measures(&next, &self.gcra)?;
        let issued = self.gcra.issued(now().as_u64());
        self.change(|| {
            for (place, measure) in self.places.iter().zip(measures) {
                place.measure(measure, issued);
            }
        });
        *plan = next;
        Ok(())
    }

    /// Reads the numbers of one moment.
    pub(super) fn look<R>(&self, read: impl Fn() -> R) -> R {
        for _ in 0..LOOKS {
            let version = self.version.load(Ordering::Acquire);
            let seen = read();
            if self.is_still(version) {
                return seen;
            }
            spin_loop();
        }
        let _changing = lock(&self.plan);
        read()
    }

    fn measures(plan: &Plan, gcra: &Gcra) -> Result<Vec<Measure>, TreeError> {
        let (unit, spare) = (gcra.one.units, gcra.one.spare);
        plan.measures(unit + spare, unit)
    }

    /// Whether what was read since the version was loaded is of one moment.
    fn is_still(&self, version: u64) -> bool {
        version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version
    }

    /// Takes what was decided if the numbers are still those; else decides again, under the lock.
    fn settle(
        &self,
        place: usize,
        tokens: u64,
        decided: Option<Decided>,
        now: impl Fn() -> Nanos,
    ) -> Result<(), Refused<'_>> {
        let _changing = lock(&self.plan);
        let (draw, reading) = match decided {
            Some(decided) if self.is_still(decided.version) => (decided.draw, decided.reading),
            _ => {
                let reading = now().as_u64();
                (self.rules().judge(place, tokens, reading)?, reading)
            }
        };
        self.change(|| self.take(place, tokens, &draw, reading));
        Ok(())
    }

    fn take(&self, place: usize, tokens: u64, draw: &Draw, now: u64) {
        let (issued, parts) = (self.gcra.issued(now), draw.found);
        for (place, taken) in self.rules().path(place).zip(draw.taken()) {
            place.take(tokens, parts, taken, issued);
            if let Some(ceiling) = &place.ceiling {
                ceiling.take(tokens, now);
            }
        }
    }

    /// Makes a change, under the lock.
    fn change(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        change();
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }
}
