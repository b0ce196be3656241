//! A thread's own part of a lease.

use std::fmt;

use super::Leased;
use super::pot::{Still, Tap};
use crate::decision::Denied;
use crate::limiter::Limiter;
use crate::redis::outage::DecidedBy;
use crate::sharded::Shard;

/// One thread's or one task group's part of a [`Leased`]: a [`Shard`] of the lease. Dropping or
/// [parking](Self::park) it returns its credit to the lease.
pub struct LeaseShard<C> {
    /// First, so that its credit is back before the last handle goes.
    shard: Shard<Still, Tap>,
    limit: Leased<C>,
}

impl<C> LeaseShard<C> {
    pub(super) fn new(shard: Shard<Still, Tap>, limit: Leased<C>) -> Self {
        Self { shard, limit }
    }

    /// Admits one token now out of the lease, or refuses.
    ///
    /// # Errors
    ///
    /// As [`Leased::try_acquire_n`].
    #[inline]
    pub fn try_acquire(&self) -> Result<DecidedBy, Denied> {
        self.try_acquire_n(1)
    }

    /// Admits `cost` tokens now out of the lease, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// As [`Leased::try_acquire_n`].
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<DecidedBy, Denied> {
        match self.shard.try_acquire_n(cost) {
            Ok(()) => Ok(DecidedBy::Store),
            Err(denied) => self.limit.without_a_lease(cost, denied),
        }
    }

    /// Returns the credit to the lease. For a thread that will be idle.
    pub fn park(&self) {
        self.shard.park();
    }
}

impl<C> Limiter for LeaseShard<C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost).map(drop)
    }
}

impl<C> fmt::Debug for LeaseShard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseShard").field("shard", &self.shard).field("limit", &self.limit).finish()
    }
}
