//! The bars of the project's speed, in one run: `cargo bench -p tollgate-bench --bench ratios [-- --json FILE]`.
//!
//! Every bar is a ratio to a floor, or to governor, taken in the same rounds of the same run. Exit code 1 if one is
//! missed, 0 otherwise; on a machine whose default clock is not the time-stamp counter the bars say nothing, and are
//! printed as such. `--json -` prints JSON alone.

use serde_json::{Value, json};
use std::process::ExitCode;
use tollgate::{Bucket, Coarse, Manual, Monotonic, Quota};
use tollgate_bench::loops::{back_to_back, weighted, weighted_cost};
use tollgate_bench::machine::Machine;
use tollgate_bench::peers::Governor;
use tollgate_bench::rounds::{Lap, Passes, Plan, Row, measure};
use tollgate_bench::rows::{after_fence, plain, with_wait};
use tollgate_bench::scenario::{Audit, Scenario, admit_binary, deny_binary, stock_binary};
use tollgate_bench::team::{Team, scaling};
use tollgate_bench::{Contender, Decide, floors, start, thread};

const PASSES: usize = 3;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };

const ADMISSION: &str = "floor: clock, load, compare-exchange";
const REFUSAL: &str = "floor: clock, load, compare";
const FENCED_ADMISSION: &str = "fenced floor: clock, load, compare-exchange";
const FENCED_REFUSAL: &str = "fenced floor: clock, load, compare";
const IDLE: &str = "fenced floor: the fence alone";
const GOVERNOR_ADMITS: &str = "fenced governor: admission";
const GOVERNOR_REFUSES: &str = "fenced governor: refusal";

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().position(|argument| argument == "--json");
    let json = json.map(|at| arguments.get(at + 1).map_or("-", String::as_str));
    let report = Report::taken(if smoke { SMOKE } else { Plan::PASS }, if smoke { 3 } else { 201 });
    if json != Some("-") {
        report.print();
    }
    report.write_json(json);
    if smoke || report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The limiters measured, each in the state its rows need.
struct Field {
    full: Bucket,
    full_binary: Bucket,
    stock: Bucket,
    stock_binary: Bucket,
    empty: Bucket,
    empty_binary: Bucket,
    coarse: Bucket<Coarse>,
    coarse_empty: Bucket<Coarse>,
    still: Bucket<Manual>,
    still_empty: Bucket<Manual>,
    governor: Governor,
    governor_empty: Governor,
    floors: Floors,
}

#[derive(Default)]
struct Floors {
    nothing: floors::Nothing,
    load: floors::Load,
    clock: floors::ClockRead,
    exchange: floors::CompareExchange,
    admission: floors::AdmissionFloor,
    refusal: floors::RefusalFloor,
}

impl Field {
    fn new() -> Self {
        let quota = |scenario: Scenario| scenario.quota(0.0, 0);
        Self {
            full: Contender::build(quota(Scenario::Admit)),
            full_binary: Contender::build(admit_binary()),
            stock: Contender::build(quota(Scenario::Stock)),
            stock_binary: Contender::build(stock_binary()),
            empty: Contender::build(quota(Scenario::Deny)),
            empty_binary: Contender::build(deny_binary()),
            coarse: Contender::build(quota(Scenario::Admit)),
            coarse_empty: Contender::build(quota(Scenario::Deny)),
            still: Contender::build(quota(Scenario::Admit)),
            still_empty: Contender::build(quota(Scenario::Deny)),
            governor: Contender::build(quota(Scenario::Admit)),
            governor_empty: Contender::build(quota(Scenario::Deny)),
            floors: Floors::default(),
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = self.floor_rows();
        rows.extend(self.our_rows());
        rows.extend(self.clockless_rows());
        rows.extend(self.fenced_rows());
        rows.extend(self.governor_rows());
        rows
    }

    fn floor_rows(&self) -> Vec<Row<'_>> {
        let floors = &self.floors;
        vec![
            plain("floor: relaxed load", &floors.load, Audit::All),
            plain("floor: clock", &floors.clock, Audit::All),
            plain("floor: compare-exchange", &floors.exchange, Audit::All),
            plain(ADMISSION, &floors.admission, Audit::All),
            plain(REFUSAL, &floors.refusal, Audit::Nothing),
            after_fence(IDLE, &floors.nothing, Audit::All),
            after_fence(FENCED_ADMISSION, &floors.admission, Audit::All),
            after_fence(FENCED_REFUSAL, &floors.refusal, Audit::Nothing),
        ]
    }

    fn our_rows(&self) -> Vec<Row<'_>> {
        vec![
            plain("admission, full", &self.full, Audit::All),
            plain("admission, full, binary scale", &self.full_binary, Audit::All),
            plain("admission, in stock", &self.stock, Audit::All),
            plain("admission, in stock, binary scale", &self.stock_binary, Audit::All),
            plain("refusal", &self.empty, Audit::Nothing),
            plain("refusal, binary scale", &self.empty_binary, Audit::Nothing),
            with_wait("refusal with its wait", &self.empty),
            with_wait("refusal with its wait, binary scale", &self.empty_binary),
            with_costs("weighted admission", &self.full),
            with_costs("weighted admission, binary scale", &self.full_binary),
        ]
    }

    fn clockless_rows(&self) -> Vec<Row<'_>> {
        vec![
            plain("coarse clock: admission", &self.coarse, Audit::All),
            plain("coarse clock: refusal", &self.coarse_empty, Audit::Nothing),
            plain("manual clock: admission", &self.still, Audit::All),
            plain("manual clock: refusal", &self.still_empty, Audit::Nothing),
        ]
    }

    fn fenced_rows(&self) -> Vec<Row<'_>> {
        vec![
            after_fence("fenced admission", &self.full, Audit::All),
            after_fence("fenced admission, binary scale", &self.full_binary, Audit::All),
            after_fence("fenced refusal", &self.empty, Audit::Nothing),
            after_fence("fenced refusal, binary scale", &self.empty_binary, Audit::Nothing),
            after_fence(GOVERNOR_ADMITS, &self.governor, Audit::All),
            after_fence(GOVERNOR_REFUSES, &self.governor_empty, Audit::Nothing),
        ]
    }

    fn governor_rows(&self) -> Vec<Row<'_>> {
        vec![
            plain("governor: admission", &self.governor, Audit::All),
            plain("governor: refusal", &self.governor_empty, Audit::Nothing),
            with_wait("governor: refusal with its wait", &self.governor_empty),
            with_costs("governor: weighted admission", &self.governor),
        ]
    }
}

fn with_costs<'a>(name: &str, limiter: &'a impl Decide) -> Row<'a> {
    Row::new(name, Audit::All, move |calls| {
        let lap = Lap::of(weighted_cost(calls), || weighted(limiter, calls));
        assert_eq!(lap.admitted, calls, "every weighted call is admitted");
        Lap { admitted: lap.offered, ..lap }
    })
}

/// A bar: a figure and where it must stay.
struct Bar {
    what: String,
    figure: f64,
    limit: f64,
    at_least: bool,
}

impl Bar {
    fn at_most(what: impl Into<String>, figure: f64, limit: f64) -> Self {
        Self { what: what.into(), figure, limit, at_least: false }
    }

    fn holds(&self) -> bool {
        if self.at_least { self.figure >= self.limit } else { self.figure <= self.limit }
    }
}

struct Report {
    machine: Machine,
    table: Passes,
    bars: Vec<Bar>,
    scaling: [(&'static str, Option<f64>); 2],
}

impl Report {
    fn taken(plan: Plan, windows: usize) -> Self {
        let machine = Machine::here();
        thread::pin_to(0);
        // All of them stay where they are until the end, so that each pass has its own places in memory.
        let fields: Vec<Box<Field>> = (0..PASSES).map(|_| Box::new(Field::new())).collect();
        let table = Passes::taken(PASSES, |pass| measure(&mut fields[pass].rows(), plan));
        let scaling = scalings(windows);
        let mut bars = back_to_back_bars(&table);
        bars.extend(fenced_bars(&table));
        if let (name, Some(figure)) = scaling[0] {
            bars.push(Bar { what: name.to_owned(), figure, limit: 1.9, at_least: true });
        }
        Self { machine, table, bars, scaling }
    }

    fn holds(&self) -> bool {
        !self.machine.reads_tsc() || self.bars.iter().all(Bar::holds)
    }

    fn print(&self) {
        println!("{}\n", self.machine);
        println!("{:<48}{:>9}{:>12}{:>9}", "row", "ns", "to its floor", "less idle");
        for name in self.table.names() {
            let (floor, idle) = floor_of(name);
            let ratio =
                idle.map_or(self.table.ratio(name, floor), |idle| self.table.net_ratio(name, floor, idle));
            let net = idle.map_or(String::new(), |idle| format!("{:.2}", self.table.net_nanos(name, idle)));
            println!("{name:<48}{:>9.2}{ratio:>12.3}{net:>9}", self.table.nanos(name));
        }
        println!("\n{:<60}{:>9}{:>9}", "bar", "figure", "limit");
        for bar in &self.bars {
            let (sign, verdict) = (if bar.at_least { '>' } else { '<' }, self.verdict(bar));
            println!("{:<60}{:>9.3}  {sign}{:>6.2}  {verdict}", bar.what, bar.figure, bar.limit);
        }
        for (name, figure) in &self.scaling {
            let figure = figure.map_or("no undisturbed windows".to_owned(), |figure| format!("{figure:.3}"));
            println!("{name:<60}{figure:>9}");
        }
        println!("\n{} samples were disturbed and taken again", self.table.retaken());
    }

    fn verdict(&self, bar: &Bar) -> &'static str {
        match (self.machine.reads_tsc(), bar.holds()) {
            (false, _) => "SKIP (the clock is not the TSC)",
            (true, true) => "PASS",
            (true, false) => "FAIL",
        }
    }

    fn write_json(&self, target: Option<&str>) {
        let Some(target) = target else { return };
        let text = format!("{:#}\n", self.to_json());
        if target == "-" {
            print!("{text}");
        } else {
            std::fs::write(target, text).unwrap_or_else(|error| panic!("{target}: {error}"));
        }
    }

    fn to_json(&self) -> Value {
        let nanos = |row: &str| self.table.nanos(row);
        let rows: Vec<Value> = self.table.names().map(|row| json!({"row": row, "ns": nanos(row)})).collect();
        let bar = |bar: &Bar| {
            json!({"bar": bar.what, "figure": bar.figure, "limit": bar.limit, "at_least": bar.at_least,
                "verdict": self.verdict(bar)})
        };
        json!({
            "machine": self.machine.to_json(),
            "floor": {
                "load_ns": nanos("floor: relaxed load"), "clock_ns": nanos("floor: clock"),
                "cas_ns": nanos("floor: compare-exchange"), "clock_cas_ns": nanos(ADMISSION),
                "clock_compare_ns": nanos(REFUSAL),
            },
            "rows": rows,
            "bars": self.bars.iter().map(bar).collect::<Vec<_>>(),
            "scaling": self.scaling.iter().map(|(name, x)| json!({"row": name, "times": x})).collect::<Vec<_>>(),
        })
    }
}

fn floor_of(row: &str) -> (&'static str, Option<&'static str>) {
    let refuses = row.contains("refusal") || row == REFUSAL || row == FENCED_REFUSAL;
    match (row.contains("fence"), refuses) {
        (true, true) => (FENCED_REFUSAL, Some(IDLE)),
        (true, false) => (FENCED_ADMISSION, Some(IDLE)),
        (false, true) => (REFUSAL, None),
        (false, false) => (ADMISSION, None),
    }
}

/// Both scales have the same bars.
fn back_to_back_bars(table: &Passes) -> Vec<Bar> {
    let limits = [
        ("admission, full", 1.05),
        ("admission, full, binary scale", 1.05),
        ("admission, in stock", 1.05),
        ("admission, in stock, binary scale", 1.05),
        ("refusal", 1.05),
        ("refusal, binary scale", 1.05),
        ("refusal with its wait", 1.10),
        ("refusal with its wait, binary scale", 1.10),
        ("weighted admission", 1.05),
        ("weighted admission, binary scale", 1.05),
    ];
    let bar = |(row, limit)| Bar::at_most(format!("{row} / floor"), table.ratio(row, floor_of(row).0), limit);
    limits.map(bar).into()
}

fn fenced_bars(table: &Passes) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (row, governor) in [("fenced admission", GOVERNOR_ADMITS), ("fenced refusal", GOVERNOR_REFUSES)] {
        for (row, limit) in [(row.to_owned(), 1.06), (format!("{row}, binary scale"), 1.15)] {
            let figure = table.net_ratio(&row, governor, IDLE);
            bars.push(Bar::at_most(format!("{row} / governor"), figure, limit));
        }
    }
    bars
}

fn scalings(windows: usize) -> [(&'static str, Option<f64>); 2] {
    let pair = Team::new(2);
    let deny: Quota = Scenario::Deny.quota(0.0, 0);
    let (ours, governor) = (<Bucket<Monotonic>>::build(deny), Governor::build(deny));
    [
        ("refusals on two threads / on one", refusals(&pair, windows, &ours)),
        ("governor: refusals on two threads / on one", refusals(&pair, windows, &governor)),
    ]
}

fn refusals(pair: &Team, windows: usize, limiter: &(impl Decide + Sync)) -> Option<f64> {
    const CALLS: u64 = 50_000;
    scaling(pair, windows, || {
        let lap = Lap::of(CALLS, || back_to_back(limiter, CALLS));
        assert_eq!(lap.admitted, 0, "nothing is left to admit");
        lap
    })
}
