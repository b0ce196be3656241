//! Where the shards of one allowance are kept.

use crate::sync::{AtomicU64, Ordering};

/// Nobody's.
const FREE: u64 = 0;

/// A handle's, which keeps its credit itself.
const HANDLE: u64 = u64::MAX;

/// No ceiling has been lowered.
const UNLIMITED: u64 = u64::MAX;

/// One of the `N` shards. Its owner alone touches the credit, so loads and stores do; no read-modify-write.
#[derive(Debug)]
pub(super) struct Place {
    /// [`FREE`], [`HANDLE`], or one more than the number of the thread that looks its shard up.
    owner: AtomicU64,
    credit: AtomicU64,
    epoch: AtomicU64,
    /// The lowest ceiling there was since the owner last asked, if one was lowered: all that may be left of the credit.
    lowest: AtomicU64,
}

impl Place {
    pub(super) fn new() -> Self {
        Self {
            owner: AtomicU64::new(FREE),
            credit: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            lowest: AtomicU64::new(UNLIMITED),
        }
    }

    /// Gives the place to a handle, if it is free.
    pub(super) fn claim(&self) -> bool {
        self.owner.compare_exchange(FREE, HANDLE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the place back from a handle.
    pub(super) fn release(&self) {
        self.owner.store(FREE, Ordering::Release);
    }

    /// Whether the place is the thread's. It stays so for the threads that have the number after it.
    #[inline]
    pub(super) fn is_of(&self, slot: usize) -> bool {
        self.owner.load(Ordering::Relaxed) == tag(slot)
    }

    /// Gives the place to the thread, if it is free or the thread's already.
    pub(super) fn is_or_becomes_of(&self, slot: usize) -> bool {
        self.is_of(slot)
            || self.owner.compare_exchange(FREE, tag(slot), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The credit and the epoch it was drawn in. For the owner.
    #[inline]
    pub(super) fn credit(&self) -> (u64, u64) {
        (self.credit.load(Ordering::Relaxed), self.epoch.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn set_credit(&self, credit: u64) {
        self.credit.store(credit, Ordering::Relaxed);
    }

    pub(super) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// The most that may be left of the credit. It is told once: for the owner, who obeys it.
    pub(super) fn take_lowest(&self) -> u64 {
        self.lowest.swap(UNLIMITED, Ordering::Acquire)
    }

    /// Leaves no more than `ceiling` of the credit. For whoever lowers the ceiling.
    #[cfg(feature = "adjust")]
    pub(super) fn lower(&self, ceiling: u64) {
        self.lowest.fetch_min(ceiling, Ordering::Release);
    }
}

fn tag(slot: usize) -> u64 {
    slot as u64 + 1
}
