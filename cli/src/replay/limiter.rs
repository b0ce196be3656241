//! What decides in a replay: one bucket or windows for all arrivals, a bucket for each key, or a bucket in a store.

use tollgate::{Bucket, Manual, Quota};

use super::bound::BoundAudit;
use super::by_key::ByKey;
use super::decision::Decision;
use super::windows::ByWindows;
use crate::failure::Failure;
use crate::trace::Arrival;

/// A limiter on the trace's own time, and the audit of what it admitted.
pub(super) enum Limiter {
    Alone(Box<Alone>),
    ByKey(Box<ByKey>),
    ByWindows(Box<ByWindows>),
    #[cfg_attr(not(feature = "redis"), expect(dead_code, reason = "there is no store"))]
    InStore(Box<dyn Remote>),
}

/// A bucket in a store.
pub(super) trait Remote {
    fn decide(&mut self, arrival: &Arrival) -> Result<Decision, Failure>;

    /// Tokens left, where that is known.
    fn left(&self) -> Option<u64>;

    fn violations(&self) -> u64;

    /// After the last arrival.
    fn finish(&mut self) -> Result<(), Failure>;
}

impl Limiter {
    /// Fails only where a store does.
    pub(super) fn decide(&mut self, arrival: &Arrival) -> Result<Decision, Failure> {
        Ok(match self {
            Self::Alone(alone) => alone.decide(arrival),
            Self::ByKey(by_key) => by_key.decide(arrival).into(),
            Self::ByWindows(windows) => windows.decide(arrival).into(),
            Self::InStore(remote) => remote.decide(arrival)?,
        })
    }

    /// Tokens left for whoever sent the arrival, at the time of the arrival, where that is known.
    pub(super) fn left(&self, arrival: &Arrival) -> Option<u64> {
        match self {
            Self::Alone(alone) => Some(alone.bucket.peek_at(arrival.at).available()),
            Self::ByKey(by_key) => Some(by_key.left(arrival)),
            Self::ByWindows(windows) => Some(windows.left(arrival)),
            Self::InStore(remote) => remote.left(),
        }
    }

    /// After the last arrival.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        match self {
            Self::InStore(remote) => remote.finish(),
            _ => Ok(()),
        }
    }

    pub(super) fn violations(&self) -> u64 {
        match self {
            Self::Alone(alone) => alone.audit.violations(),
            Self::ByKey(by_key) => by_key.violations(),
            Self::ByWindows(windows) => windows.violations(),
            Self::InStore(remote) => remote.violations(),
        }
    }
}

/// One bucket.
pub(super) struct Alone {
    bucket: Bucket<Manual>,
    audit: BoundAudit,
}

impl Alone {
    pub(super) fn new(quota: Quota) -> Self {
        Self { bucket: Bucket::with_clock(quota, Manual::new()), audit: BoundAudit::new(&quota) }
    }

    pub(super) fn bucket(&self) -> &Bucket<Manual> {
        &self.bucket
    }

    fn decide(&mut self, arrival: &Arrival) -> Decision {
        let decision = self.bucket.try_acquire_n_at(arrival.cost, arrival.at);
        if decision.is_ok() {
            self.audit.admitted(arrival.at, arrival.cost);
        }
        decision.into()
    }
}
