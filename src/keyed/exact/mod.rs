//! The exact form: a bucket for each key, in a map of shards.

mod builder;
#[cfg(feature = "adjust")]
mod change;
mod roll;
mod rules;
mod shards;
mod turnover;

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use crossbeam_utils::CachePadded;

pub use self::builder::KeyedBuilder;
use self::roll::Roll;
use self::shards::Shards;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::keyed::overflow::Rest;
use crate::keyed::{KeyedError, OverflowCounts, RandomState};
use crate::level::Level;
use crate::nanos::Nanos;
use crate::quota::Quota;
#[cfg(feature = "adjust")]
use crate::sync::Mutex;
use crate::sync::{AtomicU64, Ordering};

/// A limit for each key, exact, for keys that are stored and compared.
///
/// ```
/// use tollgate::{keyed::Keyed, quota};
///
/// let tenants: Keyed<String> = Keyed::new(quota!("10/s burst 20"))?;
/// assert!(tenants.try_acquire("acme").is_ok());
/// assert!(tenants.try_acquire_n("acme", 20).is_err());
/// assert_eq!(tenants.peek("acme").map(|level| level.available()), Some(19));
/// assert_eq!(tenants.peek("initech"), None, "not known, so its bucket is full");
/// assert_eq!(tenants.len(), 1);
/// # Ok::<(), tollgate::keyed::KeyedError>(())
/// ```
///
/// Each key has a bucket of its own under the bound of [`Bucket`](crate::Bucket). Look-ups borrow, so a
/// `String` is found by a `&str` without an allocation; the key is made, by [`ToOwned`], when it is inserted.
/// Keys are hashed and compared and the clock is read under a lock, so [`Hash`] and [`Eq`] of the keys and a
/// [`Clock`] of your own must not call the limiter.
///
/// # Sweeping
///
/// A key is forgotten only while its bucket is full and it is not paused; see the [module](super#forgetting-a-key). That
/// happens in small steps on callers' own calls: every 250 us one of them looks at up to 64 keys that can have been full
/// for a second; a newcomer without room looks itself for some that are full; and [`sweep`](Self::sweep) looks at all. A
/// step locks one of sixteen shards at a time, for one key; calls for known keys share the lock of their shard. Only a
/// table that grows or shrinks holds one longer: it moves its entries, a sixteenth of all.
///
/// A bucket that is filled by a [`refund`](Self::refund), or freed by [`resume`](Self::resume), is noticed by sweeping
/// within the time that it takes to fill one, at least a second.
///
/// A call with a reading older than that of a sweep which has forgotten its key finds a bucket that was full at the
/// sweep: stricter than without sweeping by what is issued in between, never looser.
///
/// # Cost
///
/// For a known key: its hash, a read lock that threads do not share with one another, a look-up, one reading of the
/// clock, two loads and one compare-exchange, or none for a refusal. A newcomer locks its shard, and one of sixteen
/// stripes of the roll of keys. Figures and memory are in `benches/README.md`; memory is given back as keys are
/// forgotten.
pub struct Keyed<K, C = Monotonic, S = RandomState> {
    class_of: Option<ClassOf<K>>,
    last_class: u32,
    clock: C,
    shards: Shards<K, S>,
    roll: Roll,
    max_keys: u64,
    live: CachePadded<AtomicU64>,
    rest: CachePadded<Rest>,
    /// Held by whoever changes a quota.
    #[cfg(feature = "adjust")]
    changes: CachePadded<Mutex<()>>,
}

type ClassOf<K> = Box<dyn Fn(&K) -> usize + Send + Sync>;

impl<K: Hash + Eq> Keyed<K> {
    /// The same quota for every key, on the [`Monotonic`] clock, with room for 2^20 keys. Newcomers without room share
    /// one bucket with the same quota.
    ///
    /// # Errors
    ///
    /// [`KeyedError::InitialFill`] for a quota that does not start full.
    pub fn new(quota: Quota) -> Result<Self, KeyedError> {
        Self::builder(quota).build()
    }

    /// For other options: the number of keys, what becomes of newcomers without room, classes, clock, hash.
    pub fn builder(quota: Quota) -> KeyedBuilder<K> {
        KeyedBuilder::new(quota)
    }
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Keyed<K, C, S> {
    /// Admits one token for the key now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, or what the overflow answers if there is no room for the key.
    #[inline]
    pub fn try_acquire<Q>(&self, key: &Q) -> Result<(), Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.try_acquire_n(key, 1)
    }

    /// [`try_acquire`](Self::try_acquire) at a reading that the caller has taken from the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_at<Q>(&self, key: &Q, now: Nanos) -> Result<(), Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.try_acquire_n_at(key, 1, now)
    }

    /// Admits `cost` tokens for the key now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); [`Denied::OverCapacity`] for a cost that will never be admitted, or
    /// [`Denied::ZeroCost`].
    #[inline]
    pub fn try_acquire_n<Q>(&self, key: &Q, cost: u64) -> Result<(), Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.admit(key, cost, || self.clock.now())
    }

    /// [`try_acquire_n`](Self::try_acquire_n) at a reading of the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline]
    pub fn try_acquire_n_at<Q>(&self, key: &Q, cost: u64, now: Nanos) -> Result<(), Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.admit(key, cost, || now)
    }

    /// Takes `cost` tokens for the key whether they are there or not, for work that has been done already. What is not
    /// there becomes debt. A key without room is charged to the shared bucket, if there is one.
    pub fn charge<Q>(&self, key: &Q, cost: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.charge_at(key, cost, self.clock.now());
    }

    /// [`charge`](Self::charge) at a reading of the limiter's clock.
    pub fn charge_at<Q>(&self, key: &Q, cost: u64, now: Nanos)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if !self.on_key(key, now, |kept| kept.charge(cost, now)) {
            self.rest.charge(cost, now);
        }
    }

    /// Gives `cost` tokens back to the key, up to a full bucket, as [`Bucket::refund`](crate::Bucket::refund) does: each
    /// refund may widen the bound by its amount. A key that is not known has no use for it, and gets nothing.
    pub fn refund<Q>(&self, key: &Q, cost: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.refund_at(key, cost, self.clock.now());
    }

    /// [`refund`](Self::refund) at a reading of the limiter's clock.
    pub fn refund_at<Q>(&self, key: &Q, cost: u64, now: Nanos)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shards.with(self.shards.hash(key), key, |kept| kept.ruled().refund(cost, now));
    }

    /// Admits nothing for the key before the clock reads `until`. A paused key is not forgotten. Tells whether there was
    /// room to write it down: a newcomer without room cannot be paused.
    pub fn pause_until<Q>(&self, key: &Q, until: Nanos) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.on_key(key, self.clock.now(), |kept| kept.word.pause(until.as_u64()))
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for<Q>(&self, key: &Q, span: Duration) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.pause_until(key, self.clock.now().saturating_add(Nanos::from_duration(span)))
    }

    /// Ends any pause of the key at once.
    pub fn resume<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shards.with(self.shards.hash(key), key, |kept| kept.resume());
    }

    /// Looks at the key's bucket without consuming or inserting anything; `None` if the key is not known, which means
    /// that its bucket is full or, soon after a change of the quota, what has become of a full one.
    pub fn peek<Q>(&self, key: &Q) -> Option<Level>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.clock.now();
        self.shards.with(self.shards.hash(key), key, |kept| kept.ruled().peek(now))
    }

    /// Forgets all keys whose buckets are full now, and tells how many. Other calls go on meanwhile.
    pub fn sweep(&self) -> usize {
        self.sweep_at(self.clock.now())
    }

    /// [`sweep`](Self::sweep) at a reading of the limiter's clock.
    pub fn sweep_at(&self, now: Nanos) -> usize {
        self.forget_all(now)
    }

    /// Keys that are known. Some may have become full since they were last looked at.
    pub fn len(&self) -> usize {
        self.live.load(Ordering::Relaxed) as usize
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most keys that are known at a time.
    pub fn max_keys(&self) -> usize {
        self.max_keys as usize
    }

    /// How many calls found no room for their key.
    pub fn overflow_counts(&self) -> OverflowCounts {
        self.rest.counts()
    }

    /// The quota of the keys of a class; there is but one, 0, unless the builder was given more.
    pub fn quota(&self, class: usize) -> Option<Quota> {
        let class = u32::try_from(class).ok().filter(|class| *class <= self.last_class)?;
        Some(self.shards.rules_of_all(|rules| rules.class(class).quota))
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The reading is taken while the key's entry is on its way from memory, and the turn while nobody waits for it.
    #[inline(always)]
    fn admit<Q>(&self, key: &Q, cost: u64, now: impl Fn() -> Nanos) -> Result<(), Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.shards.hash(key);
        let known = self.shards.with(hash, key, |kept| {
            let now = now();
            (now, kept.admit(cost, now))
        });
        let now = known.as_ref().map_or_else(now, |(now, _)| *now);
        if self.roll.is_turn(now.as_u64()) {
            self.take_turn(now);
        }
        match known {
            Some((_, answer)) => answer,
            None => self.admit_newcomer(hash, key, cost, now),
        }
    }

    /// The class of a key that is inserted.
    fn class_of(&self, key: &K) -> u32 {
        let last = self.last_class;
        self.class_of
            .as_ref()
            .map_or(0, |class_of| u32::try_from(class_of(key)).map_or(last, |class| class.min(last)))
    }
}

impl<K, C: Clock, S> fmt::Debug for Keyed<K, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("quota", &format_args!("{}", self.shards.rules_of_all(|rules| rules.class(0).quota)))
            .field("classes", &(u64::from(self.last_class) + 1))
            .field("keys", &self.live.load(Ordering::Relaxed))
            .field("max_keys", &self.max_keys)
            .field("overflow", &self.rest.counts())
            .finish()
    }
}
