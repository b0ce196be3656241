//! What outputs have been, lately.

use core::fmt;

use super::ring::Ring;
use super::{EstimateError, Percentile};
use crate::sync::{AtomicU64, Ordering};

/// The most values that a history remembers.
pub(super) const MAX_WINDOW: usize = 1 << 16;

const WINDOW: usize = 256;

/// Buckets in each doubling: 2^4.
const BITS: u32 = 4;
const BUCKETS: usize = bucket_of(u32::MAX) + 1;

/// The last so many values, with their mean and percentiles.
///
/// For output tokens of a model or an endpoint, as [`OutputEstimator`](super::OutputEstimator) wants them; one for each key
/// is a [`PerKey<K, History>`](super::PerKey). It remembers 256 values unless told otherwise and forgets the oldest for each
/// that it records, so it follows a change within one window.
///
/// ```
/// use tollgate::budget::{History, Percentile};
///
/// let history = History::default();
/// for tokens in 1..=100 {
///     history.record(tokens);
/// }
/// assert_eq!(history.mean(), Some(51)); // 50.5, rounded up
/// assert_eq!(history.percentile(Percentile::P90), Some(91)); // 90, within a sixteenth
/// ```
///
/// # Exactness
///
/// The mean is exact, rounded up. A percentile is never below the exact one and less than a sixteenth above it; up to 31
/// it is exact. Values above `u32::MAX` count as `u32::MAX`. What other threads are recording at the moment may be counted
/// together with what it takes the place of, so a mean is then too high and never too low; a percentile may miss both.
///
/// # Cost
///
/// A record is six atomic operations and takes no lock. A mean is two loads, a percentile walks through 464 counters twice. 8 bytes for
/// each value remembered and 3.7 kB for the counters. Nothing allocates but the constructor.
///
/// # Algorithm
///
/// Buckets as in Gil Tene's HdrHistogram, sixteen for each doubling, over a ring of the values themselves, so that the
/// oldest can be taken out of its bucket again.
pub struct History {
    ring: Ring,
    /// How many of the ring's places have a value.
    len: AtomicU64,
    sum: AtomicU64,
    counts: Box<[AtomicU64]>,
}

impl History {
    /// Remembers the last `values`.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Window`] for a number that is not from 1 to 65 536.
    pub fn new(values: usize) -> Result<Self, EstimateError> {
        if (1..=MAX_WINDOW).contains(&values) {
            Ok(Self::of_size(values))
        } else {
            Err(EstimateError::Window { values })
        }
    }

    fn of_size(values: usize) -> Self {
        Self {
            ring: Ring::new(values),
            len: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Records a value.
    ///
    /// # Memory ordering
    ///
    /// A value is counted before it is put into the ring and discounted after it has been taken out, and the ring's swap
    /// releases the one and acquires the other: no counter is ever below zero. Who acquires the length finds at least the
    /// values that it tells in the sum.
    pub fn record(&self, value: u64) {
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        self.count(value);
        match self.ring.replace(value) {
            Some(oldest) => self.discount(oldest),
            None => {
                self.len.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// How many values it remembers now.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire) as usize
    }

    /// How many values it remembers at most.
    pub fn window(&self) -> usize {
        self.ring.size()
    }

    /// Whether nothing was recorded yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mean, rounded up; nothing if nothing was recorded.
    pub fn mean(&self) -> Option<u64> {
        match self.len() {
            0 => None,
            len => Some(self.sum.load(Ordering::Relaxed).div_ceil(len as u64)),
        }
    }

    /// A percentile, less than a sixteenth above the exact one and never below; nothing if nothing was recorded.
    pub fn percentile(&self, percentile: Percentile) -> Option<u64> {
        let counted = || self.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        let rank = percentile.rank(counted().map(|(_, count)| count).sum());
        let (mut below, mut highest) = (0_u64, None);
        for (bucket, count) in counted().filter(|(_, count)| *count > 0) {
            highest = Some(largest_in(bucket));
            below = below.saturating_add(count);
            if below >= rank {
                break;
            }
        }
        highest
    }

    fn count(&self, value: u32) {
        if let Some(count) = self.counts.get(bucket_of(value)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value.into(), Ordering::Relaxed);
    }

    fn discount(&self, value: u32) {
        if let Some(count) = self.counts.get(bucket_of(value)) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        self.sum.fetch_sub(value.into(), Ordering::Relaxed);
    }
}

/// Of 256 values.
impl Default for History {
    fn default() -> Self {
        Self::of_size(WINDOW)
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("len", &self.len())
            .field("window", &self.window())
            .field("mean", &self.mean())
            .field("median", &self.percentile(Percentile::MEDIAN))
            .field("p90", &self.percentile(Percentile::P90))
            .finish()
    }
}

/// The bucket of a value: below 2^4 each has its own, then there are 2^4 for each doubling.
const fn bucket_of(value: u32) -> usize {
    match (value >> BITS).checked_ilog2() {
        None => value as usize,
        Some(doublings) => (((doublings + 1) << BITS) + (value >> doublings) - (1 << BITS)) as usize,
    }
}

/// The largest value of a bucket.
const fn largest_in(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    match (bucket >> BITS).checked_sub(1) {
        None => bucket,
        Some(doublings) => ((bucket - (doublings << BITS) + 1) << doublings) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut next = 0_u64;
        for bucket in 0..BUCKETS {
            let largest = largest_in(bucket);
            assert_eq!(bucket_of(u32::try_from(next).unwrap()), bucket, "{next}");
            assert_eq!(bucket_of(u32::try_from(largest).unwrap()), bucket, "{largest}");
            assert!(largest == next || (largest - next) * 16 < next, "{next} to {largest}");
            next = largest + 1;
        }
        assert_eq!((next, BUCKETS), (1 << 32, 464));
        assert!((0..32).all(|value| largest_in(bucket_of(value)) == u64::from(value)));
    }
}
