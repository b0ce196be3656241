//! Permits for work in flight, over all machines, with leases that end.

mod name;
mod permit;
mod refused;

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use redis::aio::ConnectionLike;

use self::name::Name;
pub use self::permit::RedisPermit;
pub use self::refused::{LeaseLost, NoInFlight, NoRedisPermit, NotRenewed};
use super::error::StoreError;
use super::store::{AskPermit, DEADLINE, Store};

/// Permits that everybody has who asks the same server for the same key. Clones share them.
///
/// A permit is held for a lease and no longer, unless it is [renewed](RedisPermit::renew): what a machine
/// held that died comes back when its leases end. So take a lease that is longer than a pause of the process
/// or the network that should do no harm, and renew it every third of it, or let
/// [`RedisPermit::renew_during`] do so.
///
/// The limit is the caller's own, and judged at each acquisition: while callers disagree, as when a new
/// version with another limit is being rolled out, each keeps to its own against the sum of all.
///
/// ```no_run
/// # async fn run(connection: redis::aio::MultiplexedConnection) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tollgate::redis::RedisInFlight;
///
/// let renders = RedisInFlight::new(connection, "limits:{render}:in-flight", 40, Duration::from_secs(30))?;
/// let mut permit = renders.try_acquire().await?;
/// let picture = permit.renew_during(async { /* ... */ }).await?;
/// permit.release().await?;
/// # Ok(())
/// # }
/// ```
///
/// # What it promises
///
/// The weights of the permits whose leases have not ended, by the server's clock, are never above the limit.
/// Work that goes on after its lease has ended is not counted. A clock of the server that steps back makes
/// leases longer, one that steps forward ends them early by as much. After a failover what the new primary
/// has not heard of may be held twice.
///
/// # Cost
///
/// One round trip to the server. A refusal writes nothing there, unless leases have ended meanwhile.
#[derive(Clone)]
pub struct RedisInFlight<C> {
    store: Store<C>,
    key: String,
    limit: u32,
    lease: Duration,
}

/// What was held when the server looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedisHeld {
    /// The weights of all permits whose leases have not ended.
    pub in_use: u64,
    /// How many permits that are.
    pub permits: u64,
}

impl<C> RedisInFlight<C> {
    /// The largest limit, 2^31 - 1.
    pub const MAX_LIMIT: u32 = (1 << 31) - 1;

    /// The shortest lease, 10 ms.
    pub const MIN_LEASE: Duration = Duration::from_millis(10);

    /// The longest lease, 30 days.
    pub const MAX_LEASE: Duration = Duration::from_secs(30 * 86_400);

    /// At most `limit` in flight under this key, each permit for `lease`, with a deadline of 100 ms for each
    /// call.
    ///
    /// # Errors
    ///
    /// A limit of 0 or above [`MAX_LIMIT`](Self::MAX_LIMIT); a lease outside [`MIN_LEASE`](Self::MIN_LEASE)
    /// and [`MAX_LEASE`](Self::MAX_LEASE).
    pub fn new(
        connection: C,
        key: impl Into<String>,
        limit: u32,
        lease: Duration,
    ) -> Result<Self, NoInFlight> {
        if !(1..=Self::MAX_LIMIT).contains(&limit) {
            return Err(NoInFlight::Limit { limit });
        }
        if !(Self::MIN_LEASE..=Self::MAX_LEASE).contains(&lease) {
            return Err(NoInFlight::Lease { lease });
        }
        Ok(Self { store: Store { connection, deadline: DEADLINE }, key: key.into(), limit, lease })
    }

    /// The same permits, whose server is given so long to answer.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.store.deadline = deadline;
        self
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The limit.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The lease of a permit.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Rounded down: no holder believes in more than it has.
    fn lease_micros(&self) -> u64 {
        u64::try_from(self.lease.as_micros()).unwrap_or(u64::MAX)
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisInFlight<C> {
    /// A permit now, or a refusal.
    ///
    /// # Errors
    ///
    /// [`NoRedisPermit::Busy`] or [`NoRedisPermit::Store`].
    ///
    /// # Cancel safety
    ///
    /// As for an answer that did not come in time: the server may have given the permit, so it is given back
    /// by its name, by a task of its own if there is a runtime. Should that not reach the server either, the
    /// lease ends.
    pub async fn try_acquire(&self) -> Result<RedisPermit<C>, NoRedisPermit> {
        self.try_acquire_n(1).await
    }

    /// A permit of `weight` now, or a refusal.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); at once, without the server, for a weight of zero or above the
    /// limit.
    ///
    /// # Cancel safety
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn try_acquire_n(&self, weight: u32) -> Result<RedisPermit<C>, NoRedisPermit> {
        let limit = self.limit;
        if weight == 0 {
            return Err(NoRedisPermit::ZeroWeight);
        }
        if weight > limit {
            return Err(NoRedisPermit::OverLimit { weight, limit });
        }
        let asked = Instant::now();
        // It gives back by itself what may have been given, should this end without an answer.
        let permit = RedisPermit::new(self.clone(), Name::new(weight), asked);
        let numbers = [u64::from(limit), self.lease_micros()];
        match self.ask("acquire", permit.name(), &numbers).await? {
            (1, _) => Ok(permit),
            (_, in_use) => {
                permit.forget();
                Err(NoRedisPermit::Busy { in_use, limit })
            }
        }
    }

    /// Looks without taking anything.
    ///
    /// # Errors
    ///
    /// The server gave no answer.
    pub async fn peek(&self) -> Result<RedisHeld, StoreError> {
        let (in_use, permits) = self.ask("peek", "", &[]).await?;
        Ok(RedisHeld { in_use, permits })
    }

    async fn ask(&self, verb: &'static str, name: &str, numbers: &[u64]) -> Result<(u64, u64), StoreError> {
        self.store.ask_permit(AskPermit { verb, key: &self.key, name, numbers }).await
    }
}

impl<C> fmt::Debug for RedisInFlight<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisInFlight")
            .field("key", &self.key)
            .field("limit", &self.limit)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
