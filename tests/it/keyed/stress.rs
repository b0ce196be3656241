//! Many threads, many more keys than places, places that change hands all the time: every admission logged with the
//! reading that its own call took, every interval of every key checked.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Barrier;
#[cfg(feature = "adjust")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::keyed::{Keyed, Overflow, OverflowCounts, Table};
use tollgate::{Clock, Manual, Monotonic, Nanos, quota as fixed};

use super::{Chosen, keyed};
use crate::oracle::Oracle;
use crate::support::{Admission, HOUR, S, Scale, US, at, over_the_bound, quota};

const THREADS: usize = 4;
const SPAN: Duration = Duration::from_millis(250);

/// Full again within 100 ns to 20 us, on both scales.
const QUOTAS: [(u64, u64, u64); 5] =
    [(10_000_000, S, 1), (1_000_000, S, 2), (3_333_333, S, 5), (9, 1_000_003, 1), (500_000, S, 10)];

thread_local! {
    /// The last reading of this thread.
    static TOLD: Cell<u64> = const { Cell::new(0) };
    static BITS: Cell<u64> = const { Cell::new(0) };
}

/// A number of this thread's own sequence.
fn random() -> u64 {
    let bits = BITS.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    BITS.set(bits);
    bits >> 33
}

/// The real clock, with which a call now and then loses the processor just after it has read it.
#[derive(Clone, Copy)]
struct Stalling;

impl Clock for Stalling {
    fn now(&self) -> Nanos {
        told(Monotonic::new().now())
    }

    fn now_ordered(&self) -> Nanos {
        told(Monotonic::new().now_ordered())
    }
}

fn told(now: Nanos) -> Nanos {
    TOLD.set(now.as_u64());
    if random().is_multiple_of(64) {
        thread::yield_now();
    }
    now
}

/// An admission of a key.
type Logged = (u64, Admission);

/// Calls without pause on all threads; `admits` tells whether so much was admitted for the key, at the reading in `TOLD`.
fn hammer(keys: u64, burst: u64, admits: impl Fn(u64, u64) -> bool + Sync) -> Vec<Logged> {
    let (gate, end) = (Barrier::new(THREADS), Monotonic::new().now().saturating_add(SPAN.into()));
    let work = |seed: u64| {
        BITS.set(seed);
        gate.wait();
        let mut admitted = Vec::new();
        while Monotonic::new().now() < end {
            // Some keys come much more often than others.
            let (key, cost) = ((random() % keys).min(random() % keys), 1 + random() % burst.min(3));
            if admits(key, cost) {
                admitted.push((key, (TOLD.get(), cost)));
            }
        }
        admitted
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS as u64).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The first key that was admitted more than its bound in some interval. `name` tells which keys have one bound.
fn first_over(
    log: &[Logged],
    (tokens, period, burst): (u64, u64, u64),
    name: fn(u64) -> u64,
) -> Option<String> {
    let mut by_key = BTreeMap::<u64, Vec<Admission>>::new();
    log.iter().for_each(|(key, admission)| by_key.entry(name(*key)).or_default().push(*admission));
    let (model, scale) = (Oracle::new(tokens, period.into(), burst), Scale::of(tokens, period, burst));
    by_key.into_iter().find_map(|(key, admitted)| {
        let over = over_the_bound(&admitted, &model, scale)?;
        Some(format!("key {key}: {over:?} of {} admissions", admitted.len()))
    })
}

/// Few places, many keys, and every thread sweeps as often as it calls.
#[test]
fn every_interval_of_every_key_is_within_the_bound() {
    for plain @ (tokens, period, burst) in QUOTAS {
        for max_keys in [1, 3, 16] {
            let builder = Keyed::builder(quota(tokens, period, burst)).max_keys(max_keys);
            let limit = builder.overflow(Overflow::Refuse).clock(Stalling).build().unwrap();
            let log = hammer(64, burst, |key, cost| {
                if random().is_multiple_of(2) {
                    limit.sweep();
                }
                assert!(limit.len() <= max_keys);
                limit.try_acquire_n(&key, cost).is_ok()
            });
            assert_eq!(first_over(&log, plain, |key| key), None, "{limit:?}");
            assert!(log.len() as u64 > 10 * burst, "places changed hands: {} in {limit:?}", log.len());
            thread::sleep(Duration::from_millis(1));
            limit.sweep();
            assert_eq!(limit.len(), 0, "no key has lost its record");
        }
    }
}

/// The quota changes beside it all, between one and others that are slower: the bound of the quickest holds, for with the
/// same capacity no change gives anything.
#[cfg(feature = "adjust")]
#[test]
fn every_interval_is_within_the_bound_while_the_quota_changes() {
    use tollgate::adjust::Held;

    for plain @ (tokens, period, burst) in [(1_000_000, S, 2), (500_000, S, 10)] {
        let builder = Keyed::builder(quota(tokens, period, burst)).max_keys(16).overflow(Overflow::Refuse);
        let (limit, changes) = (builder.clock(Stalling).build().unwrap(), AtomicU64::new(0));
        let log = hammer(64, burst, |key, cost| {
            if random().is_multiple_of(16) {
                let slower = quota(tokens, period * (1 + random() % 3), burst);
                let held = [Held::Tokens, Held::Fraction, Held::Deficit][random() as usize % 3];
                limit.adjust(0, slower, held).unwrap();
                changes.fetch_add(1, Ordering::Relaxed);
                limit.sweep();
            }
            limit.try_acquire_n(&key, cost).is_ok()
        });
        assert_eq!(first_over(&log, plain, |key| key), None, "{limit:?}");
        assert!(log.len() as u64 > 10 * burst && changes.into_inner() > 10, "{} in {limit:?}", log.len());
    }
}

/// Keys that are known and full, so that a sweep may forget them at any moment; while it does, three threads charge them,
/// or pause them. Nothing is lost: each key has been charged three times in the end, and is paused.
#[test]
fn charges_and_pauses_are_never_lost_to_a_sweep() {
    const KEYS: u64 = 64;
    let limit = keyed(fixed!("1/s burst 10"), KEYS as usize, Overflow::Refuse);
    for round in 1..300 {
        let now = at(round * HOUR);
        limit.clock().set(now);
        let order = |key: u64| (key * 37 + round) % KEYS;
        let work = |thread: u64| match thread {
            0 => drop((0..20).map(|_| limit.sweep()).max()),
            thread => (0..KEYS).map(order).for_each(|key| {
                limit.charge(&key, 1);
                assert!(thread != 1 || limit.pause_until(&key, at(round * HOUR + US)), "key {key} has room");
            }),
        };
        let gate = Barrier::new(THREADS);
        thread::scope(|scope| {
            for thread in 0..THREADS as u64 {
                let (gate, work) = (&gate, &work);
                scope.spawn(move || {
                    gate.wait();
                    work(thread);
                });
            }
        });
        for key in 0..KEYS {
            let level = limit.peek(&key).map(|level| (level.available(), level.paused_for()));
            assert_eq!(level, Some((7, Duration::from_micros(1))), "key {key} in round {round}");
        }
        assert_eq!((limit.len() as u64, limit.overflow_counts()), (KEYS, OverflowCounts::default()));
    }
    limit.clock().set(at(300 * HOUR));
    assert_eq!((limit.sweep() as u64, limit.len()), (KEYS, 0), "no key has lost its record");
}

fn stalling_table<S: std::hash::BuildHasher>(
    plain: (u64, u64, u64),
    words: usize,
    hasher: S,
) -> Table<Stalling, S> {
    let builder = Table::builder(quota(plain.0, plain.1, plain.2), words).overflow(Overflow::Refuse);
    builder.hasher(hasher).clock(Stalling).build().unwrap()
}

/// Many more keys than words, and words that are taken over all the time; sweeps beside them.
#[test]
fn every_key_of_a_table_is_within_the_bound() {
    for plain in QUOTAS {
        for words in [8, 16] {
            let limit = stalling_table(plain, words, tollgate::keyed::RandomState::default());
            let log = hammer(64, plain.2, |key, cost| {
                if random().is_multiple_of(16) {
                    limit.sweep();
                }
                limit.try_acquire_n(&key, cost).is_ok()
            });
            assert_eq!(first_over(&log, plain, |key| key), None, "{limit:?}");
            assert!(log.len() as u64 > 10 * plain.2, "{} in {limit:?}", log.len());
        }
    }
}

/// Three tags for all keys of a set: the keys of a tag together are within the bound of one.
#[test]
fn keys_that_share_a_word_are_within_one_bound() {
    fn three_tags(key: u64) -> u64 {
        1 + key % 3
    }
    for plain in QUOTAS {
        let limit = stalling_table(plain, 8, Chosen(three_tags));
        let log = hammer(30, plain.2, |key, cost| limit.try_acquire_n(&key, cost).is_ok());
        assert_eq!(first_over(&log, plain, three_tags), None, "{limit:?}");
        assert_eq!(first_over(&log, plain, |key| key), None, "and each for itself");
        assert!(log.len() as u64 > 10 * plain.2, "{} in {limit:?}", log.len());
    }
}

/// What all threads are admitted in one round, each calling for the same keys, one after another and let go together.
fn admitted_together(keys: u64, round: u64, admits: impl Fn(u64) -> bool + Sync) -> u64 {
    let gate = Barrier::new(THREADS);
    let work = || {
        gate.wait();
        (0..keys).filter(|key| admits(round * keys + key)).count() as u64
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// New keys that all threads insert at once, as many as there is room for and with no second token for an hour: each is
/// admitted once, and what the overflow would admit is never asked.
#[test]
fn a_key_that_all_insert_at_once_is_admitted_once() {
    const KEYS: u64 = 32;
    for overflow in [Overflow::Refuse, Overflow::Admit] {
        let limit = keyed(fixed!("1/h"), KEYS as usize, overflow);
        for round in 0..300 {
            limit.clock().set(at(round * HOUR));
            assert_eq!(limit.sweep() as u64, if round == 0 { 0 } else { KEYS });
            let admitted = admitted_together(KEYS, round, |key| limit.try_acquire(&key).is_ok());
            assert_eq!((admitted, limit.len() as u64), (KEYS, KEYS), "round {round}, {overflow:?}");
        }
        assert_eq!(limit.overflow_counts(), OverflowCounts::default());
    }
}

/// The same without a sweep: the newcomers make room for themselves.
#[test]
fn newcomers_that_make_room_for_themselves_are_admitted_once() {
    const KEYS: u64 = 8;
    let limit = keyed(fixed!("1/h"), KEYS as usize, Overflow::Refuse);
    for round in 0..1000 {
        limit.clock().set(at(round * HOUR));
        let admitted = admitted_together(KEYS, round, |key| limit.try_acquire(&key).is_ok());
        assert!(admitted <= KEYS, "{admitted} in round {round}");
        assert!(limit.len() as u64 <= KEYS);
    }
}

/// The clock moves on by a nanosecond a reading, and loses the processor at some.
struct Creeping(Manual);

impl Clock for Creeping {
    fn now(&self) -> Nanos {
        if random().is_multiple_of(8) {
            thread::yield_now();
        }
        self.0.advance(Duration::from_nanos(1));
        self.0.now()
    }
}

/// In a set whose words become vacant one after another, all threads insert one key: one of them is admitted.
#[test]
fn a_key_that_all_insert_at_once_gets_one_word() {
    let builder = Table::builder(fixed!("1/h"), 8).overflow(Overflow::Refuse).hasher(Chosen(|key| key));
    let limit = builder.clock(Creeping(Manual::new())).build().unwrap();
    for round in 1..4000_u64 {
        // Each of the eight words in a place of its own; the last in the order of the newcomer's search is full first.
        let start = 2 * round * HOUR;
        for place in 0..8 {
            let age = (8 - place) * 4;
            limit.clock().0.set(at(start - age));
            assert_eq!(limit.try_acquire(&(8 + place)), Ok(()), "round {round}");
        }
        limit.clock().0.set(at(start + HOUR - 40));
        BITS.set(round);
        let admitted = admitted_together(1, 64 * round, |key| {
            (0..40).filter(|_| limit.try_acquire(&key).is_ok()).count() == 1
        });
        assert_eq!(admitted, 1, "round {round}: {limit:?}");
        assert_eq!(limit.peek(&(64 * round)).available(), 0);
    }
}
