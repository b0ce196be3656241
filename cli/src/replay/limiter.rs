//! What decides in a replay: one bucket or windows for all arrivals, a bucket for each key, or a bucket in a store.

use tollgate::{Bucket, Manual, Quota};

use super::bound::BoundAudit;
use super::by_key::ByKey;
use super::decision::Decision;
use super::live::Live;
use super::told::Told;
use super::windows::ByWindows;
use crate::failure::Failure;
use crate::trace::Arrival;

/// A limiter on the trace's own time, and the audit of what it admitted.
pub(super) enum Limiter {
    Alone(Box<Alone>),
    ByKey(Box<ByKey>),
    ByWindows(Box<ByWindows>),
    Told(Box<Told>),
    Live(Box<Live>),
}

impl Limiter {
    /// Fails only where a store does.
    pub(super) fn decide(&mut self, arrival: &Arrival) -> Result<Decision, Failure> {
        Ok(match self {
            Self::Alone(alone) => alone.decide(arrival),
            Self::ByKey(by_key) => by_key.decide(arrival).into(),
            Self::ByWindows(windows) => windows.decide(arrival).into(),
            Self::Told(told) => told.decide(arrival)?,
            Self::Live(live) => live.decide(arrival)?,
        })
    }

    /// Tokens left for whoever sent the arrival, at the time of the arrival, where that is known.
    pub(super) fn left(&self, arrival: &Arrival) -> Option<u64> {
        match self {
            Self::Alone(alone) => Some(alone.bucket.peek_at(arrival.at).available()),
            Self::ByKey(by_key) => Some(by_key.left(arrival)),
            Self::ByWindows(windows) => Some(windows.left(arrival)),
            Self::Told(told) => Some(told.left()),
            // By the time of an answer it would be another.
            Self::Live(_) => None,
        }
    }

    /// After the last arrival.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        match self {
            Self::Live(live) => live.finish(),
            _ => Ok(()),
        }
    }

    pub(super) fn violations(&self) -> u64 {
        match self {
            Self::Alone(alone) => alone.audit.violations(),
            Self::ByKey(by_key) => by_key.violations(),
            Self::ByWindows(windows) => windows.violations(),
            Self::Told(told) => told.violations(),
            Self::Live(live) => live.violations(),
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
