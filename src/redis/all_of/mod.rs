//! Several buckets at once: all of them admit, or none is touched.

mod refused;
mod slot;

use core::fmt;
use core::time::Duration;

use redis::aio::ConnectionLike;

pub use self::refused::{AllOfRefused, NotTogether};
use self::slot::slot;
use super::bucket::RedisBucket;
use super::error::StoreError;
use super::reservation::Charged;
use super::scale::Scale;
use super::store::{Ask, DEADLINE, Store};
use crate::quota::Quota;

/// Several buckets that admit together or not at all, in one call of the script. Clones share them.
///
/// The keys must lie in one slot of a cluster, on whatever server they are used: give them a common part in
/// braces. A bucket under the same key elsewhere is the same bucket. That no bucket of another server comes
/// among them is because this makes its buckets itself, on one connection.
///
/// ```no_run
/// # async fn run(connection: redis::aio::MultiplexedConnection) -> Result<(), Box<dyn std::error::Error>> {
/// use tollgate::{quota, redis::RedisAllOf};
///
/// let limits = [("{api}:requests", quota!("300/min")), ("{api}:tokens", quota!("300k/min"))];
/// let limits = RedisAllOf::new(connection, limits)?;
/// let call = limits.reserve([1, 5_000]).await?;
/// // ... the call is made, and used 1200 ...
/// call.settle([1, 1_200]).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Cost
///
/// One round trip for all of them.
///
/// # Cancel safety
///
/// A call that is dropped may have been decided by the server, and have taken its costs.
#[derive(Clone)]
pub struct RedisAllOf<C, const N: usize> {
    store: Store<C>,
    buckets: Vec<RedisBucket<C>>,
}

/// Charges by estimate on several buckets, to be settled once. Dropped, they stay whole. See
/// [`RedisReservation`](super::RedisReservation).
#[must_use = "dropped, it keeps its whole charge"]
pub struct RedisAllOfReservation<C, const N: usize> {
    limits: RedisAllOf<C, N>,
    estimates: [u64; N],
    charged: Vec<Charged>,
}

impl<C: Clone, const N: usize> RedisAllOf<C, N> {
    /// Buckets under these keys, with a deadline of 100 ms for each call.
    ///
    /// # Errors
    ///
    /// [`NotTogether`]: two keys of different slots, the same key twice, a quota that cannot be kept exactly,
    /// or no limits.
    pub fn new<K: Into<String>>(connection: C, limits: [(K, Quota); N]) -> Result<Self, NotTogether> {
        let mut buckets: Vec<RedisBucket<C>> = Vec::with_capacity(N);
        for (key, quota) in limits {
            let key = key.into();
            buckets.iter().try_for_each(|other| beside(other.key(), &key))?;
            let bucket = RedisBucket::new(connection.clone(), key.as_str(), quota);
            buckets.push(bucket.map_err(|why| NotTogether::Quota { key, why })?);
        }
        if buckets.is_empty() {
            return Err(NotTogether::NoLimits);
        }
        Ok(Self { store: Store { connection, deadline: DEADLINE }, buckets })
    }

    /// The same buckets, whose server is given so long to answer.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        let buckets = self.buckets.into_iter().map(|bucket| bucket.with_deadline(deadline)).collect();
        Self { store: Store { deadline, ..self.store }, buckets }
    }
}

impl<C, const N: usize> RedisAllOf<C, N> {
    /// Each of them by itself, in their order: to peek, to pause, to charge.
    pub fn buckets(&self) -> &[RedisBucket<C>] {
        &self.buckets
    }
}

impl<C: ConnectionLike + Clone, const N: usize> RedisAllOf<C, N> {
    /// Admits the cost of each now, or refuses and consumes nothing of any.
    ///
    /// # Errors
    ///
    /// [`AllOfRefused::Denied`] names the limit that refuses for the longest and its wait: one that refuses
    /// for ever, or else the largest wait of all that refuse; of equal ones the first. A cost of zero and one
    /// above a capacity are refused without the server. [`AllOfRefused::Store`]: it is not known whether the
    /// costs were taken; all were, or none.
    pub async fn try_acquire(&self, costs: [u64; N]) -> Result<(), AllOfRefused> {
        self.take(costs).await.map(drop)
    }

    /// Admits an estimate for each, to be settled when the true costs are known.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn reserve(&self, estimates: [u64; N]) -> Result<RedisAllOfReservation<C, N>, AllOfRefused> {
        let charged = self.take(estimates).await?;
        Ok(RedisAllOfReservation { limits: self.clone(), estimates, charged })
    }

    async fn take(&self, costs: [u64; N]) -> Result<Vec<Charged>, AllOfRefused> {
        for (place, (bucket, cost)) in self.buckets.iter().zip(costs).enumerate() {
            let denied = |denied| AllOfRefused::Denied { place, key: bucket.key().to_owned(), denied };
            bucket.check(cost).map_err(denied)?;
        }
        let units: Vec<u64> =
            self.buckets.iter().zip(costs).map(|(bucket, cost)| bucket.scale().units(cost)).collect();
        let answer: Vec<u64> = self.ask("acquire", &units).await?;
        match answer[..] {
            [0, ref charged @ ..] if charged.len() == 4 * N => Ok(Charged::each(charged)),
            [refusing, micros] => self.refused(refusing, micros),
            _ => Err(StoreError::Answer.into()),
        }
    }

    /// By the script's count, from 1.
    fn refused<T>(&self, refusing: u64, micros: u64) -> Result<T, AllOfRefused> {
        let place = usize::try_from(refusing).ok().and_then(|count| count.checked_sub(1));
        let found = place.and_then(|place| Some((place, self.buckets.get(place)?)));
        let (place, bucket) = found.ok_or(StoreError::Answer)?;
        Err(AllOfRefused::Denied {
            place,
            key: bucket.key().to_owned(),
            denied: bucket.refused_for(micros.saturating_mul(1_000)),
        })
    }

    async fn ask<T: redis::FromRedisValue>(
        &self,
        verb: &'static str,
        numbers: &[u64],
    ) -> Result<T, StoreError> {
        let buckets: Vec<(&str, Scale)> =
            self.buckets.iter().map(|bucket| (bucket.key(), bucket.scale())).collect();
        self.store.ask(Ask { verb, buckets: &buckets, numbers }).await
    }
}

impl<C, const N: usize> RedisAllOfReservation<C, N> {
    /// The tokens that were charged to each.
    pub fn estimates(&self) -> [u64; N] {
        self.estimates
    }
}

impl<C: ConnectionLike + Clone, const N: usize> RedisAllOfReservation<C, N> {
    /// Gives each surplus back, and charges what is missing as debt, of all in one call.
    ///
    /// # Errors
    ///
    /// The server gave no answer: whether they were settled is not known; all were, or none.
    pub async fn settle(self, actual: [u64; N]) -> Result<(), StoreError> {
        let of_each = self.limits.buckets.iter().zip(self.estimates).zip(actual).zip(&self.charged);
        let numbers: Vec<u64> = of_each
            .flat_map(|(((bucket, estimate), actual), charged)| bucket.settlement(estimate, actual, *charged))
            .collect();
        self.limits.ask::<u64>("settle", &numbers).await.map(drop)
    }

    /// Gives all of it back: the work was never begun.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub async fn release(self) -> Result<(), StoreError> {
        self.settle([0; N]).await
    }
}

impl<C, const N: usize> fmt::Debug for RedisAllOf<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.buckets).finish()
    }
}

impl<C, const N: usize> fmt::Debug for RedisAllOfReservation<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisAllOfReservation")
            .field("limits", &self.limits)
            .field("estimates", &self.estimates)
            .finish_non_exhaustive()
    }
}

/// Whether one call can have both keys.
fn beside(first: &str, other: &str) -> Result<(), NotTogether> {
    if first == other {
        return Err(NotTogether::SameKey { key: other.to_owned() });
    }
    let (first_slot, other_slot) = (slot(first), slot(other));
    if first_slot == other_slot {
        return Ok(());
    }
    Err(NotTogether::OtherSlot { first: first.to_owned(), first_slot, other: other.to_owned(), other_slot })
}
