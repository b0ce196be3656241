//! What it costs that a bucket lies in a mapped file: `cargo bench -p tollgate-bench --bench shared_memory`.
//!
//! A bucket in the process and one in a file in the same rounds, each row beside its twin. A call may cost at most 1.2 times
//! the bucket's. Exit code 1 if one does not hold, 0 otherwise; on a machine whose default clock is not the time-stamp
//! counter the bar says nothing.

use std::process::ExitCode;

use tollgate::shared_memory::{Region, SharedBucket, SharedInFlight};
use tollgate::{Bucket, Quota};
use tollgate_bench::machine::Machine;
use tollgate_bench::ours::Asked;
use tollgate_bench::rounds::{Passes, Plan, Row, measure};
use tollgate_bench::rows::{plain, with_costs, with_wait};
use tollgate_bench::scenario::{Audit, Scenario};
use tollgate_bench::{Contender, Decide, Waits, start, thread};

const PASSES: usize = 5;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };
const LIMIT: f64 = 1.2;

fn region() -> Region {
    let folder = tempfile::tempdir().expect("a folder");
    Region::open(folder.path().join("limits")).expect("a file")
}

fn bucket(quota: Quota) -> Asked<SharedBucket> {
    Asked(region().bucket("requests", quota).expect("a bucket"))
}

/// Permits in a file, taken and given back.
struct Permits(SharedInFlight);

impl Decide for Permits {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.0.try_acquire().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.0.try_acquire_n(cost).is_ok()
    }
}

struct Field {
    own: Bucket,
    own_empty: Bucket,
    shared: Asked<SharedBucket>,
    shared_empty: Asked<SharedBucket>,
    permits: Permits,
}

impl Field {
    fn new() -> Self {
        let quota = |scenario: Scenario| scenario.quota(0.0, 0);
        let (admit, deny) = (quota(Scenario::Admit), quota(Scenario::Deny));
        let field = Self {
            own: Contender::build(admit),
            own_empty: Contender::build(deny),
            shared: bucket(admit),
            shared_empty: bucket(deny),
            permits: Permits(region().in_flight("permits", 100).expect("permits")),
        };
        let _drained = field.shared_empty.0.acquire_up_to(u64::MAX);
        field
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::from(calls("in the process", &self.own, &self.own_empty));
        rows.extend(calls("in a file", &self.shared, &self.shared_empty));
        rows.push(plain("permit, in a file", &self.permits, Audit::All));
        rows
    }
}

fn calls<'a, B: Decide + Waits>(place: &str, full: &'a B, empty: &'a B) -> [Row<'a>; 4] {
    [
        plain(format!("admission, {place}"), full, Audit::All),
        with_costs(format!("weighted admission, {place}"), full),
        plain(format!("refusal, {place}"), empty, Audit::Nothing),
        with_wait(format!("refusal with its wait, {place}"), empty),
    ]
}

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    let machine = Machine::here();
    thread::pin_to(0);
    // All of them stay where they are until the end, so that each pass has its own places in memory.
    let fields: Vec<Field> = (0..PASSES).map(|_| Field::new()).collect();
    let plan = if smoke { SMOKE } else { Plan::PASS };
    let table = Passes::taken(PASSES, |pass| measure(&mut fields[pass].rows(), plan));
    println!("{machine}\n\n{:<40}{:>9}{:>14}", "row", "ns", "to in-process");
    let mut holds = true;
    for name in table.names() {
        print!("{name:<40}{:>9.2}", table.nanos(name));
        match name.split_once(", ") {
            Some((row, "in a file")) if row != "permit" => {
                let ratio = table.ratio(name, &format!("{row}, in the process"));
                holds &= ratio <= LIMIT;
                println!("{ratio:>14.3}");
            }
            _ => println!(),
        }
    }
    let counts = machine.reads_tsc() && !smoke;
    println!("\nall within {LIMIT} of a bucket's in the process: {}", if holds { "PASS" } else { "FAIL" });
    if holds || !counts { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
