//! Spans of time with an outcome.

use std::sync::Arc;

use ::metrics::Histogram;

use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::sync::{AtomicU64, Ordering};

/// Where spans of time are recorded, one histogram for each of `N` outcomes.
pub(super) struct Timing<C, const N: usize> {
    seconds: [Histogram; N],
    /// Spans that are open. `Relaxed`: each thread's own changes are in order, and nothing is decided by it.
    open: AtomicU64,
    clock: C,
}

/// A span that is open. Dropped, it ends with the outcome that it has then, however it came to be dropped.
pub(super) struct Span<C: Clock, const N: usize> {
    timing: Arc<Timing<C, N>>,
    since: Nanos,
    pub(super) outcome: usize,
}

impl<C: Clock, const N: usize> Timing<C, N> {
    pub(super) fn new(seconds: [Histogram; N], clock: C) -> Self {
        Self { seconds, open: AtomicU64::new(0), clock }
    }

    pub(super) fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn start(self: &Arc<Self>, outcome: usize) -> Span<C, N> {
        self.open.fetch_add(1, Ordering::Relaxed);
        Span { since: self.clock.now(), timing: Arc::clone(self), outcome }
    }
}

impl<C: Clock, const N: usize> Drop for Span<C, N> {
    fn drop(&mut self) {
        let Timing { seconds, open, clock } = &*self.timing;
        open.fetch_sub(1, Ordering::Relaxed);
        if let Some(histogram) = seconds.get(self.outcome) {
            histogram.record(clock.now().saturating_sub(self.since).as_duration().as_secs_f64());
        }
    }
}
