//! tollgate's own keyed limiters, which can tell how many keys they know.

use super::Keyed;
use crate::cpu::{opaque, pin};
use tollgate::Quota;
use tollgate::keyed::{Keyed as Exact, KeyedError, Table};

/// [`tollgate::keyed::Table`].
pub struct ByTable(Table);

impl ByTable {
    /// With so many words.
    ///
    /// # Errors
    ///
    /// A quota or a number of words that a table does not take.
    pub fn new(quota: Quota, words: usize) -> Result<Self, KeyedError> {
        Table::new(quota, words).map(Self)
    }
}

impl Keyed<u64> for ByTable {
    #[inline(never)]
    fn answer(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| pin(opaque(&self.0).try_acquire(key).is_ok())).sum()
    }

    fn live(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// [`tollgate::keyed::Keyed`].
pub struct ByKey(Exact<u64>);

impl ByKey {
    /// With room for so many keys.
    ///
    /// # Errors
    ///
    /// A quota or a number of keys that it does not take.
    pub fn new(quota: Quota, keys: usize) -> Result<Self, KeyedError> {
        Exact::builder(quota).max_keys(keys).build().map(Self)
    }
}

impl Keyed<u64> for ByKey {
    #[inline(never)]
    fn answer(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| pin(opaque(&self.0).try_acquire(key).is_ok())).sum()
    }

    fn live(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_key_is_limited_and_known() {
        let quota = Quota::with_burst(1, Duration::from_secs(3600), 2).unwrap();
        let limiters: [Box<dyn Keyed<u64>>; 2] =
            [Box::new(ByTable::new(quota, 1 << 12).unwrap()), Box::new(ByKey::new(quota, 1 << 12).unwrap())];
        for limiter in limiters {
            let keys: Vec<u64> = (0..100).map(super::super::keys::key).collect();
            let answers = [limiter.answer(&keys), limiter.answer(&keys), limiter.answer(&keys)];
            assert_eq!((answers, limiter.live()), ([100, 100, 0], Some(100)));
        }
    }
}
