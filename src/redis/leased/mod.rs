//! Leases of a bucket in Redis, spent at in-process speed.

mod builder;
mod demand;
mod line;
mod plan;
mod pot;
mod shard;
mod supply;

use core::fmt;
use std::sync::Arc;

use redis::aio::ConnectionLike;

pub use self::builder::{LeasedBuilder, LeasedError};
pub use self::plan::{LeasePlan, LeasePlanError};
use self::pot::{Pot, Still, Tap};
pub use self::shard::LeaseShard;
pub use self::supply::Supply;
use super::asking;
use super::bucket::RedisBucket;
use super::error::{Refused, StoreError};
use super::outage::{DecidedBy, OutageState};
use crate::decision::Denied;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sharded::Sharded;

/// One limit for many machines, of which each process holds a lease: tokens that were drawn from Redis in the
/// background and are spent as those of a [`Sharded`] allowance are, without a round trip.
///
/// ```no_run
/// # async fn run(connection: redis::aio::MultiplexedConnection) -> Result<(), Box<dyn std::error::Error>> {
/// use tollgate::quota;
/// use tollgate::redis::{LeasePlan, Leased, Outage};
///
/// let plan = LeasePlan::new(&quota!("10k/s burst 20k"), 4)?;
/// let (limit, supply) = Leased::builder(connection, "limits:{api}:requests", plan)
///     .outage(Outage::Share { instances: 4 })
///     .build()?;
/// let supply = tokio::spawn(supply.run());
///
/// limit.try_acquire().ok();
/// limit.acquire().await?;
///
/// let returned = limit.close().await?;
/// println!("{returned} tokens went back");
/// # Ok(())
/// # }
/// ```
///
/// # The bound
///
/// That of one bucket. The key in Redis has a capacity of `B - n*L`, and at most `n` instances hold at most
/// `L` tokens each, so there are never more than `B`. A token is taken out of Redis before it is in a lease
/// and out of the lease before it goes back, so moves make none. All together admit at most `B + r*t` in
/// every interval of length `t`, however late a lease is spent. Where the number of instances is not stated
/// it is `B + k*L + r*t`, with `k` of them alive. A draw whose answer was lost counts as lost: an instance
/// never has what it was not told of. An instance that dies loses its lease, at most `L` tokens.
///
/// What it costs: a fresh limit admits `B - n*L` at once, since leases begin empty; tokens in the lease of
/// one instance are not there for another; and the largest cost that is ever admitted is `B - n*L`, above
/// [`max_cost`](Self::max_cost) for certain only by [`acquire_n`](Self::acquire_n), which asks Redis for it.
/// Refill is lost while the key is full, so `B - n*L` should be worth the time that a draw takes, some
/// milliseconds, a few times.
///
/// What the [module](super) says of keys that are evicted, and of failovers, holds for leases too.
///
/// # The size of a lease
///
/// It follows what is spent: it doubles when it runs low within a tenth of a second, up to `L` (less what is
/// for the threads' shards), halves after a tenth of a second in which less than half of it was spent, and
/// what is above it goes back. A draw takes no more than one part in `2*n` of what Redis has, if not more is
/// waited for; so near the end leases are single tokens. An instance that spends nothing holds one token, and
/// none while Redis has fewer than `2*n`, or than half of its capacity if that is less: the last ones are for
/// whoever asks, within two seconds or so. What is in the shards of threads, up to an eighth of `L`, stays
/// there until they call again or the limit is closed; [a shard of one's own](Self::shard) gives it back when
/// it is dropped or parked.
///
/// # Pauses
///
/// An instance learns of a pause of the key with its next draw, and then obeys it for all that it has drawn.
/// Until then it may spend its lease.
///
/// # Outage
///
/// While the last draw has failed, calls spend the lease that is there, and where it does not do the
/// [`Outage`](super::Outage) rule decides. `Share` never admits more than its bucket, whatever the lease
/// holds. A [`Circuit`](super::Circuit) spaces the attempts.
///
/// # Cost
///
/// That of [`Sharded`]; a refusal reads the clock besides. Redis is asked as often as leases are drawn; when
/// it is empty, by each instance no more often than 32 times in the time in which it would fill up, or 200
/// times a second, whichever is more often.
pub struct Leased<C> {
    sharded: Sharded<Still, Tap>,
    pot: Arc<Pot>,
    bucket: RedisBucket<C>,
    plan: LeasePlan,
}

impl<C> Leased<C> {
    /// A lease by `plan` of the bucket under this key. The bucket is another one than that of a
    /// [`RedisBucket`] with the whole quota: a key is for one or the other.
    pub fn builder(connection: C, key: impl Into<String>, plan: LeasePlan) -> LeasedBuilder<C> {
        LeasedBuilder::new(connection, key.into(), plan)
    }

    /// Admits one token now out of the lease, or refuses.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline]
    pub fn try_acquire(&self) -> Result<DecidedBy, Denied> {
        self.try_acquire_n(1)
    }

    /// Admits `cost` tokens now out of the lease, or refuses and takes none; it does not ask Redis.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] if the lease does not hold so many, although Redis may. Its wait is the earliest
    /// time at which more can be here: when Redis has issued a token by what it said last, or is asked again,
    /// and as long as its last answer took. It is no promise, for others ask, too; and what others give back
    /// may come sooner. [`Denied::OverCapacity`] for a cost that is not there and that no lease is filled up
    /// to, above [`max_cost`](Self::max_cost), or [`Denied::ZeroCost`].
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<DecidedBy, Denied> {
        match self.sharded.try_acquire_n(cost) {
            Ok(()) => Ok(DecidedBy::Store),
            Err(denied) => self.without_a_lease(cost, denied),
        }
    }

    /// A shard of its own for a thread or a group of tasks: the fastest way.
    pub fn shard(&self) -> LeaseShard<C>
    where
        C: Clone,
    {
        LeaseShard::new(self.sharded.shard(), self.clone())
    }

    /// Tokens of the lease that are in no shard.
    pub fn held(&self) -> u64 {
        self.pot.held()
    }

    /// The largest cost for which a lease is filled, in tokens: `L`, less what is for the shards. What they
    /// give back comes on top, so a larger cost, up to `L`, may be admitted as long as it is there; nothing
    /// is drawn for it.
    pub fn max_cost(&self) -> u64 {
        self.pot.room()
    }

    /// How the capacity is divided.
    pub fn plan(&self) -> LeasePlan {
        self.plan
    }

    /// The quota of the whole.
    pub fn quota(&self) -> Quota {
        self.plan.quota()
    }

    /// How it stands with the store, and what was decided without it.
    pub fn state(&self) -> OutageState {
        self.pot.fallback.state()
    }

    /// Ends the lease. Every call that begins after it is refused, here and in all clones; what the lease
    /// still holds goes back to Redis, exactly: with the last handle also what is in the shards, otherwise
    /// that is lost. Tells how many tokens that were.
    ///
    /// Dropping all handles does the same, without telling.
    ///
    /// # Errors
    ///
    /// Redis gave no answer, or the [`Supply`] does not run any more: the lease is lost. One that never ran
    /// had drawn nothing.
    ///
    /// # Cancel safety
    ///
    /// The lease ends all the same.
    pub async fn close(self) -> Result<u64, StoreError> {
        let Self { sharded, pot, .. } = self;
        // Before it is paused, or the end of a pause of the key could be the end of this one.
        pot.line().close();
        sharded.pause_until(Nanos::MAX);
        // Before it is told, for with the last handle it gives back what is in the shards.
        drop(sharded);
        pot.close();
        let outcome = pot.line().outcome();
        outcome.await.unwrap_or(Err(StoreError::Closed))
    }

    #[cold]
    #[inline(never)]
    fn without_a_lease(&self, cost: u64, denied: Denied) -> Result<DecidedBy, Denied> {
        if cost > self.pot.room() {
            return Err(Denied::OverCapacity { cost, capacity: self.pot.room() });
        }
        if !matches!(denied, Denied::NotYet(_)) {
            return Err(denied);
        }
        if self.pot.fallback.is_failing()
            && !self.pot.is_closed()
            && let Some(decision) = self.pot.fallback.decide(cost)
        {
            return decision.map(|()| DecidedBy::Fallback);
        }
        Err(self.bucket.refused_for(self.pot.wait().as_u64()))
    }
}

impl<C: ConnectionLike + Clone> Leased<C> {
    /// Waits until one token is admitted.
    ///
    /// # Errors
    ///
    /// As [`acquire_n`](Self::acquire_n).
    pub async fn acquire(&self) -> Result<DecidedBy, Refused> {
        self.acquire_n(1).await
    }

    /// Waits until `cost` tokens are admitted: out of the lease, or of what is drawn for it. For at most so
    /// long, put it into a timeout.
    ///
    /// A cost above [`max_cost`](Self::max_cost) is asked of Redis itself, again whenever its wait is over.
    ///
    /// # Errors
    ///
    /// A cost that is never admitted. While Redis does not answer, the refusal of the outage rule, at once.
    /// The limit was closed.
    ///
    /// # Fairness
    ///
    /// Those who wait in one process are served in the order in which they came, before anything that is
    /// drawn goes into the lease. Calls that find enough in the lease do not wait. Between instances there is
    /// no order.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped leaves the line, and what was drawn for it goes into the lease. One above
    /// [`max_cost`](Self::max_cost) may have taken its cost.
    pub async fn acquire_n(&self, cost: u64) -> Result<DecidedBy, Refused> {
        if cost > self.pot.room() {
            return self.acquire_of_the_store(cost).await;
        }
        match self.sharded.try_acquire_n(cost) {
            Ok(()) => return Ok(DecidedBy::Store),
            Err(Denied::NotYet(_)) => {}
            Err(denied) => return Err(denied.into()),
        }
        let answer = self.pot.enter(cost)?;
        let grant = answer.await.map_err(|_| StoreError::Closed)??;
        Ok(grant.take())
    }

    async fn acquire_of_the_store(&self, cost: u64) -> Result<DecidedBy, Refused> {
        self.bucket.check(cost)?;
        while !self.pot.is_closed() {
            match asking::try_acquire_n(&self.bucket, &self.pot.fallback, cost).await {
                Ok(()) => return Ok(DecidedBy::Store),
                Err(Refused::Denied(denied)) => {
                    self.pot.closed_within(denied.wait().unwrap_or_default()).await;
                }
                Err(Refused::Store(error)) => {
                    return match self.pot.fallback.decide(cost) {
                        Some(decision) => Ok(decision.map(|()| DecidedBy::Fallback)?),
                        None => Err(error.into()),
                    };
                }
            }
        }
        Err(StoreError::Closed.into())
    }
}

impl<C: Clone> Clone for Leased<C> {
    fn clone(&self) -> Self {
        Self {
            sharded: self.sharded.clone(),
            pot: Arc::clone(&self.pot),
            bucket: self.bucket.clone(),
            plan: self.plan,
        }
    }
}

impl<C> Limiter for Leased<C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost).map(drop)
    }
}

impl<C> fmt::Debug for Leased<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased")
            .field("bucket", &self.bucket)
            .field("plan", &self.plan)
            .field("held", &self.held())
            .field("state", &self.state())
            .finish()
    }
}
