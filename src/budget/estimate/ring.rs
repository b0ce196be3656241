//! The last so many values, in a ring of atomics.

use crate::sync::{AtomicU64, Ordering};

/// Remembers the last so many values and forgets the oldest for each that is added. Any number of threads add at once.
///
/// Every place is an atomic of its own, so whoever reads sees values that were added, each of them whole, though with
/// others adding beside it perhaps not those of one moment.
#[derive(Debug)]
pub(super) struct Ring {
    added: AtomicU64,
    /// A value and one, or 0 for none.
    places: Box<[AtomicU64]>,
}

impl Ring {
    /// The last `size` values, at least one.
    pub(super) fn new(size: usize) -> Self {
        Self { added: AtomicU64::new(0), places: (0..size.max(1)).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(super) fn size(&self) -> usize {
        self.places.len()
    }

    /// Puts a value in place of the oldest, and returns that.
    ///
    /// What the thread did before it happens before the return of the call that takes the value out again.
    pub(super) fn replace(&self, value: u32) -> Option<u32> {
        let next = self.added.fetch_add(1, Ordering::Relaxed) % self.places.len() as u64;
        let place = self.places.get(next as usize)?;
        value_in(place.swap(u64::from(value) + 1, Ordering::AcqRel))
    }

    /// The values, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = u32> {
        self.places.iter().filter_map(|place| value_in(place.load(Ordering::Relaxed)))
    }
}

fn value_in(place: u64) -> Option<u32> {
    u32::try_from(place.checked_sub(1)?).ok()
}
