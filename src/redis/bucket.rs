//! A bucket in Redis.

use core::fmt;
use core::time::Duration;

use redis::aio::ConnectionLike;

use super::error::{NotRepresentable, Refused, StoreError};
use super::reservation::{Charged, RedisReservation};
use super::scale::Scale;
use super::store::{Ask, DEADLINE, Store};
use crate::decision::{Denied, NotYet};
use crate::gcra::Gcra;
use crate::quota::Quota;

/// A bucket that everybody has who asks the same server for the same key with the same quota. Clones share
/// it.
///
/// `C` is any asynchronous connection of the `redis` crate that can be cloned: a `MultiplexedConnection`, a
/// `ConnectionManager`, which reconnects, or a cluster's.
///
/// # Cost
///
/// One round trip to the server, and there some ten microseconds.
///
/// # Cancel safety
///
/// A call that is dropped may have been decided by the server, and have taken its cost.
#[derive(Clone)]
pub struct RedisBucket<C> {
    store: Store<C>,
    key: String,
    quota: Quota,
    gcra: Gcra,
    scale: Scale,
}

/// What a bucket held when the server looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedisLevel {
    /// Whole tokens that are there.
    pub available: u64,
    /// Tokens that are owed, rounded up.
    pub debt: u64,
    /// Until it is full.
    pub time_to_full: Duration,
    /// Until its pause ends.
    pub paused_for: Duration,
}

impl<C> RedisBucket<C> {
    /// A bucket under this key, with a deadline of 100 ms for each call. Nothing is written before the first
    /// admission.
    ///
    /// In a cluster the part of the key between the first `{` and the next `}` decides on which node it lies.
    ///
    /// # Errors
    ///
    /// A quota that cannot be kept exactly.
    pub fn new(connection: C, key: impl Into<String>, quota: Quota) -> Result<Self, NotRepresentable> {
        let scale = Scale::of(&quota)?;
        let store = Store { connection, deadline: DEADLINE };
        Ok(Self { store, key: key.into(), quota, gcra: Gcra::new(&quota), scale })
    }

    /// The same bucket, whose server is given so long to answer.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.store.deadline = deadline;
        self
    }

    /// The quota.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How long the server is given to answer.
    pub fn deadline(&self) -> Duration {
        self.store.deadline
    }

    /// Refuses a cost of zero, or above the capacity.
    pub(super) fn check(&self, cost: u64) -> Result<(), Denied> {
        self.gcra.cost(cost).map(drop)
    }

    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// Refused for so long.
    pub(super) fn refused_for(&self, nanos: u64) -> Denied {
        Denied::NotYet(NotYet::new(self.gcra.rate(), 0, 0, nanos))
    }

    /// The script's six numbers of a settlement.
    pub(super) fn settlement(&self, estimate: u64, actual: u64, charged: Charged) -> [u64; 6] {
        let Charged { at, deficit, born, given } = charged;
        [self.scale.units(estimate), self.scale.units(actual), at, deficit, born, given]
    }
}

impl<C: ConnectionLike + Clone> RedisBucket<C> {
    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Refused::Denied`] with the exact wait, or [`Refused::Store`].
    pub async fn try_acquire(&self) -> Result<(), Refused> {
        self.try_acquire_n(1).await
    }

    /// Admits `cost` tokens now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); at once, without the server, for a cost of zero or above the
    /// capacity.
    pub async fn try_acquire_n(&self, cost: u64) -> Result<(), Refused> {
        self.take(cost).await.map(drop)
    }

    /// Admits an estimate, to be settled when the true cost is known.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub async fn reserve(&self, estimate: u64) -> Result<RedisReservation<C>, Refused> {
        let charged = self.take(estimate).await?;
        Ok(RedisReservation::new(self.clone(), estimate, charged))
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many; the rest is refused. It never
    /// makes a debt.
    ///
    /// # Errors
    ///
    /// The server gave no answer: it is not known what was taken.
    pub async fn acquire_up_to(&self, most: u64) -> Result<u64, StoreError> {
        if most == 0 { Ok(0) } else { self.ask("lend", &[most.min(self.quota.capacity())]).await }
    }

    /// Takes `cost` tokens whether they are there or not; what is not there becomes debt.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn charge(&self, cost: u64) -> Result<(), StoreError> {
        self.tell("charge", &[self.scale.units(cost)]).await
    }

    /// Gives `cost` tokens back, up to a full bucket. Each refund may widen the bound by its amount; a
    /// [reservation](Self::reserve) knows what it gives back.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn refund(&self, cost: u64) -> Result<(), StoreError> {
        self.tell("refund", &[self.scale.units(cost)]).await
    }

    /// Admits nothing, to anybody, for `span` of the server's time from now, nor before an earlier pause's
    /// end.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn pause_for(&self, span: Duration) -> Result<(), StoreError> {
        // A thousand years: numbers stay exact.
        const LONGEST: u128 = 1_000 * 365 * 86_400 * 1_000_000;
        let micros = span.as_nanos().div_ceil(1_000).min(LONGEST);
        self.tell("pause", &[u64::try_from(micros).unwrap_or(u64::MAX)]).await
    }

    /// Ends any pause at once.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.tell("resume", &[]).await
    }

    /// Fills the bucket; a pause stays. Reservations from before give nothing back any more.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn reset(&self) -> Result<(), StoreError> {
        self.tell("reset", &[]).await
    }

    /// Looks without consuming.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn peek(&self) -> Result<RedisLevel, StoreError> {
        let (deficit, paused): (u64, u64) = self.ask("peek", &[]).await?;
        let Scale { p, q, capacity } = self.scale;
        Ok(RedisLevel {
            available: capacity.saturating_sub(deficit) / q,
            debt: deficit.saturating_sub(capacity).div_ceil(q),
            time_to_full: Duration::from_micros(deficit.div_ceil(p)),
            paused_for: Duration::from_micros(paused),
        })
    }

    async fn take(&self, cost: u64) -> Result<Charged, Refused> {
        self.check(cost)?;
        let answer: Vec<u64> = self.ask("acquire", &[self.scale.units(cost)]).await?;
        match answer[..] {
            [0, at, deficit, born, given] => Ok(Charged { at, deficit, born, given }),
            [1, micros] => Err(Refused::Denied(self.refused_for(micros.saturating_mul(1_000)))),
            _ => Err(Refused::Store(StoreError::Answer)),
        }
    }

    /// Charges `cost` tokens, as [`charge`](Self::charge), but makes no more debt by it than `whole` tokens.
    /// What is owed already stays.
    pub(super) async fn owe(&self, cost: u64, whole: u64) -> Result<(), StoreError> {
        self.tell("owe", &[self.scale.units(cost), self.scale.units(whole)]).await
    }

    pub(super) async fn settle(
        &self,
        estimate: u64,
        actual: u64,
        charged: Charged,
    ) -> Result<(), StoreError> {
        self.tell("settle", &self.settlement(estimate, actual, charged)).await
    }

    async fn tell(&self, verb: &'static str, numbers: &[u64]) -> Result<(), StoreError> {
        self.ask::<u64>(verb, numbers).await.map(drop)
    }

    pub(super) async fn ask<T: redis::FromRedisValue>(
        &self,
        verb: &'static str,
        numbers: &[u64],
    ) -> Result<T, StoreError> {
        self.store.ask(Ask { verb, buckets: &[(&self.key, self.scale)], numbers }).await
    }
}

impl<C> fmt::Debug for RedisBucket<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBucket")
            .field("key", &self.key)
            .field("quota", &format_args!("{}", self.quota))
            .finish_non_exhaustive()
    }
}
