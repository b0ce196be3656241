//! One limiter in one scenario on so many threads, and everything measured of it.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use hdrhistogram::Histogram;
use tollgate_bench::Scenario;
use tollgate_bench::bout::{Bout, Sheet, Way};
use tollgate_bench::team::{Placement, Team};
use tollgate_bench::timed::nanos_a_tick;

use super::accuracy::Accuracy;
use super::field::Entry;
use super::judge::Tally;
use super::pace::{Load, Pace, timed_way, way};
use super::samples::{Sample, Tag, is_undisturbed};

/// Nanoseconds, from one to a minute, with three digits.
pub(crate) type Latencies = Histogram<u64>;

const LONGEST_NANOS: u64 = 60_000_000_000;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) entry: &'static Entry,
    pub(crate) scenario: Scenario,
    pub(crate) threads: usize,
    /// Whether its figures are wanted, or only the ratios of others to them.
    pub(crate) listed: bool,
    pace: Option<Pace>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) latencies: BTreeMap<Tag, Latencies>,
    /// Over the windows that were disturbed, and over those that were not.
    tallies: [Tally; 2],
    /// At the boundary: one long bout.
    pub(crate) accuracy: Option<Accuracy>,
}

/// A window that was taken: what it gave, and whether it counts.
struct Taken {
    bout: Bout,
    clean: bool,
}

impl Cell {
    pub(crate) fn new(entry: &'static Entry, scenario: Scenario, threads: usize, listed: bool) -> Self {
        Self {
            entry,
            scenario,
            threads,
            listed,
            pace: None,
            samples: Vec::new(),
            latencies: BTreeMap::new(),
            tallies: Default::default(),
            accuracy: None,
        }
    }

    /// How it is loaded; measured when first asked for.
    pub(crate) fn pace(&mut self, team: &Team) -> &mut Pace {
        let Self { entry, scenario, pace, .. } = self;
        pace.get_or_insert_with(|| Pace::find(entry, team, *scenario))
    }

    /// One window of calls back to back and one of timed calls. `before` is where the cores were, and it is told where
    /// they are now.
    pub(crate) fn turn(
        &mut self,
        team: &Team,
        sheets: &mut [Sheet],
        (pass, round): (u32, u32),
        before: Option<Placement>,
    ) -> Option<Placement> {
        let pace = self.pace(team);
        let (single, timed) = (pace.single(), pace.timed());
        let plain = self.window(team, single, way(self.scenario, single.calls));
        let each = self.window(team, timed, timed_way(self.scenario, sheets, timed.calls));
        let after = team.placement();
        let tag = |taken: &Taken| Tag { placement: before, clean: taken.clean && before == after };
        let nanos = plain.bout.window.nanos as f64 / (single.calls * self.threads as u64) as f64;
        self.samples.push(Sample { tag: tag(&plain), pass, round, nanos });
        record(self.latencies.entry(tag(&each)).or_insert_with(latencies), sheets);
        after
    }

    fn window(&mut self, team: &Team, load: Load, way: Way<'_>) -> Taken {
        let bout = (self.entry.bout)(team, load.quota, way);
        let tally = Tally::of(load.quota, (self.entry.slack)(load.quota), bout.account());
        let clean = is_undisturbed(self.threads, &bout.window) && self.is_loaded(&tally);
        self.tallies[usize::from(clean)] += tally;
        Taken { bout, clean }
    }

    /// Whether the window shows what the scenario is about. If too little was offered it asks for less from now on.
    fn is_loaded(&mut self, window: &Tally) -> bool {
        match self.scenario {
            Scenario::Admit | Scenario::Weighted => window.admitted == window.offered,
            Scenario::Boundary if window.load().is_some_and(|load| load < 2.0) => {
                self.pace.iter_mut().for_each(Pace::slow_down);
                false
            }
            _ => true,
        }
    }

    /// What was admitted against the bound: in the long bout at the boundary, else over the undisturbed windows.
    pub(crate) fn tally(&self) -> &Tally {
        let [disturbed, clean] = &self.tallies;
        let windows = if clean.offered > 0 { clean } else { disturbed };
        self.accuracy.as_ref().map_or(windows, |accuracy| &accuracy.tally)
    }

    /// Violations in all windows and in the long bout.
    pub(crate) fn violations(&self) -> u64 {
        let bout = self.accuracy.as_ref().map(|accuracy| &accuracy.tally);
        self.tallies.iter().chain(bout).map(|tally| tally.violations).sum()
    }
}

fn latencies() -> Latencies {
    Latencies::new_with_bounds(1, LONGEST_NANOS, 3).expect("bounds and digits that a histogram takes")
}

fn record(latencies: &mut Latencies, sheets: &mut [Sheet]) {
    let nanos = nanos_a_tick();
    for sheet in sheets {
        for &ticks in sheet.get_mut().unwrap_or_else(PoisonError::into_inner).iter() {
            latencies.saturating_record((ticks as f64 * nanos) as u64);
        }
    }
}
