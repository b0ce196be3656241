//! A trace in memory: it is gone through many times, at 16 bytes an arrival.

use std::path::Path;
use std::time::Duration;

use tollgate::Nanos;

use crate::failure::Failure;
use crate::trace::{Arrival, Progress, Trace, Wanted};

/// A request that asks something of a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) at: Nanos,
    pub(super) cost: u64,
}

/// All requests of a trace.
#[derive(Default)]
pub(super) struct Load {
    /// What the trace is called.
    pub(super) name: String,
    /// From the first arrival to the last.
    pub(super) span: Duration,
    /// Lines left out, and why the first of them was.
    pub(super) skipped: u64,
    pub(super) first_skipped: Option<String>,
    pub(super) requests: Vec<Request>,
    /// How long each took, where the trace says so: as many as requests, or none.
    pub(super) latencies: Vec<Nanos>,
    /// Arrivals that cost nothing; they are no requests.
    pub(super) zero_cost: u64,
    /// The sum of the costs.
    pub(super) cost: u128,
    /// The largest cost of one request.
    pub(super) largest: u64,
}

impl Load {
    /// Reads the trace to its end.
    pub(super) fn read(file: Option<&Path>, wanted: &Wanted) -> Result<Self, Failure> {
        let mut trace = Trace::of(file, wanted)?;
        let mut progress = Progress::new(file);
        let mut load = Self::default();
        while let Some(arrival) = trace.next()? {
            load.add(&arrival);
            progress.step(trace.bytes());
        }
        if load.requests.is_empty() {
            let (name, cost) = (trace.name(), &wanted.cost);
            return Err(Failure::Input(format!(
                "{name}: every request costs 0 with --cost {cost}; expected at least one that costs more"
            )));
        }
        Ok(Self {
            name: trace.name().to_owned(),
            span: trace.span(),
            skipped: trace.skipped(),
            first_skipped: trace.first_skipped().map(str::to_owned),
            ..load
        })
    }

    fn add(&mut self, arrival: &Arrival) {
        if arrival.cost == 0 {
            self.zero_cost += 1;
            return;
        }
        self.requests.push(Request { at: arrival.at, cost: arrival.cost });
        self.latencies.extend(arrival.latency);
        self.cost += u128::from(arrival.cost);
        self.largest = self.largest.max(arrival.cost);
    }

    /// How many requests there are.
    pub(super) fn len(&self) -> u64 {
        self.requests.len() as u64
    }

    pub(super) fn mean_cost(&self) -> f64 {
        self.cost as f64 / self.len() as f64
    }

    /// The mean cost in so long a part of the trace; of a shorter trace, all of its cost.
    pub(super) fn mean_cost_in(&self, width: Duration) -> f64 {
        self.cost as f64 * width.as_secs_f64() / self.span.max(width).as_secs_f64()
    }

    /// The cost offered in each of the windows of `width` that follow each other from the first arrival on.
    pub(super) fn windows(&self, width: Duration) -> Windows {
        let width = Nanos::from_duration(width).as_u64().max(1);
        let together = |a: &Request, b: &Request| a.at.as_u64() / width == b.at.as_u64() / width;
        let sum = |requests: &[Request]| requests.iter().map(|request| u128::from(request.cost)).sum();
        let mut sums: Vec<u128> = self.requests.chunk_by(together).map(sum).collect();
        sums.sort_unstable();
        let count = Nanos::from_duration(self.span).as_u64() / width + 1;
        Windows { count, sums }
    }
}

/// Windows and the cost in them.
pub(super) struct Windows {
    /// All of them; the last one may be cut short by the end of the trace.
    pub(super) count: u64,
    /// The sums of those that are not empty, from the least to the most.
    sums: Vec<u128>,
}

impl Windows {
    pub(super) fn most(&self) -> u128 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// The least cost that at least `percent` of the windows do not pass (nearest rank).
    pub(super) fn percentile(&self, percent: u64) -> u128 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let empty = u128::from(self.count).saturating_sub(self.sums.len() as u128);
        match rank.checked_sub(empty + 1) {
            Some(index) => usize::try_from(index).ok().and_then(|at| self.sums.get(at)).copied().unwrap_or(0),
            None => 0,
        }
    }
}
