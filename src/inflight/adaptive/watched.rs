//! Permits that tell how it went.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Algorithm, Sample, Shared};
use crate::clock::Clock;
use crate::inflight::Permit;
use crate::nanos::Nanos;

/// How work in flight ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was done. Its latency counts.
    Success,
    /// The far end had too much: overload, rejection, a time-out. The limit goes down.
    Dropped,
    /// It says nothing of the load: a wrong request, a cancelled call.
    Ignored,
}

/// A permit of an [`Adaptive`](super::Adaptive) limit. [`finish`](Self::finish) it to tell how the work ended.
///
/// Dropped without that it is [ignored](Outcome::Ignored): a panic or a cancelled future gives the permit back and tells
/// nothing of the far end. It owns its part of the limit, so it can go into a task or a body.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct Watched<A, C> {
    shared: Arc<Shared<A, C>>,
    weight: u32,
    in_flight: u32,
    since: Nanos,
}

impl<A, C> Watched<A, C> {
    /// The permits it stands for.
    pub fn weight(&self) -> u32 {
        self.weight
    }
}

impl<A: Algorithm, C: Clock> Watched<A, C> {
    pub(super) fn taken(shared: Arc<Shared<A, C>>, permit: Permit<'_>) -> Self {
        let (in_flight, since) = (shared.in_flight.in_use(), shared.clock.now());
        Self { weight: permit.into_weight(), shared, in_flight, since }
    }

    /// Gives the permits back and moves the limit by what happened.
    pub fn finish(self, outcome: Outcome) {
        let latency = self.age();
        self.finish_after(latency, outcome);
    }

    /// [`finish`](Self::finish) with a latency of the caller's own measure: without what the work waited for locally.
    pub fn finish_after(self, latency: Duration, outcome: Outcome) {
        if outcome != Outcome::Ignored {
            let is_dropped = outcome == Outcome::Dropped;
            self.shared.learn(&Sample { latency, in_flight: self.in_flight, is_dropped });
        }
    }

    /// How long it has been held.
    pub fn age(&self) -> Duration {
        self.shared.clock.now().saturating_sub(self.since).as_duration()
    }
}

impl<A, C> Drop for Watched<A, C> {
    fn drop(&mut self) {
        self.shared.in_flight.release(self.weight);
    }
}

impl<A, C> fmt::Debug for Watched<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("weight", &self.weight)
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}
