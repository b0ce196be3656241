//! Concurrent maps that a keyed limiter may be built on, each holding a cell of two atomic words a key.

use crossbeam_utils::CachePadded;
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What the map keeps for a key: as large as a bucket with a word beside it.
#[derive(Default)]
pub struct Cell {
    word: AtomicU64,
    _beside: AtomicU64,
}

impl Cell {
    /// One load and one compare-exchange, as an admission makes.
    #[inline(always)]
    pub fn touch(&self) {
        let mut word = self.word.load(Relaxed);
        while let Err(moved) = self.word.compare_exchange_weak(word, word.wrapping_add(1), Relaxed, Relaxed) {
            word = moved;
        }
    }
}

/// A key that is looked up by what it borrows as.
pub trait Key: Hash + Eq + Borrow<Self::Query> + Send + Sync + 'static {
    /// What one looks up with.
    type Query: Hash + Eq + ?Sized;
}

impl Key for u64 {
    type Query = u64;
}

impl Key for String {
    type Query = str;
}

/// A candidate.
pub trait CellMap<K: Key>: Default + Send + Sync + 'static {
    /// Touches the key's cell. Whether it is there.
    fn touch(&self, key: &K::Query) -> bool;

    /// Adds a cell for a key that has none.
    fn insert(&self, key: K);

    /// Whether there was a cell to be removed.
    fn remove(&self, key: &K::Query) -> bool;

    /// Gives memory back, if the map has a call for that.
    fn shrink(&self) {}
}

/// `papaya::HashMap`, pinned on every call.
pub type Papaya<K, S> = papaya::HashMap<K, Cell, S>;

impl<K: Key, S: BuildHasher + Default + Send + Sync + 'static> CellMap<K> for Papaya<K, S> {
    #[inline(always)]
    fn touch(&self, key: &K::Query) -> bool {
        self.pin().get(key).map(Cell::touch).is_some()
    }

    fn insert(&self, key: K) {
        self.pin().insert(key, Cell::default());
    }

    fn remove(&self, key: &K::Query) -> bool {
        self.pin().remove(key).is_some()
    }
}

/// `scc::HashMap`, read under the shared lock of the key's bucket.
pub type Scc<K, S> = scc::HashMap<K, Cell, S>;

impl<K: Key, S: BuildHasher + Default + Send + Sync + 'static> CellMap<K> for Scc<K, S> {
    #[inline(always)]
    fn touch(&self, key: &K::Query) -> bool {
        self.read_sync(key, |_, cell| cell.touch()).is_some()
    }

    fn insert(&self, key: K) {
        let _ = self.insert_sync(key, Cell::default());
    }

    fn remove(&self, key: &K::Query) -> bool {
        self.remove_sync(key).is_some()
    }
}

/// `scc::HashIndex`, peeked without a lock. A resize copies what it holds, so a cell must be an allocation of its own:
/// what is written to a cell held inline can be lost.
pub type SccIndex<K, S> = scc::HashIndex<K, Arc<Cell>, S>;

impl<K: Key, S: BuildHasher + Default + Send + Sync + 'static> CellMap<K> for SccIndex<K, S> {
    #[inline(always)]
    fn touch(&self, key: &K::Query) -> bool {
        self.peek_with(key, |_, cell| cell.touch()).is_some()
    }

    fn insert(&self, key: K) {
        let _ = self.insert_sync(key, Arc::default());
    }

    fn remove(&self, key: &K::Query) -> bool {
        self.remove_sync(key)
    }
}

/// `dashmap::DashMap`: a hash table under a reader-writer lock in each of its shards.
pub type Dash<K, S> = dashmap::DashMap<K, Cell, S>;

impl<K: Key, S: BuildHasher + Default + Clone + Send + Sync + 'static> CellMap<K> for Dash<K, S> {
    #[inline(always)]
    fn touch(&self, key: &K::Query) -> bool {
        self.get(key).map(|cell| cell.touch()).is_some()
    }

    fn insert(&self, key: K) {
        self.insert(key, Cell::default());
    }

    fn remove(&self, key: &K::Query) -> bool {
        self.remove(key).is_some()
    }

    fn shrink(&self) {
        self.shrink_to_fit();
    }
}

/// A lock around each of 64 hash tables, the key hashed once for both.
pub struct Shards<L, S> {
    shards: Box<[CachePadded<L>]>,
    hasher: S,
}

/// A way to guard a shard.
pub trait Shard<K>: Default + Send + Sync + 'static {
    /// Looks without changing what is there.
    fn read<T>(&self, look: impl FnOnce(&HashTable<(K, Cell)>) -> T) -> T;

    /// Changes what is there.
    fn write<T>(&self, change: impl FnOnce(&mut HashTable<(K, Cell)>) -> T) -> T;
}

impl<K: Send + 'static> Shard<K> for Mutex<HashTable<(K, Cell)>> {
    #[inline(always)]
    fn read<T>(&self, look: impl FnOnce(&HashTable<(K, Cell)>) -> T) -> T {
        look(&self.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut HashTable<(K, Cell)>) -> T) -> T {
        change(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: Send + Sync + 'static> Shard<K> for RwLock<HashTable<(K, Cell)>> {
    #[inline(always)]
    fn read<T>(&self, look: impl FnOnce(&HashTable<(K, Cell)>) -> T) -> T {
        look(&RwLock::read(self).unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut HashTable<(K, Cell)>) -> T) -> T {
        change(&mut RwLock::write(self).unwrap_or_else(PoisonError::into_inner))
    }
}

/// 64 of `std::sync::Mutex`.
pub type Mutexes<K, S> = Shards<Mutex<HashTable<(K, Cell)>>, S>;

/// 64 of `std::sync::RwLock`.
pub type RwLocks<K, S> = Shards<RwLock<HashTable<(K, Cell)>>, S>;

impl<L: Default, S: Default> Default for Shards<L, S> {
    fn default() -> Self {
        Self { shards: (0..64).map(|_| CachePadded::default()).collect(), hasher: S::default() }
    }
}

impl<L, S> Shards<L, S> {
    /// Bits that the tables inside make least use of.
    #[inline(always)]
    fn shard(&self, hash: u64) -> &L {
        &self.shards[(hash >> 48) as usize % 64]
    }
}

impl<K: Key, L: Shard<K>, S: BuildHasher + Default + Send + Sync + 'static> CellMap<K> for Shards<L, S> {
    #[inline(always)]
    fn touch(&self, key: &K::Query) -> bool {
        let hash = self.hasher.hash_one(key);
        self.shard(hash).read(|table| {
            table.find(hash, |(held, _)| held.borrow() == key).map(|(_, cell)| cell.touch()).is_some()
        })
    }

    fn insert(&self, key: K) {
        let hash = self.hasher.hash_one(key.borrow());
        let rehash = |(held, _): &(K, Cell)| self.hasher.hash_one(held.borrow());
        self.shard(hash).write(|table| {
            table.insert_unique(hash, (key, Cell::default()), rehash);
        });
    }

    fn remove(&self, key: &K::Query) -> bool {
        let hash = self.hasher.hash_one(key);
        self.shard(hash).write(|table| {
            table.find_entry(hash, |(held, _)| held.borrow() == key).map(|entry| entry.remove()).is_ok()
        })
    }

    fn shrink(&self) {
        for shard in &self.shards {
            shard.write(|table| table.shrink_to_fit(|(held, _)| self.hasher.hash_one(held.borrow())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;

    fn a_key_is_there_from_insert_to_remove<M: CellMap<String>>() {
        let map = M::default();
        assert!(!map.touch("a"));
        for key in ["a", "b"] {
            map.insert(key.to_owned());
        }
        assert!(map.touch("a") && map.remove("a") && !map.touch("a") && !map.remove("a"));
        map.shrink();
        assert!(map.touch("b"));
    }

    #[test]
    fn every_map_is_a_map() {
        a_key_is_there_from_insert_to_remove::<Papaya<_, RandomState>>();
        a_key_is_there_from_insert_to_remove::<Scc<_, RandomState>>();
        a_key_is_there_from_insert_to_remove::<SccIndex<_, RandomState>>();
        a_key_is_there_from_insert_to_remove::<Dash<_, RandomState>>();
        a_key_is_there_from_insert_to_remove::<Mutexes<_, RandomState>>();
        a_key_is_there_from_insert_to_remove::<RwLocks<_, RandomState>>();
    }
}
