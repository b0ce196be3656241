//! The map: shards of a hash table, each under a lock that its readers do not share.
//!
//! Known keys are decided under a read lock, on the atomic word in the entry; only inserting and forgetting lock a shard
//! for writing, and each does so for one key. The read lock is one of eight, chosen by thread, so that threads on one
//! hot key do not meet at the lock (`benches/README.md` has the figures, also of the concurrent maps that were tried).
//!
//! An entry can be found by the hash of its key alone, which is all that the roll knows of a key.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;

#[cfg(feature = "adjust")]
use super::change::Change;
use super::rules::{Kept, Rules};
use crate::sync::{ReadMostly, read, write};
use crate::word::Word;

/// So few that their locks and tables' heads stay in the fastest cache: that is worth more than fewer keys in each.
const SHARDS: usize = 16;

pub(super) struct Shards<K, S> {
    /// Boxed: five kilobytes are not for a caller's stack.
    shards: Box<[ReadMostly<Shard<K>>; SHARDS]>,
    hasher: S,
}

/// What one lock guards.
struct Shard<K> {
    rules: Rules,
    entries: HashTable<Entry<K>>,
    /// The latest reading at which a key has been full that was forgotten here.
    forgotten_at: u64,
}

/// Where a key has been found, or put.
pub(super) enum Placed<T> {
    Known(T),
    New(T),
    /// There is no room for it.
    Nowhere,
}

/// All that is kept of a key. Aligned so that the small ones do not lie across two cache lines.
#[repr(align(32))]
struct Entry<K> {
    key: K,
    word: Word,
    class: u32,
}

impl<K, S: BuildHasher> Shards<K, S> {
    pub(super) fn new(rules: &Rules, hasher: S) -> Self {
        let empty = || Shard { rules: rules.clone(), entries: HashTable::new(), forgotten_at: 0 };
        Self { shards: Box::new(std::array::from_fn(|_| ReadMostly::new(empty()))), hasher }
    }

    #[inline]
    pub(super) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }
}

impl<K, S> Shards<K, S> {
    /// Does something with the word of a key, if there is one, beside others who do.
    #[inline]
    pub(super) fn with<Q, T>(&self, hash: u64, key: &Q, act: impl FnOnce(Kept<'_>) -> T) -> Option<T>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let shard = read(self.shard(hash));
        shard.entries.find(hash, |entry| entry.is_of(key)).map(|entry| act(entry.kept(&shard.rules)))
    }

    /// Looks at the rules of a hash's shard.
    pub(super) fn rules<T>(&self, hash: u64, look: impl FnOnce(&Rules) -> T) -> T {
        look(&read(self.shard(hash)).rules)
    }

    /// Looks at the rules that are those of every shard: the last one's, which is the last to change.
    pub(super) fn rules_of_all<T>(&self, look: impl FnOnce(&Rules) -> T) -> T {
        look(&read(&self.shards[SHARDS - 1]).rules)
    }

    /// The least of what `of` tells of the keys with this hash.
    pub(super) fn least<T: Ord>(&self, hash: u64, of: impl Fn(Kept<'_>) -> T) -> Option<T>
    where
        K: Hash,
        S: BuildHasher,
    {
        let shard = read(self.shard(hash));
        let all = shard.entries.iter_hash(hash).filter(|entry| self.hash(&entry.key) == hash);
        all.map(|entry| of(entry.kept(&shard.rules))).min()
    }

    /// Inserts an entry of the key, as one that may have been forgotten, unless there is one already or `has_room` says
    /// no. Then does something with its word. Alone in its shard.
    pub(super) fn insert<T>(
        &self,
        hash: u64,
        key: K,
        class: u32,
        has_room: impl FnOnce() -> bool,
        act: impl FnOnce(Kept<'_>) -> T,
    ) -> Placed<T>
    where
        K: Hash + Eq,
        S: BuildHasher,
    {
        let mut shard = write(self.shard(hash));
        let Shard { rules, entries, forgotten_at } = &mut *shard;
        if let Some(entry) = entries.find(hash, |entry| entry.is_of(&key)) {
            return Placed::Known(act(entry.kept(rules)));
        }
        if !has_room() {
            return Placed::Nowhere;
        }
        let entry = Entry { key, class, word: rules.class(class).new_word(*forgotten_at) };
        let inserted = entries.insert_unique(hash, entry, |entry| self.hash(&entry.key));
        Placed::New(act(inserted.get().kept(rules)))
    }

    /// Removes an entry with this hash of which `condemned` says so, and counts it out; tells whether there was one.
    /// `since` is the reading at which it was full. Alone in its shard.
    pub(super) fn remove(
        &self,
        hash: u64,
        since: u64,
        condemned: impl Fn(Kept<'_>) -> bool,
        count_out: impl FnOnce(),
    ) -> bool
    where
        K: Hash,
        S: BuildHasher,
    {
        let mut shard = write(self.shard(hash));
        let Shard { rules, entries, forgotten_at } = &mut *shard;
        let is_it = |entry: &Entry<K>| self.hash(&entry.key) == hash && condemned(entry.kept(rules));
        match entries.find_entry(hash, is_it) {
            Ok(found) => drop(found.remove()),
            Err(_) => return false,
        }
        count_out();
        *forgotten_at = since.max(*forgotten_at);
        shard.give_memory_back(|entry| self.hash(&entry.key));
        true
    }

    /// Makes the change in all shards, one after another and alone in each, unless they have it; tells the last reading at
    /// which one changed.
    #[cfg(feature = "adjust")]
    pub(super) fn change(&self, change: &Change, now: impl Fn() -> u64) -> Option<u64> {
        let make = |shard| {
            let Shard { rules, entries, forgotten_at } = &mut *write(shard);
            let words = entries.iter_mut().filter(|entry| entry.class == change.class);
            change.make(rules, *forgotten_at, words.map(|entry| &mut entry.word), &now)
        };
        self.shards.iter().filter_map(make).max()
    }

    /// By other bits of the hash than the table uses: it takes the lowest and the highest seven.
    #[inline]
    fn shard(&self, hash: u64) -> &ReadMostly<Shard<K>> {
        &self.shards[(hash << 7 >> (64 - SHARDS.ilog2())) as usize]
    }
}

impl<K> Shard<K> {
    fn give_memory_back(&mut self, hash: impl Fn(&Entry<K>) -> u64) {
        let (len, capacity) = (self.entries.len(), self.entries.capacity());
        if len < capacity / 4 {
            self.entries.shrink_to(len * 2, hash);
        }
    }
}

impl<K> Entry<K> {
    #[inline(always)]
    fn kept<'a>(&'a self, rules: &'a Rules) -> Kept<'a> {
        Kept { class: rules.class(self.class), word: &self.word }
    }

    #[inline]
    fn is_of<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        *self.key.borrow() == *key
    }
}
