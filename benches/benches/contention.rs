//! One limiter wanted by 1, 2, 4 and 8 threads at once: always admitted, at the refill boundary with at least twice the
//! rate on offer, always refused. `cargo bench -p tollgate-bench --bench contention`.
//!
//! The figure is the time from the handshake to the end of the slowest thread, divided by the decisions of the whole
//! team. The threads of each team are started and pinned before anything is measured.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use std::time::Duration;
use tollgate_bench::contest::Contest;
use tollgate_bench::field::{self, Visitor};
use tollgate_bench::loops::back_to_back;
use tollgate_bench::rounds::Lap;
use tollgate_bench::team::Team;
use tollgate_bench::{Contender, Scenario, floors};

const SCENARIOS: [Scenario; 3] = [Scenario::Admit, Scenario::Boundary, Scenario::Deny];
const THREADS: [usize; 4] = [1, 2, 4, 8];

/// Windows that say nothing are taken again, at most so often.
const RETAKES: u32 = 5_000;

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
            group.throughput(Throughput::Elements(1));
            floor(&mut group, team, scenario);
            field::visit(&mut Entrants { group: &mut group, team, scenario });
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

impl Visitor for Entrants<'_, '_> {
    fn visit<C: Contender>(&mut self, name: &'static str) {
        let (team, scenario) = (self.team, self.scenario);
        let mut contest = None;
        self.group.bench_function(name, |bencher| {
            let contest = contest.get_or_insert_with(|| {
                Contest::<C>::new(team, scenario).unwrap_or_else(|| panic!("{name} cannot express the quota"))
            });
            bencher.iter_custom(|decisions| time(contest, name, decisions));
        });
    }
}

/// The time of so many decisions, scaled from whole windows.
fn time<C: Contender>(contest: &Contest<'_, C>, name: &str, decisions: u64) -> Duration {
    let windows = decisions.div_ceil(contest.decisions());
    let nanos: u64 = (0..windows).map(|_| window_nanos(contest, name)).sum();
    let made = windows * contest.decisions();
    Duration::from_nanos((u128::from(nanos) * u128::from(decisions) / u128::from(made)) as u64)
}

fn window_nanos<C: Contender>(contest: &Contest<'_, C>, name: &str) -> u64 {
    let mut voids = Vec::new();
    for _ in 0..RETAKES {
        match contest.window() {
            Ok(window) => return window.nanos,
            Err(void) => voids.push(void),
        }
    }
    let last = voids.last();
    panic!(
        "{name}: {RETAKES} windows and none that counts, the last one for {last:?} ({:?})",
        contest.quota()
    );
}

/// The floor of the scenario: what any limiter that reads a clock and writes one word must pay.
fn floor(group: &mut BenchmarkGroup<'_, WallTime>, team: &Team, scenario: Scenario) {
    if scenario == Scenario::Deny {
        let floor = floors::RefusalFloor::default();
        raced(group, "floor: clock, load, compare", team, &|calls| {
            Lap::of(calls, || back_to_back(&floor, calls))
        });
    } else {
        let floor = floors::AdmissionFloor::default();
        raced(group, "floor: clock, load, compare-exchange", team, &|calls| {
            Lap::of(calls, || back_to_back(&floor, calls))
        });
    }
}

fn raced(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    team: &Team,
    lap: &(dyn Fn(u64) -> Lap + Sync),
) {
    const CALLS: u64 = 20_000;
    let made = CALLS * team.threads() as u64;
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|decisions| {
            let windows = decisions.div_ceil(made);
            let nanos: u64 = (0..windows).map(|_| team.window(|_| lap(CALLS)).nanos).sum();
            Duration::from_nanos(
                (u128::from(nanos) * u128::from(decisions) / u128::from(windows * made)) as u64,
            )
        });
    });
}
