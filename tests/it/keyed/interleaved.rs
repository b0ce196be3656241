//! Calls that are interrupted by other calls, at every place where they read the clock: each schedule exactly, and not as
//! luck has it. A table reads its clock between its looks at a set, so these are the places that matter.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tollgate::keyed::{Overflow, Table};
use tollgate::{Clock, Manual, Nanos};

use super::Chosen;
use crate::oracle::Oracle;
use crate::support::{Admission, S, Scale, at, over_the_bound, quota};

/// A clock that lets someone else in at one of its readings.
#[derive(Default)]
struct Interrupted {
    clock: Manual,
    /// Readings to come before the interruption.
    before: Cell<usize>,
    /// Whether the reading is from before the interruption or from after it.
    is_stale: Cell<bool>,
    interruption: RefCell<Option<Box<dyn FnOnce()>>>,
    /// The last reading told.
    told: Cell<u64>,
}

impl Clock for Interrupted {
    fn now(&self) -> Nanos {
        let stale = self.clock.now();
        let due = self.interruption.borrow_mut().take_if(|_| self.before.get() == 0);
        self.before.set(self.before.get().saturating_sub(1));
        if let Some(interruption) = due {
            interruption();
        }
        let now = if self.is_stale.get() { stale } else { self.clock.now() };
        self.told.set(now.as_u64());
        now
    }
}

type Interruptible = Rc<Table<Interrupted, Chosen>>;

/// Eight words, all in one set.
fn set_of_eight(burst: u64) -> Interruptible {
    let builder = Table::builder(quota(1, S, burst), 8).overflow(Overflow::Refuse).hasher(Chosen(|key| key));
    Rc::new(builder.clock(Interrupted::default()).build().unwrap())
}

/// A key that looks for its place from `home` on, the `nth` of those.
fn key_at(home: u64, nth: u64) -> u64 {
    8 * (nth + 1) + home
}

/// Tries for the key, and notes an admission with the reading that the call took last.
fn try_for(limit: &Table<Interrupted, Chosen>, key: u64, log: &RefCell<Vec<Admission>>) {
    if limit.try_acquire(&key).is_ok() {
        log.borrow_mut().push((limit.clock().told.get(), 1));
    }
}

fn others(limit: &Table<Interrupted, Chosen>, mut keys: impl Iterator<Item = u64>) {
    let _is_one_refused = keys.any(|key| limit.try_acquire(&key).is_err());
}

/// In each place of the set a key that is full at another time: in the order of the places, or against it.
fn fill(limit: &Table<Interrupted, Chosen>, burst: u64, is_ascending: bool) {
    for place in 0..8 {
        let order = if is_ascending { place } else { 7 - place };
        // The clock stands at the order, so the bucket is full so many nanoseconds after the others.
        limit.clock().clock.set(at(order));
        assert_eq!(limit.try_acquire_n(&key_at(place, 0), burst), Ok(()));
        limit.clock().clock.set(at(0));
    }
}

/// One schedule: a call for a key, and within it at one of its readings some others.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    burst: u64,
    is_ascending: bool,
    home: u64,
    /// Places that are vacant when the call begins, and when it is interrupted.
    vacant: [u64; 2],
    reading: usize,
    is_stale: bool,
    /// Of the same key, then of another that begins its search at the same place.
    calls: [u64; 2],
    /// After those calls, time passes until all is full again, and other keys take all the places.
    all_taken: bool,
}

impl Schedule {
    /// All admissions of the key.
    fn run(self) -> Vec<Admission> {
        let Schedule { burst, is_ascending, home, vacant: [before, within], .. } = self;
        let limit = set_of_eight(burst);
        fill(&limit, burst, is_ascending);
        let (log, full) = (Rc::new(RefCell::new(Vec::new())), burst * S);
        limit.clock().clock.set(at(full + before - 1));
        limit.clock().before.set(self.reading);
        limit.clock().is_stale.set(self.is_stale);
        let others = {
            let (limit, log) = (limit.clone(), log.clone());
            move || {
                limit.clock().clock.set(at(full + within - 1));
                self.interrupt(&limit, key_at(home, 1), &log);
            }
        };
        *limit.clock().interruption.borrow_mut() = Some(Box::new(others));
        for _ in 0..2 {
            try_for(&limit, key_at(home, 1), &log);
        }
        limit.clock().interruption.take();
        (0..8).for_each(|_| try_for(&limit, key_at(home, 1), &log));
        log.take()
    }

    fn interrupt(self, limit: &Interruptible, key: u64, log: &RefCell<Vec<Admission>>) {
        limit.clock().is_stale.set(false);
        (0..self.calls[0]).for_each(|_| try_for(limit, key, log));
        others(limit, (0..self.calls[1]).map(|nth| key_at(self.home, 2 + nth)));
        if self.all_taken {
            let passed = limit.clock().clock.now().as_u64() + self.burst * S;
            limit.clock().clock.set(at(passed));
            others(limit, (0..8).map(|nth| key_at(self.home, 9 + nth)));
            limit.clock().clock.set(at(passed + S));
        }
        limit.clock().is_stale.set(self.is_stale);
    }
}

fn schedules() -> Vec<Schedule> {
    let mut all = Vec::new();
    for (burst, is_ascending, home) in
        [(1, true, 0), (1, false, 0), (1, false, 3), (3, true, 5), (3, false, 0)]
    {
        for (before, within) in (1..=8).flat_map(|before| (before..=8).map(move |within| (before, within))) {
            for (reading, is_stale) in (0..6).flat_map(|reading| [(reading, true), (reading, false)]) {
                for (same, other) in [(1, 0), (2, 0), (0, 1), (1, 1), (0, 2), (4, 2)] {
                    for all_taken in [false, true] {
                        let (vacant, calls) = ([before, within], [same, other]);
                        all.push(Schedule {
                            burst,
                            is_ascending,
                            home,
                            vacant,
                            reading,
                            is_stale,
                            calls,
                            all_taken,
                        });
                    }
                }
            }
        }
    }
    all
}

/// Whoever interrupts whom, and where: a key has one word, and no interval has more than its bucket would admit.
#[test]
fn no_interruption_gives_a_key_two_words() {
    let schedules = schedules();
    assert!(schedules.len() > 20_000);
    for schedule in schedules {
        let admitted = schedule.run();
        let (model, scale) = (Oracle::new(1, S.into(), schedule.burst), Scale::of(1, S, schedule.burst));
        assert_eq!(over_the_bound(&admitted, &model, scale), None, "{schedule:?}: {admitted:?}");
        let lost = !schedule.all_taken && schedule.calls[1] == 0 && (admitted.len() as u64) < schedule.burst;
        assert!(!lost, "and nothing is lost where there is room: {schedule:?}: {admitted:?}");
    }
}

/// That the interruptions do happen where they are to: at some reading before, between and after the looks.
#[test]
fn a_call_that_inserts_reads_the_clock_three_times() {
    let limit = set_of_eight(1);
    let count = |key: u64| {
        limit.clock().before.set(100);
        assert_eq!(limit.try_acquire(&key), Ok(()));
        100 - limit.clock().before.get()
    };
    assert_eq!(count(9), 3, "on the way, for the vacant place, and for the admission");
    limit.clock().clock.set(at(S));
    assert_eq!(count(9), 1, "a key that has a word");
}
