//! One of something for each key, for a bounded number of keys.

use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use std::collections::HashMap;
use std::sync::Arc;

use crate::sync::{ReadMostly, read, write};

/// One `T` for each key, for so many keys at most; keys beyond that share a common one.
///
/// A key that was given its own keeps it until it is [forgotten](Self::forget): new keys push no old ones out, so callers
/// who make up keys cannot take from others what was learned of them. What they can do is fill the map; then all new keys
/// learn together, in fixed memory.
///
/// ```
/// use tollgate::budget::{History, PerKey};
///
/// let outputs = PerKey::<String, History>::new(2);
/// for (model, tokens) in [("large", 900), ("small", 80), ("new", 300), ("newer", 500)] {
///     outputs.of(model).record(tokens);
/// }
/// assert_eq!(outputs.of("large").mean(), Some(900));
/// assert_eq!(outputs.of("newer").mean(), Some(400)); // with "new": there was no room for either
/// ```
///
/// # Cost
///
/// A key that is known takes a read lock whose readers do not meet (crossbeam's `ShardedLock`), a hash (SipHash, keyed at
/// random) and a count of the [`Arc`]. Only a new key for which there is room locks for writing.
pub struct PerKey<K, T> {
    known: ReadMostly<HashMap<K, Arc<T>>>,
    common: Arc<T>,
    max_keys: usize,
}

impl<K: Hash + Eq, T: Default> PerKey<K, T> {
    /// Room for so many keys; with 0 all keys share one.
    pub fn new(max_keys: usize) -> Self {
        Self { known: ReadMostly::new(HashMap::new()), common: Arc::default(), max_keys }
    }

    /// The key's own, which it gets if there is room for it, or the common one.
    pub fn of<Q>(&self, key: &Q) -> Arc<T>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let (known, has_room) = self.look(key);
        match known {
            Some(own) => own,
            None if has_room => self.insert(key),
            None => Arc::clone(&self.common),
        }
    }

    /// The key's own, if it has one.
    pub fn find<Q>(&self, key: &Q) -> Option<Arc<T>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.look(key).0
    }

    /// What the keys share for which there was no room.
    pub fn common(&self) -> &Arc<T> {
        &self.common
    }

    /// Takes a key's own from it, which makes room for another key. Tells whether it had one.
    pub fn forget<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        write(&self.known).remove(key).is_some()
    }

    /// How many keys have their own.
    pub fn len(&self) -> usize {
        read(&self.known).len()
    }

    /// Whether no key has its own yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys there is room for.
    pub fn max_keys(&self) -> usize {
        self.max_keys
    }

    /// The key's own, and whether there is room for another.
    fn look<Q>(&self, key: &Q) -> (Option<Arc<T>>, bool)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let known = read(&self.known);
        (known.get(key).map(Arc::clone), known.len() < self.max_keys)
    }

    /// Another thread may have been here since the look.
    #[cold]
    fn insert<Q>(&self, key: &Q) -> Arc<T>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut known = write(&self.known);
        if let Some(own) = known.get(key) {
            return Arc::clone(own);
        }
        if known.len() >= self.max_keys {
            return Arc::clone(&self.common);
        }
        let own = Arc::default();
        known.insert(key.to_owned(), Arc::clone(&own));
        own
    }
}

impl<K: Hash + Eq, T: Default> fmt::Debug for PerKey<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerKey")
            .field("len", &self.len())
            .field("max_keys", &self.max_keys)
            .finish_non_exhaustive()
    }
}
