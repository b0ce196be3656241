//! How much of a load runs at once, when each request runs from its arrival for as long as it takes.
//!
//! The mean is Little's law, `L = lambda * W` (Little, "A proof for the queuing formula L = lambda W", Operations
//! Research 9(3), 1961). A limit at the mean would refuse about half of the time, so the limit that is recommended is the
//! most at any time. Work that ends at the moment at which other work starts does not count against it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tollgate::Quota;
use tollgate::inflight::{InFlight, Permit};

use super::load::Load;
use super::trial;

/// How long requests take.
#[derive(Clone, Copy)]
pub(super) enum Took {
    /// All the same.
    Same(Duration),
    /// What the trace says of each.
    Recorded,
}

/// What a limit admits, while it runs.
pub(super) struct Running {
    /// Admitted requests a second, over the span of the trace; `None` where that is zero.
    pub(super) per_second: Option<f64>,
    pub(super) mean_latency: Duration,
    /// The most at any time: the least limit that refuses nothing.
    pub(super) peak: u32,
    /// What a limit of one less refuses.
    pub(super) refused_below: u64,
}

/// When a request starts and ends, in nanoseconds.
type Work = (u64, u64);

/// The work that `quota` admits.
pub(super) fn running(load: &Load, quota: Quota, took: Took) -> Running {
    let work = admitted(load, quota, took);
    let total: u128 = work.iter().map(|(start, end)| u128::from(end - start)).sum();
    let mean = total / (work.len() as u128).max(1);
    let peak = peak(&work);
    let span = load.span.as_secs_f64();
    Running {
        per_second: (span > 0.0).then(|| work.len() as f64 / span),
        mean_latency: Duration::from_nanos(mean.try_into().unwrap_or(u64::MAX)),
        peak,
        refused_below: refused(&work, peak.saturating_sub(1)),
    }
}

fn admitted(load: &Load, quota: Quota, took: Took) -> Vec<Work> {
    let decided = trial::decisions(load, quota, Duration::ZERO)
        .enumerate()
        .filter(|(_, (_, decision))| decision.is_ok());
    decided
        .map(|(index, (request, _))| {
            let latency = match took {
                Took::Same(latency) => u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX),
                Took::Recorded => load.latencies.get(index).map_or(0, |latency| latency.as_u64()),
            };
            (request.at.as_u64(), request.at.as_u64().saturating_add(latency))
        })
        .collect()
}

fn peak(work: &[Work]) -> u32 {
    let mut ends = BinaryHeap::new();
    let mut most = 0;
    for &(start, end) in work {
        while ends.peek().is_some_and(|Reverse(end)| *end <= start) {
            ends.pop();
        }
        ends.push(Reverse(end));
        most = most.max(ends.len());
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// What the library's own limit refuses.
fn refused(work: &[Work], limit: u32) -> u64 {
    let Ok(limit) = InFlight::new(limit) else { return work.len() as u64 };
    let mut running: BinaryHeap<Reverse<Held<'_>>> = BinaryHeap::new();
    let mut refused = 0;
    for &(start, end) in work {
        while running.peek().is_some_and(|Reverse(held)| held.end <= start) {
            running.pop();
        }
        match limit.try_acquire() {
            Ok(permit) => running.push(Reverse(Held { end, _permit: permit })),
            Err(_) => refused += 1,
        }
    }
    refused
}

/// A permit and when it is given back.
struct Held<'a> {
    end: u64,
    _permit: Permit<'a>,
}

impl PartialEq for Held<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.end == other.end
    }
}

impl Eq for Held<'_> {}

impl PartialOrd for Held<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.end.cmp(&other.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_least_limit_that_refuses_nothing() {
        // Three at once in [2, 4); the one that starts at 4 finds two gone.
        let work = [(0, 4), (1, 10), (2, 4), (4, 5), (6, 6), (6, 9)];
        assert_eq!(peak(&work), 3);
        assert_eq!([3, 2, 1, 0].map(|limit| refused(&work, limit)), [0, 1, 2, 6]);
        let mut random = 7_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let mut start = 0;
            let work: Vec<Work> = (0..30)
                .map(|_| {
                    start += draw(4);
                    (start, start + draw(12))
                })
                .collect();
            let at = |time: u64| work.iter().filter(|(start, end)| *start <= time && time < *end).count();
            let peak = peak(&work);
            assert!(peak as usize >= (0..60).map(at).max().unwrap());
            assert_eq!(refused(&work, peak), 0, "{work:?}");
            assert!(refused(&work, peak - 1) > 0, "{work:?}");
        }
    }
}
