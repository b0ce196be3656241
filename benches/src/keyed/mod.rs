//! Limits by key: which map to build on, and what a decision costs once its bucket has to be found first.
//!
//! * [`keys`]: streams of keys, drawn before anything is measured;
//! * [`maps`]: the concurrent maps one may build on, each behind the same few calls;
//! * [`peers`], [`baseline`] and [`ours`]: keyed limiters of others, those one writes oneself, and tollgate's;
//! * [`pair`]: rows on two threads, interleaved, by the distance of the cores;
//! * [`heap`]: bytes by a counting allocator.

pub mod baseline;
pub mod heap;
pub mod keys;
pub mod maps;
pub mod ours;
pub mod pair;
pub mod peers;

use crate::cpu::{opaque, pin};

/// A call that says yes or no to a key. Any `Fn(&K) -> bool` is one; the loop is compiled for each by itself.
pub trait Keyed<K>: Send + Sync {
    /// Calls once for each key, back to back. Returns how many were answered with yes.
    fn answer(&self, keys: &[K]) -> u64;

    /// How many keys it knows, if it can tell.
    fn live(&self) -> Option<usize> {
        None
    }
}

impl<K, F: Fn(&K) -> bool + Send + Sync> Keyed<K> for F {
    #[inline(never)]
    fn answer(&self, keys: &[K]) -> u64 {
        keys.iter().map(|key| pin(opaque(self)(key))).sum()
    }
}

/// A row of a table: its name and what it calls.
pub struct Entrant<K> {
    /// The name in tables.
    pub name: &'static str,
    /// What is measured.
    pub call: Box<dyn Keyed<K>>,
}

impl<K> Entrant<K> {
    /// A row over a call.
    pub fn new(name: &'static str, call: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        Self { name, call: Box::new(call) }
    }
}
