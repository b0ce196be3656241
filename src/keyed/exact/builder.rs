//! How a keyed limiter is made.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use crossbeam_utils::CachePadded;

use super::roll::Roll;
use super::rules::Rules;
use super::shards::Shards;
use super::{ClassOf, Keyed};
use crate::clock::{Clock, Monotonic};
use crate::keyed::overflow::Rest;
use crate::keyed::{KeyedError, Overflow, RandomState};
use crate::quota::Quota;
use crate::sync::AtomicU64;
#[cfg(feature = "adjust")]
use crate::sync::Mutex;

const DEFAULT_MAX_KEYS: usize = 1 << 20;

/// Options of a [`Keyed`].
///
/// ```
/// use tollgate::{keyed::{Keyed, Overflow}, quota};
///
/// let tenants: Keyed<String> = Keyed::builder(quota!("10/s"))
///     .class(quota!("1000/s"))
///     .class_of(|tenant: &String| if tenant.starts_with("paid-") { 1 } else { 0 })
///     .max_keys(10_000)
///     .overflow(Overflow::Refuse)
///     .build()?;
/// assert!(tenants.try_acquire_n("paid-acme", 500).is_ok());
/// assert!(tenants.try_acquire_n("initech", 500).is_err());
/// # Ok::<(), tollgate::keyed::KeyedError>(())
/// ```
#[must_use = "it makes no limiter before `build`"]
pub struct KeyedBuilder<K, C = (), S = RandomState> {
    first: Quota,
    others: Vec<Quota>,
    class_of: Option<ClassOf<K>>,
    max_keys: usize,
    overflow: Overflow,
    clock: C,
    hasher: S,
}

impl<K: Hash + Eq> KeyedBuilder<K> {
    pub(super) fn new(quota: Quota) -> Self {
        Self {
            first: quota,
            others: Vec::new(),
            class_of: None,
            max_keys: DEFAULT_MAX_KEYS,
            overflow: Overflow::Share(quota),
            clock: (),
            hasher: RandomState::default(),
        }
    }
}

impl<K, C, S> KeyedBuilder<K, C, S> {
    /// Adds a class of keys with a quota of its own. Class 0 has the quota that the builder was made with, the others
    /// count from 1.
    pub fn class(mut self, quota: Quota) -> Self {
        self.others.push(quota);
        self
    }

    /// Which class a key belongs to; it is asked when the key is inserted. A number beyond the last class stands for
    /// the last. Without it, every key is of class 0.
    pub fn class_of(self, class_of: impl Fn(&K) -> usize + Send + Sync + 'static) -> Self {
        Self { class_of: Some(Box::new(class_of)), ..self }
    }

    /// The most keys that are known at a time; 2^20 by default.
    pub fn max_keys(self, max_keys: usize) -> Self {
        Self { max_keys, ..self }
    }

    /// What becomes of new keys while there are so many. By default they share one bucket with the first quota.
    pub fn overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }

    /// Another clock.
    pub fn clock<D: Clock>(self, clock: D) -> KeyedBuilder<K, D, S> {
        let Self { first, others, class_of, max_keys, overflow, hasher, .. } = self;
        KeyedBuilder { first, others, class_of, max_keys, overflow, clock, hasher }
    }

    /// Another hash.
    pub fn hasher<T: BuildHasher>(self, hasher: T) -> KeyedBuilder<K, C, T> {
        let Self { first, others, class_of, max_keys, overflow, clock, .. } = self;
        KeyedBuilder { first, others, class_of, max_keys, overflow, clock, hasher }
    }
}

impl<K: Hash + Eq, S: BuildHasher> KeyedBuilder<K, (), S> {
    /// The limiter, on the [`Monotonic`] clock.
    ///
    /// # Errors
    ///
    /// A quota whose initial fill is not full, room for no key, or more than 2^32 classes.
    pub fn build(self) -> Result<Keyed<K, Monotonic, S>, KeyedError> {
        self.clock(Monotonic::new()).build()
    }
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> KeyedBuilder<K, C, S> {
    /// The limiter.
    ///
    /// # Errors
    ///
    /// A quota whose initial fill is not full, room for no key, or more than 2^32 classes.
    pub fn build(self) -> Result<Keyed<K, C, S>, KeyedError> {
        let Self { first, others, class_of, max_keys, overflow, clock, hasher } = self;
        [&first].into_iter().chain(&others).try_for_each(KeyedError::unless_full)?;
        if max_keys == 0 {
            return Err(KeyedError::NoKeys);
        }
        let Ok(last_class) = u32::try_from(others.len()) else {
            return Err(KeyedError::TooManyClasses { classes: others.len() });
        };
        let rest = CachePadded::new(Rest::new(overflow, clock.now()));
        Ok(Keyed {
            class_of,
            last_class,
            clock,
            shards: Shards::new(&Rules::new(first, &others), hasher),
            roll: Roll::new(),
            max_keys: max_keys as u64,
            live: CachePadded::new(AtomicU64::new(0)),
            rest,
            #[cfg(feature = "adjust")]
            changes: CachePadded::new(Mutex::new(())),
        })
    }
}

impl<K, C, S> fmt::Debug for KeyedBuilder<K, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedBuilder")
            .field("quota", &self.first)
            .field("classes", &(self.others.len() + 1))
            .field("max_keys", &self.max_keys)
            .field("overflow", &self.overflow)
            .finish_non_exhaustive()
    }
}
