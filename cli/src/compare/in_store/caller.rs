//! The limiters that are compared, and one call of each.

use std::rc::Rc;

use redis::aio::MultiplexedConnection;
use tokio::runtime::Handle;
use tollgate::redis::{LeasePlan, LeaseShard, Leased, RedisBucket, Refused, StoreError};
use tollgate::{Bucket, Clock, Quota};

use crate::failure::Failure;
use crate::store::PATIENCE;

/// A limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bucket in this process: what the others are measured by.
    InProcess,
    /// A call of the script for each decision.
    Direct,
    /// Leases that are drawn in the background.
    Leased,
}

/// How a store is reached.
pub(super) struct Ways {
    /// By the thread that asks.
    pub(super) direct: MultiplexedConnection,
    /// By a thread that draws leases, which the one that asks never waits for.
    pub(super) leased: MultiplexedConnection,
    pub(super) background: Handle,
}

/// A limiter that can be asked. Clones share one bucket.
#[derive(Clone)]
pub(super) enum Caller {
    InProcess(Rc<Bucket>),
    Direct(Rc<RedisBucket<MultiplexedConnection>>),
    Leased(Rc<LeaseShard<MultiplexedConnection>>),
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::InProcess, Self::Direct, Self::Leased];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InProcess => "tollgate/bucket",
            Self::Direct => "redis/direct",
            Self::Leased => "redis/leased",
        }
    }

    /// A fresh bucket under a key that nobody else has.
    pub(super) fn caller(self, ways: &Ways, key: &str, quota: Quota) -> Result<Caller, Failure> {
        let unusable = |error: &dyn std::fmt::Display| Failure::Input(format!("--redis: {error}"));
        Ok(match self {
            Self::InProcess => Caller::InProcess(Bucket::new(quota).into()),
            Self::Direct => {
                let bucket = RedisBucket::new(ways.direct.clone(), key, quota);
                let bucket = bucket.map_err(|error| unusable(&error))?;
                Caller::Direct(bucket.with_deadline(PATIENCE).into())
            }
            Self::Leased => {
                let plan = LeasePlan::new(&quota, 1).map_err(|error| unusable(&error))?;
                let builder = Leased::builder(ways.leased.clone(), key, plan);
                let built = builder.deadline(PATIENCE).build();
                let (leased, supply) = built.map_err(|error| unusable(&error))?;
                ways.background.spawn(supply.run());
                Caller::Leased(leased.shard().into())
            }
        })
    }
}

impl Caller {
    /// Calls that are timed together: to time one alone would take longer than the call, in the process.
    pub(super) fn lap(&self) -> u64 {
        match self {
            Self::InProcess(_) | Self::Leased(_) => 1_024,
            Self::Direct(_) => 1,
        }
    }

    /// By a clock in this process, if it has one; in nanoseconds.
    pub(super) fn now(&self) -> Option<u64> {
        match self {
            Self::InProcess(bucket) => Some(bucket.clock().now().as_u64()),
            Self::Direct(_) | Self::Leased(_) => None,
        }
    }

    /// One token, or none.
    pub(super) async fn decide(&self) -> Result<bool, StoreError> {
        match self {
            Self::InProcess(bucket) => Ok(bucket.try_acquire().is_ok()),
            Self::Leased(lease) => Ok(lease.try_acquire().is_ok()),
            Self::Direct(bucket) => match bucket.try_acquire().await {
                Ok(()) => Ok(true),
                Err(Refused::Store(error)) => Err(error),
                Err(_) => Ok(false),
            },
        }
    }
}

/// The names that `--limiter` takes.
pub(in crate::compare) fn names() -> [&'static str; Kind::ALL.len()] {
    Kind::ALL.map(Kind::name)
}
