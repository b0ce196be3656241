//! An estimate that was charged, and what becomes of it.

use core::fmt;

use redis::aio::ConnectionLike;

use super::bucket::RedisBucket;
use super::error::StoreError;

/// A charge by estimate, to be settled once. Dropped, it keeps its whole charge.
///
/// A surplus comes back as far as neither refill nor another refund has given it back already: the prompt
/// rule. A key that has gone since, because its bucket was full, is owed nothing.
#[must_use = "dropped, it keeps its whole charge"]
pub struct RedisReservation<C> {
    bucket: RedisBucket<C>,
    estimate: u64,
    charged: Charged,
}

/// What the server said of the bucket right after the charge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Charged {
    /// The server's microsecond.
    pub(super) at: u64,
    pub(super) deficit: u64,
    /// When the bucket was last known to begin.
    pub(super) born: u64,
    /// What had been given back since.
    pub(super) given: u64,
}

impl Charged {
    /// Those of several buckets, four numbers each.
    pub(super) fn each(numbers: &[u64]) -> Vec<Self> {
        let one = |numbers: &[u64]| match *numbers {
            [at, deficit, born, given] => Some(Self { at, deficit, born, given }),
            _ => None,
        };
        numbers.chunks_exact(4).filter_map(one).collect()
    }
}

impl<C> RedisReservation<C> {
    pub(super) fn new(bucket: RedisBucket<C>, estimate: u64, charged: Charged) -> Self {
        Self { bucket, estimate, charged }
    }

    /// The tokens that were charged.
    pub fn estimate(&self) -> u64 {
        self.estimate
    }
}

impl<C: ConnectionLike + Clone> RedisReservation<C> {
    /// Gives the surplus back, or charges what is missing as debt.
    ///
    /// # Errors
    ///
    /// The server gave no answer: whether it was settled is not known. It stays charged by its estimate if it
    /// was not.
    pub async fn settle(self, actual: u64) -> Result<(), StoreError> {
        self.bucket.settle(self.estimate, actual, self.charged).await
    }

    /// Gives all of it back: the work was never begun.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub async fn release(self) -> Result<(), StoreError> {
        self.settle(0).await
    }
}

impl<C> fmt::Debug for RedisReservation<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisReservation")
            .field("bucket", &self.bucket)
            .field("estimate", &self.estimate)
            .finish_non_exhaustive()
    }
}
