//! `keyed`: a bucket for each key, exact in a map or packed in a table.

mod builders;
#[cfg(feature = "adjust")]
mod change;
mod exact;
mod flood;
mod interleaved;
mod schedules;
mod stress;
mod table;

use std::hash::{BuildHasher, Hasher};

use tollgate::keyed::{Keyed, Overflow, Table};
use tollgate::{Manual, Quota};

/// One quota for all keys, on a clock that stands at zero.
pub(crate) fn keyed(quota: Quota, max_keys: usize, overflow: Overflow) -> Keyed<u64, Manual> {
    let builder = Keyed::builder(quota).max_keys(max_keys).overflow(overflow);
    builder.clock(Manual::new()).build().unwrap()
}

/// The same in a table. The hash of a key is what `hash` makes of it.
pub(crate) fn table(
    quota: Quota,
    words: usize,
    overflow: Overflow,
    hash: fn(u64) -> u64,
) -> Table<Manual, Chosen> {
    let builder = Table::builder(quota, words).overflow(overflow).hasher(Chosen(hash));
    builder.clock(Manual::new()).build().unwrap()
}

/// A hash that the test chooses: the high bits are the set of a table, the low ones the tag.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(pub(crate) fn(u64) -> u64);

pub(crate) struct ChosenHasher(fn(u64) -> u64, u64);

impl BuildHasher for Chosen {
    type Hasher = ChosenHasher;

    fn build_hasher(&self) -> ChosenHasher {
        ChosenHasher(self.0, 0)
    }
}

impl Hasher for ChosenHasher {
    fn write(&mut self, _: &[u8]) {
        panic!("the keys are numbers");
    }

    fn write_i32(&mut self, key: i32) {
        self.write_u64(key as u64);
    }

    fn write_u64(&mut self, key: u64) {
        self.1 = (self.0)(key);
    }

    fn finish(&self) -> u64 {
        self.1
    }
}
