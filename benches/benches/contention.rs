//! One limiter wanted by 1, 2, 4 and 8 threads at once: always admitted, at the refill boundary with at least twice the
//! rate on offer, always refused. `cargo bench -p tollgate-bench --bench contention`.
//!
//! An iteration is a window: so many calls of every thread, from the handshake to the end of the slowest one. The figure
//! to read is the throughput, decisions of the whole team in a second. The threads of each team are started and pinned before anything is measured. Contended figures depend on the
//! distance of the cores, which changes on virtual machines: a window during which it changed is void, and after each
//! figure it is told how many windows were taken near and how many far.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use std::time::Duration;
use tollgate_bench::contest::{Contest, Void};
use tollgate_bench::field::{self, Visitor};
use tollgate_bench::team::{Placement, Team, Window};
use tollgate_bench::{Contender, Scenario, floors, thread};

const SCENARIOS: [Scenario; 3] = [Scenario::Admit, Scenario::Boundary, Scenario::Deny];
const THREADS: [usize; 4] = [1, 2, 4, 8];

/// Windows that say nothing are taken again, at most so often.
const RETAKES: u32 = 5_000;

/// Where threads outnumber cores every window is disturbed, by whatever else the machine does: the best of so many counts.
const TRIES: u32 = 5;

/// So many windows void for the same reason mean that the team has changed its pace since the limiter was paced.
const UNFIT: u32 = 20;

fn main() {
    let teams = THREADS.map(Team::new);
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    for scenario in SCENARIOS {
        for team in &teams {
            let name = format!("contention/{}/{}", scenario.name(), team.threads());
            let mut group = criterion.benchmark_group(name);
            let mut entrants = Entrants { group: &mut group, team, scenario };
            entrants.visit_floor();
            field::visit(&mut entrants);
            group.finish();
        }
    }
    criterion.final_summary();
}

struct Entrants<'a, 'b> {
    group: &'a mut BenchmarkGroup<'b, WallTime>,
    team: &'a Team,
    scenario: Scenario,
}

impl Entrants<'_, '_> {
    /// What any limiter that reads a clock and writes one word must pay.
    fn visit_floor(&mut self) {
        match self.scenario {
            Scenario::Deny => self.visit::<floors::RefusalFloor>("floor: clock, load, compare"),
            _ => self.visit::<floors::AdmissionFloor>("floor: clock, load, compare-exchange"),
        }
    }
}

impl Visitor for Entrants<'_, '_> {
    fn visit<C: Contender>(&mut self, name: &'static str) {
        let (team, scenario) = (self.team, self.scenario);
        let contest =
            Contest::new(team, scenario).unwrap_or_else(|| panic!("{name} cannot express the quota"));
        let decisions = contest.decisions();
        let mut entrant = Entrant::<C> { name, threads: team.threads(), contest, near: 0, far: 0 };
        self.group.throughput(Throughput::Elements(decisions));
        self.group.bench_function(name, |bencher| {
            bencher.iter_custom(|windows| entrant.time(decisions, windows));
        });
        if entrant.near + entrant.far > 0 {
            println!("{:24}windows: {} near, {} far", "", entrant.near, entrant.far);
        }
    }
}

/// One limiter in its turn.
struct Entrant<'a, C> {
    name: &'static str,
    threads: usize,
    contest: Contest<'a, C>,
    near: u32,
    far: u32,
}

impl<C: Contender> Entrant<'_, C> {
    /// The time of so many windows of so many decisions.
    fn time(&mut self, decisions: u64, windows: u64) -> Duration {
        let tries = tries(self.threads);
        let best = |_| (0..tries).map(|_| self.nanos_a_decision()).fold(f64::INFINITY, f64::min);
        let nanos = (0..windows).map(best).sum::<f64>() * decisions as f64;
        Duration::from_nanos(nanos as u64)
    }

    fn nanos_a_decision(&mut self) -> f64 {
        let mut unfit = 0;
        for _ in 0..RETAKES {
            let void = match self.contest.tagged_window() {
                Ok((window, placement)) => return self.counted(window, placement),
                Err(void) => void,
            };
            unfit += u32::from(matches!(void, Void::TooShort | Void::Underloaded));
            if unfit == UNFIT {
                self.fit(void);
                unfit = 0;
            }
        }
        let (name, quota) = (self.name, self.contest.quota());
        panic!("{name}: {RETAKES} windows and none that counts ({quota:?})");
    }

    /// Puts right what made so many windows void.
    fn fit(&mut self, void: Void) {
        if void == Void::TooShort {
            self.contest.lengthen();
        } else {
            self.contest = self.contest.slowed().expect("a slower quota is expressible");
        }
    }

    fn counted(&mut self, window: Window, placement: Option<Placement>) -> f64 {
        self.near += u32::from(placement == Some(Placement::Near));
        self.far += u32::from(placement == Some(Placement::Far));
        window.nanos as f64 / self.contest.decisions() as f64
    }
}

fn tries(threads: usize) -> u32 {
    if threads > thread::cores() { TRIES } else { 1 }
}
