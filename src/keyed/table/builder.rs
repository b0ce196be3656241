//! How a table is made.

use std::hash::BuildHasher;

use crossbeam_utils::CachePadded;

use super::packed::{HALF_TURN, SPAN_BITS};
use super::set::{PLACES, Set};
use super::{SLACK_NANOS, STEP, Table};
use crate::clock::{Clock, Monotonic};
use crate::gcra::Gcra;
use crate::keyed::overflow::Rest;
use crate::keyed::{KeyedError, Overflow, RandomState};
use crate::quota::Quota;
use crate::sync::AtomicU64;

const MAX_WORDS: u64 = 1 << 32;

/// Options of a [`Table`].
///
/// ```
/// use tollgate::{Manual, keyed::{Overflow, Table}, quota};
///
/// let table = Table::builder(quota!("1/s"), 1 << 10).clock(Manual::new()).overflow(Overflow::Refuse).build()?;
/// assert_eq!(table.words(), 1024);
/// # Ok::<(), tollgate::keyed::KeyedError>(())
/// ```
#[derive(Debug)]
#[must_use = "it makes no table before `build`"]
pub struct TableBuilder<C = (), S = RandomState> {
    quota: Quota,
    words: usize,
    overflow: Overflow,
    clock: C,
    hasher: S,
}

impl TableBuilder {
    pub(super) fn new(quota: Quota, words: usize) -> Self {
        let overflow = Overflow::Share(quota);
        Self { quota, words, overflow, clock: (), hasher: RandomState::default() }
    }
}

impl<S: BuildHasher> TableBuilder<(), S> {
    /// The table, on the [`Monotonic`] clock.
    ///
    /// # Errors
    ///
    /// A quota whose initial fill is not full, a capacity of 2^40 tokens or more, a number of words outside 1
    /// to 2^32, or one for which there is no memory.
    pub fn build(self) -> Result<Table<Monotonic, S>, KeyedError> {
        self.clock(Monotonic::new()).build()
    }
}

impl<C, S> TableBuilder<C, S> {
    /// What becomes of new keys whose set is full.
    pub fn overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }

    /// Another clock.
    pub fn clock<D: Clock>(self, clock: D) -> TableBuilder<D, S> {
        let Self { quota, words, overflow, hasher, .. } = self;
        TableBuilder { quota, words, overflow, clock, hasher }
    }

    /// Another hash. All 64 bits count: the high ones choose the set, the low ones are the tag.
    pub fn hasher<T: BuildHasher>(self, hasher: T) -> TableBuilder<C, T> {
        let Self { quota, words, overflow, clock, .. } = self;
        TableBuilder { quota, words, overflow, clock, hasher }
    }
}

impl<C: Clock, S: BuildHasher> TableBuilder<C, S> {
    /// The table.
    ///
    /// # Errors
    ///
    /// A quota whose initial fill is not full, a capacity of 2^40 tokens or more, a number of words outside 1
    /// to 2^32, or one for which there is no memory.
    pub fn build(self) -> Result<Table<C, S>, KeyedError> {
        let Self { quota, words, overflow, clock, hasher } = self;
        KeyedError::unless_full(&quota)?;
        if quota.capacity() >> SPAN_BITS != 0 {
            return Err(KeyedError::CapacityTooLarge { capacity: quota.capacity() });
        }
        if words == 0 || words as u64 > MAX_WORDS {
            return Err(KeyedError::WordsOutOfRange { words });
        }
        let sets = sets(words)?;
        let gcra = Gcra::within(&quota, SPAN_BITS);
        let (now, stride) = (clock.now(), stride(sets.len() as u64));
        let reach = (quota.capacity() * gcra.one.units).saturating_add(gcra.issued(SLACK_NANOS));
        let step = STEP.min(sets.len() as u64);
        let swept = CachePadded::new(AtomicU64::new(gcra.issued(now.as_u64()) >> stride));
        let rest = CachePadded::new(Rest::new(overflow, now));
        Ok(Table { quota, gcra, clock, hasher, sets, reach, stride, step, swept, rest })
    }
}

/// All sets of a table of so many words. What the system has not got is an error here, and not the end of the
/// process; but many a system promises more than it has.
fn sets(words: usize) -> Result<Box<[Set]>, KeyedError> {
    let count = words.div_ceil(PLACES);
    let mut sets = Vec::new();
    sets.try_reserve_exact(count).map_err(|_| KeyedError::NoMemory { words })?;
    sets.extend((0..count).map(|_| Set::new()));
    Ok(sets.into())
}

/// The number of bits of the time, in units, after which the next set is due: all of them within an eighth of the time
/// for which a word is told from one that has passed.
fn stride(sets: u64) -> u32 {
    (HALF_TURN / 8 / sets).ilog2()
}
