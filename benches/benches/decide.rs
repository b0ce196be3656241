//! What one decision costs on one thread, for the whole field: `cargo bench -p tollgate-bench --bench decide`.
//!
//! Criterion's figure is nanoseconds a call. Each sample is put together from pieces of a quarter of a millisecond in
//! which the kernel did not take the thread off its core, and each piece is audited. For ratios of two per cent use
//! `ratios`, which interleaves its rows; criterion measures one after another.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use std::time::Duration;
use tollgate_bench::field::{self, Visitor, WaitVisitor};
use tollgate_bench::loops::{back_to_back, fenced, waiting};
use tollgate_bench::rounds::{Lap, Plan, Row};
use tollgate_bench::scenario::{admit_binary, deny_binary, stock_binary};
use tollgate_bench::solo::Solo;
use tollgate_bench::{Audit, Contender, Decide, Scenario, Waits, floors, thread};

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn main() {
    thread::pin_to(0);
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .configure_from_args();
    floors(&mut criterion);
    for scenario in Scenario::ALL {
        let mut group = group(&mut criterion, scenario.name());
        field::visit(&mut Entrants { group: &mut group, scenario });
        group.finish();
    }
    waits(&mut criterion);
    serial(&mut criterion);
    binary_scale(&mut criterion);
    criterion.final_summary();
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> Group<'a> {
    let mut group = criterion.benchmark_group(format!("decide/{name}"));
    group.throughput(Throughput::Elements(1));
    group
}

fn floors(criterion: &mut Criterion) {
    let mut group = group(criterion, "floor");
    floor(&mut group, "relaxed load", &floors::Load::default(), Audit::All);
    floor(&mut group, "clock", &floors::ClockRead, Audit::All);
    floor(&mut group, "compare-exchange", &floors::CompareExchange::default(), Audit::All);
    floor(&mut group, "clock, load, compare-exchange", &floors::AdmissionFloor::default(), Audit::All);
    floor(&mut group, "clock, load, compare", &floors::RefusalFloor::default(), Audit::Nothing);
    group.finish();
}

fn floor(group: &mut Group<'_>, name: &str, floor: &impl Decide, audit: Audit) {
    bench(group, name, Row::new(name, audit, |calls| Lap::of(calls, || back_to_back(floor, calls))));
}

/// The whole field in one scenario.
struct Entrants<'a, 'b> {
    group: &'a mut Group<'b>,
    scenario: Scenario,
}

impl Visitor for Entrants<'_, '_> {
    fn visit<C: Contender>(&mut self, name: &'static str) {
        let entry = Solo::<C>::new(self.scenario);
        bench(self.group, name, entry.row(name));
    }
}

/// Refusals that also tell the wait.
struct Waiting<'a, 'b>(&'a mut Group<'b>);

impl WaitVisitor for Waiting<'_, '_> {
    fn visit<C: Contender + Waits>(&mut self, name: &'static str) {
        let limiter = C::build(Scenario::Deny.quota(0.0, 0));
        bench(
            self.0,
            name,
            Row::new(name, Audit::Nothing, |calls| Lap::of(calls, || waiting(&limiter, calls))),
        );
    }
}

fn waits(criterion: &mut Criterion) {
    let mut group = group(criterion, "deny with its wait");
    field::waiting(&mut Waiting(&mut group));
    group.finish();
}

/// Each call followed by a fence. The fence alone is the first row: take it off.
struct Serial<'a, 'b> {
    group: &'a mut Group<'b>,
    scenario: Scenario,
    audit: Audit,
}

impl Visitor for Serial<'_, '_> {
    fn visit<C: Contender>(&mut self, name: &'static str) {
        let limiter = C::build(self.scenario.quota(0.0, 0));
        let handle = limiter.handle();
        let row = Row::new(name, self.audit, |calls| Lap::of(calls, || fenced(&*handle, calls)));
        bench(self.group, name, row);
    }
}

fn serial(criterion: &mut Criterion) {
    for (scenario, audit) in [(Scenario::Admit, Audit::All), (Scenario::Deny, Audit::Nothing)] {
        let mut group = group(criterion, &format!("fenced {}", scenario.name()));
        let idle = |calls| Lap::of(calls, || fenced(&floors::Nothing, calls));
        bench(&mut group, "the fence alone", Row::new("the fence alone", Audit::All, idle));
        field::visit(&mut Serial { group: &mut group, scenario, audit });
        group.finish();
    }
}

fn binary_scale(criterion: &mut Criterion) {
    let mut group = group(criterion, "tollgate on the binary scale");
    let rows = [
        ("admit", admit_binary(), Audit::All),
        ("stock", stock_binary(), Audit::All),
        ("deny", deny_binary(), Audit::Nothing),
    ];
    for (name, quota, audit) in rows {
        let limiter = tollgate::Bucket::new(quota);
        floor(&mut group, name, &limiter, audit);
    }
    group.finish();
}

fn bench(group: &mut Group<'_>, name: &str, mut row: Row<'_>) {
    let mut calibrated = false;
    group.bench_function(name, |bencher| {
        if !calibrated {
            row.calibrate(Plan::PASS.sample_nanos);
            calibrated = true;
        }
        bencher.iter_custom(|calls| row.time(calls));
    });
}
