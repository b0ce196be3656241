//! What is looked at when figures are told.

use std::time::Duration;

use ::metrics::Gauge;

use super::meters::Source;
use super::names::Metric;

/// Permits in use, as they are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flights {
    /// In use, by their weights.
    pub in_use: u32,
    /// The limit.
    pub limit: u32,
    /// How many stand in line.
    pub waiting: usize,
}

/// A queue, as it is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Places {
    /// How many have a place.
    pub taken: usize,
    /// How many places there are.
    pub all: usize,
    /// How long the one has waited that has waited longest; `None` if nobody waits.
    pub age: Option<Duration>,
}

/// What is held by a lease: permits that end by themselves, tokens drawn from elsewhere. The default is a
/// lease that is over.
///
/// Of a `RedisPermit`, its `weight` and what is `remaining`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lease {
    /// Permits or tokens.
    pub held: u64,
    /// Time until it ends.
    pub remaining: Duration,
}

/// Gauges, and where their values come from.
pub(super) struct Looked<F, const N: usize> {
    gauges: [Gauge; N],
    look: F,
}

#[cfg(feature = "inflight")]
impl From<&crate::inflight::InFlight> for Flights {
    fn from(limit: &crate::inflight::InFlight) -> Self {
        Self { in_use: limit.in_use(), limit: limit.limit(), waiting: limit.waiting() }
    }
}

#[cfg(feature = "inflight")]
impl<A, C> From<&crate::inflight::Adaptive<A, C>> for Flights
where
    A: crate::inflight::Algorithm,
    C: crate::clock::Clock,
{
    fn from(limit: &crate::inflight::Adaptive<A, C>) -> Self {
        Self { in_use: limit.in_use(), limit: limit.limit(), waiting: limit.waiting() }
    }
}

#[cfg(feature = "wait")]
impl<C, T> From<&crate::wait::Queue<C, T>> for Places
where
    C: crate::clock::Clock + Send + Sync + 'static,
    T: crate::wait::Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    fn from(queue: &crate::wait::Queue<C, T>) -> Self {
        Self { taken: queue.len(), all: queue.depth(), age: queue.age() }
    }
}

impl<F: Fn() -> [f64; N], const N: usize> Looked<F, N> {
    pub(super) fn new(metrics: [&Metric; N], limit: &'static str, look: F) -> Self {
        Self { gauges: metrics.map(|metric| metric.gauge(&[("limit", limit)])), look }
    }
}

impl<F: Fn() -> [f64; N] + Send + Sync, const N: usize> Source for Looked<F, N> {
    fn publish(&self) {
        for (gauge, value) in self.gauges.iter().zip((self.look)()) {
            gauge.set(value);
        }
    }
}
