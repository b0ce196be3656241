//! What it costs to count what a limit answers: `cargo bench -p tollgate-bench --bench metrics`.
//!
//! A bucket alone, one that is measured, one in shadow mode, and one beside which a counter of the facade is incremented on each call,
//! as is usual, in the same rounds. Measuring may make an admission cost at most 1.1 times as much. How many were admitted is checked
//! against what the counters tell. Exit code 1 if one does not hold, 0 otherwise; on a machine whose default clock is not the
//! time-stamp counter the bar says nothing.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use metrics::Counter;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tollgate::metrics::{Measured, Meters, Shadow};
use tollgate::sharded::Sharded;
use tollgate::{Bucket, Limiter};
use tollgate_bench::loops::back_to_back;
use tollgate_bench::machine::Machine;
use tollgate_bench::ours::Asked;
use tollgate_bench::rounds::{Lap, Passes, Plan, Row, measure};
use tollgate_bench::rows::{plain, with_costs};
use tollgate_bench::scenario::{Audit, Scenario};
use tollgate_bench::stats::median;
use tollgate_bench::team::Team;
use tollgate_bench::{Contender, Decide, start, thread};

const PASSES: usize = 5;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };
const LIMIT: f64 = 1.1;
/// Rounds of windows on two threads, and how long they are tried for.
const WINDOWS: usize = 31;
const PATIENCE: Duration = Duration::from_secs(20);

/// What one thread does in a window.
type Work<'a> = &'a (dyn Fn() -> Lap + Sync);

/// A counter of the facade for each figure, incremented on each call.
struct AsUsual<L> {
    limiter: L,
    admitted: Counter,
    tokens: Counter,
    refused: Counter,
}

impl<L> AsUsual<L> {
    fn new(limiter: L) -> Self {
        let counter = || Counter::from_arc(Arc::new(AtomicU64::new(0)));
        let (admitted, tokens, refused) = (counter(), counter(), counter());
        Self { limiter, admitted, tokens, refused }
    }
}

impl<L: Limiter + Sync> Decide for AsUsual<L> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.decide_n(1)
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        let answer = self.limiter.try_acquire_n(cost.into());
        match &answer {
            Ok(()) => {
                self.admitted.increment(1);
                self.tokens.increment(cost.into());
            }
            Err(_) => self.refused.increment(1),
        }
        answer.is_ok()
    }
}

struct Field {
    bucket: Asked<Bucket>,
    empty: Asked<Bucket>,
    measured: Asked<Measured<Bucket>>,
    measured_empty: Asked<Measured<Bucket>>,
    shadow: Asked<Shadow<Bucket>>,
    usual: AsUsual<Bucket>,
    usual_empty: AsUsual<Bucket>,
    usual_leased: AsUsual<Sharded>,
    leased: Asked<Sharded>,
    measured_leased: Asked<Measured<Sharded>>,
}

impl Field {
    fn new(meters: &Meters) -> Self {
        let quota = |scenario: Scenario| scenario.quota(0.0, 0);
        let (admit, deny) = (quota(Scenario::Admit), quota(Scenario::Deny));
        let (build, drained) = (<Bucket as Contender>::build, || {
            let bucket = <Bucket as Contender>::build(deny);
            let _drained = bucket.drain();
            bucket
        });
        Self {
            bucket: Asked(build(admit)),
            empty: Asked(drained()),
            measured: Asked(meters.measured("measured", build(admit))),
            measured_empty: Asked(meters.measured("empty", drained())),
            shadow: Asked(meters.shadow("shadow", build(admit))),
            usual: AsUsual::new(build(admit)),
            usual_empty: AsUsual::new(drained()),
            usual_leased: AsUsual::new(Sharded::new(admit)),
            leased: Asked(Sharded::new(admit)),
            measured_leased: Asked(meters.measured("leased", Sharded::new(admit))),
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::from(admissions("alone", &self.bucket));
        rows.extend(admissions("measured", &self.measured));
        rows.extend(admissions("shadow", &self.shadow));
        rows.extend(admissions("as usual", &self.usual));
        rows.push(plain("refusal, alone", &self.empty, Audit::Nothing));
        rows.push(plain("refusal, measured", &self.measured_empty, Audit::Nothing));
        rows.push(plain("refusal, as usual", &self.usual_empty, Audit::Nothing));
        rows.push(plain("leased admission, alone", &self.leased, Audit::All));
        rows.push(plain("leased admission, measured", &self.measured_leased, Audit::All));
        rows.push(plain("leased admission, as usual", &self.usual_leased, Audit::All));
        rows
    }
}

fn admissions<'a>(name: &str, limiter: &'a impl Decide) -> [Row<'a>; 2] {
    [
        plain(format!("admission, {name}"), limiter, Audit::All),
        with_costs(format!("weighted admission, {name}"), limiter),
    ]
}

/// Nanoseconds of one admission of two threads together, of each limiter in the same rounds; nothing if there are too few rounds in
/// which nobody was preempted.
fn on_two_threads<const N: usize>(pair: &Team, works: [Work<'_>; N]) -> Option<[f64; N]> {
    let (start, mut rounds) = (Instant::now(), Vec::with_capacity(WINDOWS));
    while rounds.len() < WINDOWS && start.elapsed() < PATIENCE {
        let windows = works.map(|work| pair.window(|_| work()));
        if windows.iter().all(|window| !window.preempted) {
            rounds.push(windows.map(|window| window.nanos as f64 / window.admitted() as f64));
        }
    }
    let of = |at: usize| median(&rounds.iter().map(|round| round[at]).collect::<Vec<_>>());
    (rounds.len() == WINDOWS).then(|| std::array::from_fn(of))
}

fn admitted(limiter: &impl Decide, calls: u64) -> Lap {
    let lap = Lap::of(calls, || back_to_back(limiter, calls));
    assert_eq!(lap.admitted, calls, "all are admitted");
    lap
}

fn contended(field: &Field) {
    /// Windows of half a millisecond, or a few of them: so short that they are often left alone.
    const FEW: u64 = 20_000;
    const MANY: u64 = 60_000;
    let pair = Team::new(2);
    let words: [Work<'_>; 3] =
        [&|| admitted(&field.bucket, FEW), &|| admitted(&field.measured, FEW), &|| {
            admitted(&field.usual, FEW)
        }];
    let leased: [Work<'_>; 3] =
        [&|| admitted(&field.leased, MANY), &|| admitted(&field.measured_leased, MANY), &|| {
            admitted(&field.usual_leased, MANY)
        }];
    println!("\n{:<34}{:>9}{:>10}{:>10}", "two threads together, ns", "alone", "measured", "as usual");
    for (row, works) in [("admission", words), ("leased admission", leased)] {
        match on_two_threads(&pair, works) {
            Some([alone, measured, usual]) => println!("{row:<34}{alone:>9.2}{measured:>10.2}{usual:>10.2}"),
            None => println!("{row:<34}   too few windows were left alone"),
        }
    }
}

/// Whether so many calls of one token as were made are counted, among the calls before.
fn counts_are_right(meters: &Meters, told: &PrometheusHandle, field: &Field) -> bool {
    const CALLS: u64 = 100_000;
    let admitted = || {
        meters.publish();
        let text = told.render();
        let line =
            text.lines().find_map(|line| line.strip_prefix("tollgate_admitted_total{limit=\"measured\"} "));
        line.and_then(|value| value.parse::<u64>().ok()).unwrap_or(0)
    };
    let before = admitted();
    let granted = (0..CALLS).filter(|_| field.measured.decide()).count() as u64;
    before > 0 && admitted() - before == granted && granted == CALLS
}

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    let machine = Machine::here();
    thread::pin_to(0);
    let recorder = PrometheusBuilder::new().build_recorder();
    let told = recorder.handle();
    let meters = metrics::with_local_recorder(&recorder, Meters::new);
    // All of them stay where they are until the end, so that each pass has its own places in memory.
    let fields: Vec<Field> =
        metrics::with_local_recorder(&recorder, || (0..PASSES).map(|_| Field::new(&meters)).collect());
    let plan = if smoke { SMOKE } else { Plan::PASS };
    let table = Passes::taken(PASSES, |pass| measure(&mut fields[pass].rows(), plan));
    println!("{machine}\n\n{:<34}{:>9}{:>10}", "row", "ns", "to alone");
    let mut holds = true;
    for name in table.names() {
        let (row, kind) = name.split_once(", ").unwrap_or((name, ""));
        let ratio = table.ratio(name, &format!("{row}, alone"));
        println!("{name:<34}{:>9.2}{ratio:>10.3}", table.nanos(name));
        holds &= kind != "measured" || !matches!(row, "admission" | "weighted admission") || ratio <= LIMIT;
    }
    if !smoke {
        contended(&fields[0]);
    }
    let right = fields.iter().all(|field| counts_are_right(&meters, &told, field));
    let counts = machine.reads_tsc() && !smoke;
    println!("\nmeasured admissions within {LIMIT} of a bucket's: {}", if holds { "PASS" } else { "FAIL" });
    println!("as many counted as admitted: {}", if right { "PASS" } else { "FAIL" });
    if right && (holds || !counts) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
