//! The keyed limiters that are compared, by the names they bear on the command line and in the results.

use std::hash::{BuildHasher, RandomState};

use tollgate::Quota;
use tollgate::keyed::RandomState as Fold;
use tollgate_bench::keyed::Keyed;
use tollgate_bench::keyed::baseline::{Flat, Mutexes};
use tollgate_bench::keyed::keys::KEYS;
use tollgate_bench::keyed::ours::{ByKey, ByTable};
use tollgate_bench::keyed::peers::{governor, governor_hashing};

/// One limiter. Behind the calls stand loops into which it is inlined.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// A fresh limiter with a quota for each key, and room for so many keys if its memory is bounded.
    pub(super) build: fn(Quota, usize) -> Box<dyn Keyed<u64>>,
}

/// The one that ratios are taken to.
pub(super) const REFERENCE: &str = "governor";

/// All limiters, in the order of the tables.
pub(super) static FIELD: [Entry; 6] = [
    Entry { name: "tollgate/table", build: table },
    Entry { name: "tollgate/keyed", build: exact },
    Entry { name: REFERENCE, build: |quota, _| Box::new(governor(quota)) },
    Entry { name: "governor+foldhash", build: |quota, _| Box::new(governor_hashing::<Fold>(quota)) },
    Entry { name: "mutexes", build: mutexes::<RandomState> },
    Entry { name: "mutexes+foldhash", build: mutexes::<Fold> },
];

/// What a limiter that reads a clock and writes one word of a key pays at least for an admission.
pub(super) static FLOOR: Entry = Entry { name: "floor", build: floor };

/// The names that `--limiter` takes.
pub(crate) fn names() -> [&'static str; FIELD.len()] {
    FIELD.each_ref().map(|entry| entry.name)
}

fn table(quota: Quota, keys: usize) -> Box<dyn Keyed<u64>> {
    Box::new(ByTable::new(quota, keys.next_power_of_two()).expect("a quota that fits a table"))
}

fn exact(quota: Quota, keys: usize) -> Box<dyn Keyed<u64>> {
    Box::new(ByKey::new(quota, keys).expect("a quota that starts full"))
}

fn mutexes<S: BuildHasher + Default + Send + Sync + 'static>(quota: Quota, _: usize) -> Box<dyn Keyed<u64>> {
    let limiter = Mutexes::<S>::new(quota);
    Box::new(move |key: &u64| limiter.decide(*key))
}

fn floor(_: Quota, _: usize) -> Box<dyn Keyed<u64>> {
    let flat = Flat::new(KEYS);
    Box::new(move |key: &u64| flat.admit(*key))
}
