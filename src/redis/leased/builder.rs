//! What a lease is made from.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use super::Leased;
use super::plan::LeasePlan;
use super::pot::{Pot, Tap};
use super::supply::Supply;
use crate::quota::QuotaError;
use crate::redis::bucket::RedisBucket;
use crate::redis::circuit::Circuit;
use crate::redis::error::NotRepresentable;
use crate::redis::outage::{Fallback, Outage};
use crate::redis::store::DEADLINE;
use crate::sharded::Sharded;

/// A [`Leased`] in the making.
#[must_use = "it is made by `build`"]
pub struct LeasedBuilder<C> {
    connection: C,
    key: String,
    plan: LeasePlan,
    outage: Outage,
    circuit: Circuit,
    deadline: Duration,
}

/// Why there can be no such lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LeasedError {
    /// What the plan leaves to the store cannot be kept there.
    NotRepresentable(NotRepresentable),
    /// The share for outages would be nothing.
    Share(QuotaError),
    /// There would be fewer shares for outages than instances, and so more than the whole.
    FewerShares {
        /// Shares for outages.
        shares: u32,
        /// The most instances there are, by the plan.
        instances: u32,
    },
}

impl<C> LeasedBuilder<C> {
    pub(super) fn new(connection: C, key: String, plan: LeasePlan) -> Self {
        Self { connection, key, plan, outage: Outage::Deny, circuit: Circuit::default(), deadline: DEADLINE }
    }

    /// What decides while Redis does not answer and the lease does not do; [`Outage::Deny`] otherwise.
    pub fn outage(self, outage: Outage) -> Self {
        Self { outage, ..self }
    }

    /// When Redis is asked again after it has failed.
    pub fn circuit(self, circuit: Circuit) -> Self {
        Self { circuit, ..self }
    }

    /// How long Redis is given to answer; 100 ms otherwise.
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The limit, and what draws for it, which is to [run](Supply::run) as a task. Nothing is drawn before
    /// that.
    ///
    /// # Errors
    ///
    /// What the plan leaves to Redis cannot be kept there, or the share for outages would be nothing, or
    /// there would be fewer shares than instances.
    pub fn build(self) -> Result<(Leased<C>, Supply<C>), LeasedError>
    where
        C: Clone,
    {
        let Self { connection, key, plan, outage, circuit, deadline } = self;
        if let (Outage::Share { instances: shares }, Some(instances)) = (outage, plan.instances())
            && shares < instances
        {
            return Err(LeasedError::FewerShares { shares, instances });
        }
        let bucket = RedisBucket::new(connection, key, plan.root_quota())?.with_deadline(deadline);
        let fallback = Fallback::new(outage, plan.quota(), circuit)?;
        let inside = plan.in_the_process();
        let pot = Arc::new(Pot::new(&inside, fallback));
        let sharded = Sharded::with_root(inside, Tap(Arc::clone(&pot)));
        let supply = Supply::new(bucket.clone(), &plan, Arc::clone(&pot), sharded.pauser());
        Ok((Leased { sharded, pot, bucket, plan }, supply))
    }
}

impl From<NotRepresentable> for LeasedError {
    fn from(error: NotRepresentable) -> Self {
        Self::NotRepresentable(error)
    }
}

impl From<QuotaError> for LeasedError {
    fn from(error: QuotaError) -> Self {
        Self::Share(error)
    }
}

impl fmt::Display for LeasedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRepresentable(error) => error.fmt(f),
            Self::Share(error) => error.fmt(f),
            Self::FewerShares { shares, instances } => {
                write!(f, "{shares} shares for {instances} instances: must be as many at least")
            }
        }
    }
}

impl std::error::Error for LeasedError {}

impl<C> fmt::Debug for LeasedBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeasedBuilder")
            .field("key", &self.key)
            .field("plan", &self.plan)
            .field("outage", &self.outage)
            .field("circuit", &self.circuit)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
