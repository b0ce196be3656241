//! The floor of a keyed decision, and the keyed limiter one writes oneself: hash tables of token buckets under locks.

use crate::cpu::tsc;
use crossbeam_utils::CachePadded;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use tollgate::{Clock, Monotonic, Quota};

/// Words whose place follows from the key alone; none of them limits anything.
pub struct Flat(Vec<AtomicU64>);

impl Flat {
    /// So many words, or a few more.
    pub fn new(words: u64) -> Self {
        Self((0..words.next_power_of_two()).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline(always)]
    fn word(&self, key: u64) -> &AtomicU64 {
        &self.0[key as usize & (self.0.len() - 1)]
    }

    /// Clock reading, load, compare-exchange: what an admission cannot go below.
    #[inline(always)]
    pub fn admit(&self, key: u64) -> bool {
        let (now, place) = (tsc(), self.word(key));
        let mut word = place.load(Relaxed);
        while let Err(moved) = place.compare_exchange_weak(word, now, Relaxed, Relaxed) {
            word = moved;
        }
        true
    }

    /// Clock reading, load, compare: what a refusal cannot go below.
    #[inline(always)]
    pub fn refuse(&self, key: u64) -> bool {
        tsc() < self.word(key).load(Relaxed)
    }
}

/// A key and the moment at which its bucket will be full again.
type Held = (u64, u64);

/// 64 locked tables. The key is hashed once, and the clock is read before the lock is taken.
pub struct Mutexes<S> {
    shards: Box<[CachePadded<Mutex<HashTable<Held>>>]>,
    token_nanos: u64,
    full_nanos: u64,
    hasher: S,
    clock: Monotonic,
}

impl<S: BuildHasher + Default> Mutexes<S> {
    /// A limiter for a quota whose token takes whole nanoseconds.
    pub fn new(quota: Quota) -> Self {
        let token_nanos = quota.period().as_nanos() as u64 / quota.tokens();
        Self {
            shards: (0..64).map(|_| CachePadded::default()).collect(),
            token_nanos,
            full_nanos: quota.capacity() * token_nanos,
            hasher: S::default(),
            clock: Monotonic::new(),
        }
    }

    /// Takes a token of the key if it is there.
    #[inline(always)]
    pub fn decide(&self, key: u64) -> bool {
        let (now, hash) = (self.clock.now().as_u64(), self.hasher.hash_one(key));
        // Bits that the tables inside make least use of.
        let shard = &self.shards[(hash >> 48) as usize % 64];
        let mut table = shard.lock().unwrap_or_else(PoisonError::into_inner);
        match table.find_mut(hash, |(held, _)| *held == key) {
            Some((_, full_at)) => {
                let next = now.max(*full_at) + self.token_nanos;
                let admitted = next - now <= self.full_nanos;
                *full_at = if admitted { next } else { *full_at };
                admitted
            }
            None => self.first(&mut table, hash, (key, now + self.token_nanos)),
        }
    }

    #[cold]
    fn first(&self, table: &mut HashTable<Held>, hash: u64, held: Held) -> bool {
        table.insert_unique(hash, held, |(key, _)| self.hasher.hash_one(key));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;
    use std::time::Duration;

    #[test]
    fn every_key_has_tokens_of_its_own() {
        let quota = Quota::with_burst(1, Duration::from_secs(3600), 2).unwrap();
        let limiter = Mutexes::<RandomState>::new(quota);
        for key in 0..1_000 {
            let answers = [limiter.decide(key), limiter.decide(key), limiter.decide(key)];
            assert_eq!(answers, [true, true, false], "{key}");
        }
    }

    #[test]
    fn the_floor_says_what_it_is_asked_for() {
        let flat = Flat::new(3);
        for key in 0..9 {
            assert!(!flat.refuse(key) && flat.admit(key));
        }
    }
}
