//! The table: one word a key, in fixed memory.

mod builder;
mod packed;
mod set;

use std::fmt;
use std::hash::{BuildHasher, Hash};

use crossbeam_utils::CachePadded;

pub use self::builder::TableBuilder;
use self::packed::Tag;
use self::set::{Answer, Reading, Set};
use crate::clock::{Clock, Monotonic};
use crate::decision::{Denied, NotYet};
use crate::gcra::{Cost, Gcra};
use crate::keyed::overflow::Rest;
use crate::keyed::{KeyedError, OverflowCounts, RandomState};
use crate::level::Level;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Ordering};

/// Sets due for sweeping before a call takes the time to do it, and swept by it at least; fewer in a table that has no
/// more.
const STEP: u64 = 16;

/// A call that finds much to sweep does at most one part in so many of the table.
const CALLS_A_PASS: u64 = 32;

/// Readings of different threads differ by less than so much.
const SLACK_NANOS: u64 = 60_000_000_000;

/// Limits by key in fixed memory: one word of eight bytes a key, and no key stored.
///
/// Made for keys that come by the million, like addresses, and for callers who count nanoseconds. A decision hashes the
/// key and touches one cache line; it allocates nothing, takes no lock and never waits for another thread. A word whose
/// arrival point has passed is a full bucket, and its place is free for another key: expiry is the eviction.
///
/// ```
/// use std::net::Ipv4Addr;
/// use tollgate::{keyed::Table, quota};
///
/// let clients = Table::new(quota!("10/s burst 20"), 1 << 16)?;
/// let client = Ipv4Addr::new(192, 0, 2, 7);
/// assert!(clients.try_acquire(&client).is_ok());
/// assert!(clients.try_acquire_n(&client, 20).is_err());
/// # Ok::<(), tollgate::keyed::KeyedError>(())
/// ```
///
/// # Bits
///
/// The hash of the key chooses a set of eight words, and its 20 low bits are the key's tag. A word holds a tag, the
/// arrival point modulo 2^43 units, and one bit for insertion. A unit is the fraction of a token on the quota's axis
/// (see the [crate docs](crate#how-it-works)), chosen so that the capacity is less than 2^40 units: for 100 a second and
/// a burst of 100 it is the refill of 1 ns, and no decision is rounded; for 1 a day, the refill of 157 ns.
///
/// # Two keys with one word
///
/// Two keys of one set whose tags are equal share one limit: each is limited at least as strictly as alone, never less.
/// With `n` live keys in `w` words there are on average `8 n / w` others in a key's set, and the chance that one of them
/// has its tag is `8 n / w / (2^20 - 1)`: with half a million live keys in a million words 4 / 1 048 575, so about two
/// keys of the half million share with another.
///
/// # Full sets
///
/// A new key whose set has eight live words finds no room, and the [overflow](crate::keyed::Overflow) decides. Live keys
/// fall into sets at random, `x = 8 n / w` on average, and the chance that eight or more fell into one is that of the
/// Poisson distribution: 10^-5 at eight words a live key, 0.1 % at four, 5 % at two.
///
/// # No change of the quota
///
/// A table keeps its quota for life. A word has room for one arrival point, on one axis, and none to tell by which of two
/// quotas it counts; and there is no lock under which all words could be counted anew while nobody looks. To change the
/// quota, build another table and put it in place of this one: its keys then start full. Where that is too much to give,
/// [`Keyed`](crate::keyed::Keyed) can be changed while it is in use.
///
/// # Horizon
///
/// A word is told from one that has passed for 2^42 units: 73 min at one unit a nanosecond, 7 min at the highest rate.
/// Callers sweep some sets now and then (every set once in an eighth of that time), so that words that have passed are
/// freed long before. Should fewer than 40 calls come in a whole horizon, a word left from before may stand for a bucket
/// that is not full once more, for a minute and as long as it takes to fill one: stricter, again. To rule that out,
/// [`sweep`](Self::sweep) now and then.
///
/// # Readings
///
/// The table reads its clock itself, for a key that has no word only after a place is claimed; so there are no twins
/// that take a reading. Readings of different threads may differ, and a call may stall between its reading and its
/// exchange, by up to a minute: its answer is the stricter for it, as a bucket's.
pub struct Table<C = Monotonic, S = RandomState> {
    quota: Quota,
    gcra: Gcra,
    clock: C,
    hasher: S,
    sets: Box<[Set]>,
    /// No word is ahead by more units.
    reach: u64,
    /// One set is due for sweeping every `2^stride` units.
    stride: u32,
    /// Sets that must be due before a call sweeps some.
    step: u64,
    /// Sets swept so far, counted on from pass to pass.
    swept: CachePadded<AtomicU64>,
    rest: CachePadded<Rest>,
}

impl Table {
    /// A table of `words` words (rounded up to a multiple of eight) on the [`Monotonic`] clock. Newcomers to a full set
    /// share one bucket with the same quota.
    ///
    /// # Errors
    ///
    /// As [`TableBuilder::build`].
    pub fn new(quota: Quota, words: usize) -> Result<Self, KeyedError> {
        Self::builder(quota, words).build()
    }

    /// For a table with another clock, hash or overflow.
    pub fn builder(quota: Quota, words: usize) -> TableBuilder {
        TableBuilder::new(quota, words)
    }
}

impl<C: Clock, S: BuildHasher> Table<C, S> {
    /// Admits one token for the key now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, or what the overflow answers if there is no room for the key.
    #[inline]
    pub fn try_acquire<K: Hash + ?Sized>(&self, key: &K) -> Result<(), Denied> {
        self.admit(key, 1, self.gcra.one)
    }

    /// Admits `cost` tokens for the key now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); [`Denied::OverCapacity`] for a cost that will never be admitted, or
    /// [`Denied::ZeroCost`].
    #[inline]
    pub fn try_acquire_n<K: Hash + ?Sized>(&self, key: &K, cost: u64) -> Result<(), Denied> {
        self.admit(key, cost, self.gcra.cost(cost)?)
    }

    /// Looks at the key's bucket without consuming: full if it has no word.
    pub fn peek<K: Hash + ?Sized>(&self, key: &K) -> Level {
        let (set, tag) = self.place_of(key);
        let now = self.now();
        Level::new(self.gcra, now.arrival(set.deficit(tag, now)), now.nanos, 0)
    }

    /// Frees all words whose keys have full buckets, and tells how many keys are left. It reads the whole table; callers
    /// do the same a little at a time, so there is no need for it while calls come.
    pub fn sweep(&self) -> usize {
        let now = self.now();
        self.sets.iter().for_each(|set| set.sweep(now, || self.reading(self.clock.now_ordered())));
        self.len()
    }

    /// Keys whose buckets are not full. It reads the whole table.
    pub fn len(&self) -> usize {
        let now = self.now();
        self.sets.iter().map(|set| set.live(now)).sum()
    }

    /// Whether no key has a bucket that is not full.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Words in the table: the most keys that it can hold.
    pub fn words(&self) -> usize {
        self.sets.len() * (size_of::<Set>() / size_of::<AtomicU64>())
    }

    /// How many calls found their set full.
    pub fn overflow_counts(&self) -> OverflowCounts {
        self.rest.counts()
    }

    /// The quota of each key.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    #[inline]
    fn admit<K: Hash + ?Sized>(&self, key: &K, tokens: u64, cost: Cost) -> Result<(), Denied> {
        // The clock first: the key is hashed and its set fetched while the counter is being read.
        let now = self.now();
        let (set, tag) = self.place_of(key);
        if self.sets_due(now.issued) >= self.step {
            self.sweep_step(now);
        }
        if !self.gcra.counts(now.nanos) {
            return Err(self.gcra.not_yet(u64::MAX, now.nanos, cost, 0));
        }
        match set.admit(set.word_of(tag), tag, cost, now) {
            Some(answer) => self.told(answer, tokens, cost),
            None => self.admit_slowly(set, tag, tokens, cost),
        }
    }

    #[cold]
    #[inline(never)]
    fn admit_slowly(&self, set: &Set, tag: Tag, tokens: u64, cost: Cost) -> Result<(), Denied> {
        self.told(set.admit_slowly(tag, cost, || self.reading(self.clock.now_ordered())), tokens, cost)
    }

    #[inline]
    fn told(&self, answer: Answer, tokens: u64, cost: Cost) -> Result<(), Denied> {
        match answer {
            Answer::Admitted => Ok(()),
            Answer::NotYet { deficit, now } => {
                Err(self.gcra.not_yet(now.arrival(deficit), now.nanos, cost, 0))
            }
            Answer::NoRoom { deficit, now } => {
                let room = NotYet::new(
                    self.gcra.rate(),
                    now.nanos,
                    now.arrival(deficit),
                    now.nanos.saturating_add(1),
                );
                self.rest.try_acquire(tokens, Nanos::new(now.nanos), room)
            }
        }
    }

    #[inline(always)]
    fn now(&self) -> Reading {
        self.reading(self.clock.now())
    }

    #[inline(always)]
    fn reading(&self, now: Nanos) -> Reading {
        let nanos = now.as_u64();
        Reading { nanos, issued: self.gcra.issued(nanos), reach: self.reach }
    }

    #[inline]
    fn place_of<K: Hash + ?Sized>(&self, key: &K) -> (&Set, Tag) {
        let hash = self.hasher.hash_one(key);
        let index = (u128::from(hash) * self.sets.len() as u128) >> 64;
        (&self.sets[index as usize], Tag::of(hash))
    }

    /// How many sets are due for sweeping, some perhaps more than once.
    #[inline]
    fn sets_due(&self, issued: u64) -> u64 {
        (issued >> self.stride).saturating_sub(self.swept.load(Ordering::Relaxed))
    }

    /// Sweeps some of the sets that are due, unless another thread does.
    #[cold]
    #[inline(never)]
    fn sweep_step(&self, now: Reading) {
        let (sets, target) = (self.sets.len() as u64, now.issued >> self.stride);
        let swept = self.swept.load(Ordering::Relaxed);
        // One pass makes up for any number of missed ones.
        let from = swept.max(target.saturating_sub(sets));
        let to = target.min(from + STEP.max(sets / CALLS_A_PASS));
        if self.swept.compare_exchange(swept, to, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            (from..to).for_each(|at| self.sets[(at % sets) as usize].sweep(now, || self.now()));
        }
    }
}

impl<C: Clock, S> fmt::Debug for Table<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("quota", &format_args!("{}", self.quota))
            .field("sets", &self.sets.len())
            .field("overflow", &self.rest.counts())
            .finish()
    }
}
