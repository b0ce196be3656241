//! A bucket in Redis, with an outage rule.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use redis::aio::ConnectionLike;

use super::asking;
use super::bucket::RedisBucket;
use super::circuit::Circuit;
use super::error::Refused;
use super::outage::{DecidedBy, Fallback, Outage, OutageState};
use crate::decision::Denied;
use crate::quota::QuotaError;

/// A [`RedisBucket`] that has an answer also when the store has none, by the owner's [`Outage`] rule.
///
/// A call asks the store, and where that fails, or does not answer within the bucket's deadline, the rule
/// decides. A [`Circuit`] keeps a store that is down from being asked by every call; while it is open, calls
/// go by the rule at once. Clones share the rule's state.
///
/// ```no_run
/// # async fn run(connection: redis::aio::MultiplexedConnection) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tollgate::quota;
/// use tollgate::redis::{DecidedBy, Guarded, Outage, RedisBucket};
///
/// let bucket = RedisBucket::new(connection, "limits:{api}:requests", quota!("100/s burst 200"))?;
/// let bucket = bucket.with_deadline(Duration::from_millis(50));
/// let requests = Guarded::new(bucket, Outage::Share { instances: 4 })?;
/// match requests.try_acquire().await {
///     Ok(DecidedBy::Store) => println!("go on"),
///     Ok(DecidedBy::Fallback) => println!("go on; {:?}", requests.state()),
///     Err(refusal) => println!("{refusal}"),
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Cost
///
/// That of the bucket's call, and two times a lock that is held for some nanoseconds. After an outage with a
/// share one call makes a second round trip, to tell what the share has admitted.
///
/// # Cancel safety
///
/// As of [`RedisBucket`]. A call that is dropped counts neither as a failure nor as an answer.
#[derive(Clone)]
pub struct Guarded<C> {
    bucket: RedisBucket<C>,
    fallback: Arc<Fallback>,
}

/// A refusal, and who refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    decided_by: DecidedBy,
    reason: Refused,
}

impl<C> Guarded<C> {
    /// The bucket with this rule and the default [`Circuit`].
    ///
    /// # Errors
    ///
    /// A share of nothing: no instances, or more than tokens of capacity.
    pub fn new(bucket: RedisBucket<C>, outage: Outage) -> Result<Self, QuotaError> {
        Self::with_circuit(bucket, outage, Circuit::default())
    }

    /// The bucket with this rule and this circuit.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_circuit(
        bucket: RedisBucket<C>,
        outage: Outage,
        circuit: Circuit,
    ) -> Result<Self, QuotaError> {
        let fallback = Arc::new(Fallback::new(outage, bucket.quota(), circuit)?);
        Ok(Self { bucket, fallback })
    }

    /// How it stands with the store, and what was decided without it.
    pub fn state(&self) -> OutageState {
        self.fallback.state()
    }

    /// The bucket, for calls that have no other answer than the store's.
    pub fn bucket(&self) -> &RedisBucket<C> {
        &self.bucket
    }
}

impl<C: ConnectionLike + Clone> Guarded<C> {
    /// Admits one token now, or refuses.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub async fn try_acquire(&self) -> Result<DecidedBy, Refusal> {
        self.try_acquire_n(1).await
    }

    /// Admits `cost` tokens now, or refuses and takes none, and tells who did: the store, or the outage rule.
    /// The answer comes within the bucket's deadline.
    ///
    /// # Errors
    ///
    /// A refusal of the store's or of the share's, which may be "never" for a cost above the share's
    /// capacity; with [`Outage::Deny`] what is the matter with the store.
    pub async fn try_acquire_n(&self, cost: u64) -> Result<DecidedBy, Refusal> {
        self.bucket.check(cost)?;
        let error = match asking::try_acquire_n(&self.bucket, &self.fallback, cost).await {
            Err(Refused::Store(error)) => error,
            answer => return answer.map(|()| DecidedBy::Store).map_err(Refusal::of_the_store),
        };
        match self.fallback.decide(cost) {
            Some(Ok(())) => Ok(DecidedBy::Fallback),
            Some(Err(denied)) => Err(Refusal::of_the_fallback(denied.into())),
            None => Err(Refusal::of_the_fallback(error.into())),
        }
    }
}

impl Refusal {
    /// Who refused.
    pub fn decided_by(&self) -> DecidedBy {
        self.decided_by
    }

    /// Why.
    pub fn reason(&self) -> &Refused {
        &self.reason
    }

    /// The wait after which the same cost is admitted, if it is known and nobody else takes it.
    pub fn wait(&self) -> Option<Duration> {
        self.reason.wait()
    }

    fn of_the_store(reason: Refused) -> Self {
        Self { decided_by: DecidedBy::Store, reason }
    }

    fn of_the_fallback(reason: Refused) -> Self {
        Self { decided_by: DecidedBy::Fallback, reason }
    }
}

/// A cost that the quota never admits is refused as the store would.
impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        Self::of_the_store(denied.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decided_by {
            DecidedBy::Store => self.reason.fmt(f),
            DecidedBy::Fallback => write!(f, "{}, by the outage rule", self.reason),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}

impl<C> fmt::Debug for Guarded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("bucket", &self.bucket).field("state", &self.state()).finish()
    }
}
