//! How a limiter is loaded: the quota and the number of calls for one window, chosen by what its own calls cost.

use std::sync::Mutex;
use std::time::Duration;

use tollgate::{Fill, Quota};
use tollgate_bench::Scenario;
use tollgate_bench::bout::{Sheet, Way};
use tollgate_bench::team::Team;
use tollgate_bench::thread::cores;

use super::field::Entry;

/// A window with every thread on a core of its own is short, so that it is often left alone.
pub(super) const SHORT_NANOS: u64 = 500_000;

/// A window in which threads must take turns is long, so that they do take turns.
pub(super) const LONG_NANOS: u64 = 20_000_000;

/// What timing a call adds to it: a fence and a reading of the counter. Only the number of calls depends on it.
const TIMING_NANOS: f64 = 20.0;

/// At the boundary so many times the rate is offered, by the costs measured first; see [`Pace::slow_down`].
const LOAD: f64 = 3.0;

/// The same in one long bout, where a busy machine leaves the threads only a part of the time to ask in. And the sooner
/// the first stock is gone, the less is lost when they are kept from asking.
const LONG_LOAD: f64 = 6.0;

/// The rate is set so many times lower at most.
const MOST_BRAKE: f64 = 8.0;

/// In bursts the capacity takes so many times longer to fill than to spend.
const REST: f64 = 8.0;

const HOUR: Duration = Duration::from_secs(3600);

/// The windows of one limiter in one scenario.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    scenario: Scenario,
    threads: usize,
    grain_nanos: u64,
    /// What a decision of the whole team takes where all are admitted, and where none is.
    costs: [f64; 2],
    /// How much slower the rate is set than the costs say.
    brake: f64,
}

/// One window's load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) quota: Quota,
    /// Calls of each thread.
    pub(crate) calls: u64,
}

impl Pace {
    /// Measures what the limiter's calls cost this team.
    pub(crate) fn find(entry: &Entry, team: &Team, scenario: Scenario) -> Self {
        let cost = |scenario| decision_nanos(entry, team, scenario);
        let costs = match scenario {
            Scenario::Boundary | Scenario::Burst => [cost(Scenario::Admit), cost(Scenario::Deny)],
            other => [cost(other); 2],
        };
        Self { scenario, threads: team.threads(), grain_nanos: entry.grain_nanos, costs, brake: 1.0 }
    }

    /// Less than twice the rate was offered: sets it lower from now on. Not without end, for on a busy machine the reason
    /// may be that nobody had a core to ask from.
    pub(crate) fn slow_down(&mut self) {
        self.brake = (self.brake * 1.5).min(MOST_BRAKE);
    }

    /// For calls back to back.
    pub(crate) fn single(&self) -> Load {
        self.load(0.0)
    }

    /// For calls that are timed one by one.
    pub(crate) fn timed(&self) -> Load {
        self.load(TIMING_NANOS / self.threads.min(cores()) as f64)
    }

    /// As found, before any slowing down.
    pub(crate) fn unbraked(&self) -> Self {
        Self { brake: 1.0, ..self.clone() }
    }

    /// For one long bout at the boundary: the capacity is what is issued in `cover`, so that nothing is lost while the
    /// system runs something else.
    pub(crate) fn long(&self, cover: Duration) -> Quota {
        let token = self.token_nanos(LONG_LOAD, 0.0);
        paced(token, (cover.as_nanos() as u64 / token).max(100), self.grain_nanos)
    }

    fn load(&self, timing: f64) -> Load {
        let token = self.token_nanos(if self.scenario == Scenario::Burst { REST } else { LOAD }, timing);
        let clump = (self.window_nanos() as f64 / 2.0 / self.mean_nanos(timing)) as u64;
        let quota = match self.scenario {
            Scenario::Boundary => empty(paced(token, 100, self.grain_nanos)),
            Scenario::Burst => paced(token, clump.max(100), self.grain_nanos),
            other => standing(other),
        };
        let calls = match self.scenario {
            Scenario::Burst => 2.0 * quota.capacity() as f64,
            _ => self.window_nanos() as f64 / self.mean_nanos(timing),
        };
        Load { quota, calls: (calls / self.threads as f64).ceil() as u64 }
    }

    /// Where about half is refused, the mean of both costs.
    fn mean_nanos(&self, timing: f64) -> f64 {
        f64::midpoint(self.costs[0], self.costs[1]) + timing
    }

    fn token_nanos(&self, times: f64, timing: f64) -> u64 {
        let cost = self.costs[0].max(self.costs[1]) + timing;
        (cost * times * self.brake).ceil().max(1.0) as u64
    }

    /// Where the limiter runs dry the window must see more than one step of its refill.
    fn window_nanos(&self) -> u64 {
        let least = if self.threads > cores() { LONG_NANOS } else { SHORT_NANOS };
        match self.scenario {
            Scenario::Boundary | Scenario::Burst => least.max(self.grain_nanos),
            _ => least,
        }
    }
}

/// How a scenario's calls are made.
pub(crate) fn way(scenario: Scenario, calls: u64) -> Way<'static> {
    if scenario == Scenario::Weighted { Way::Weighted(calls) } else { Way::Single(calls) }
}

/// The same, each call timed. The sheets get room for so many calls.
pub(crate) fn timed_way(scenario: Scenario, sheets: &mut [Sheet], calls: u64) -> Way<'_> {
    for sheet in sheets.iter_mut() {
        sheet.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).resize(calls as usize, 0);
    }
    if scenario == Scenario::Weighted { Way::TimedWeighted(sheets) } else { Way::Timed(sheets) }
}

/// One sheet for each thread.
pub(crate) fn sheets(threads: usize) -> Vec<Sheet> {
    std::iter::repeat_with(|| Mutex::new(Vec::new())).take(threads).collect()
}

/// A quota that does not depend on what calls cost.
fn standing(scenario: Scenario) -> Quota {
    match scenario {
        // A capacity that can be divided, so that shards refuse as shards.
        Scenario::Deny => empty(quota(1, HOUR, 1000)),
        other => other.quota(0.0, 0),
    }
}

/// A token takes a whole number of nanoseconds, so that no limiter has to round. The capacity covers two steps of the
/// refill, so that none starves for its coarseness.
fn paced(token_nanos: u64, capacity: u64, grain_nanos: u64) -> Quota {
    let capacity = capacity.max(2 * grain_nanos / token_nanos).min(u64::from(u32::MAX));
    quota(1, Duration::from_nanos(token_nanos), capacity)
}

fn quota(tokens: u64, period: Duration, capacity: u64) -> Quota {
    Quota::with_burst(tokens, period, capacity).expect("a quota with a rate and a capacity")
}

/// The same, with nothing there at first.
pub(crate) fn empty(quota: Quota) -> Quota {
    quota.fill(Fill::Empty).expect("every quota may start empty")
}

const PROBE_NANOS: u64 = 200_000;

/// What a decision of the whole team takes at best.
fn decision_nanos(entry: &Entry, team: &Team, scenario: Scenario) -> f64 {
    let (mut calls, quota) = (64, standing(scenario));
    let trial = |calls| (entry.bout)(team, quota, way(scenario, calls)).window.nanos;
    while trial(calls) < PROBE_NANOS {
        calls *= 2;
    }
    let best = (0..3).map(|_| trial(calls)).min().unwrap_or(PROBE_NANOS);
    best as f64 / (calls * team.threads() as u64) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(scenario: Scenario, grain_nanos: u64) -> Pace {
        Pace { scenario, threads: 2, grain_nanos, costs: [10.0, 20.0], brake: 1.0 }
    }

    #[test]
    fn the_boundary_is_asked_for_three_times_what_it_gives() {
        let mut pace = pace(Scenario::Boundary, 0);
        let load = pace.single();
        assert_eq!(load.quota.period(), Duration::from_nanos(60));
        assert_eq!((load.quota.capacity(), load.quota.initial()), (100, Fill::Empty));
        pace.slow_down();
        assert_eq!(pace.single().quota.period(), Duration::from_nanos(90));
        assert!(
            pace.timed().calls < pace.single().calls && pace.timed().quota.period() > load.quota.period()
        );
    }

    #[test]
    fn capacities_cover_the_step_of_the_refill() {
        assert_eq!(pace(Scenario::Boundary, 1_000_000).single().quota.capacity(), 2_000_000 / 60);
        assert_eq!(pace(Scenario::Boundary, 0).long(Duration::from_millis(12)).capacity(), 100_000);
    }

    #[test]
    fn a_burst_asks_for_twice_the_capacity() {
        let load = pace(Scenario::Burst, 0).single();
        assert_eq!(load.calls * 2, load.quota.capacity() * 2);
        assert_eq!(load.quota.initial(), Fill::Full);
    }
}
