//! What it costs that a quota can be changed: `cargo bench -p tollgate-bench --bench adjust`.
//!
//! A fixed bucket and an adjustable one in the same rounds, each row beside its twin: before any change, after one, and
//! with a quota that no cell is kept for; and the shards of an allowance over either. An admission may cost at most 1.15 times the fixed bucket's. Exit code 1 if one
//! does not hold, 0 otherwise; on a machine whose default clock is not the time-stamp counter the bar says nothing.

use std::process::ExitCode;

use tollgate::adjust::{Adjustable, Held};
use tollgate::sharded::{self, Root, Shard, Sharded};
use tollgate::{Bucket, Monotonic, Quota};
use tollgate_bench::machine::Machine;
use tollgate_bench::ours::Asked;
use tollgate_bench::rounds::{Passes, Plan, Row, measure};
use tollgate_bench::rows::{after_fence, plain, with_costs, with_wait};
use tollgate_bench::scenario::{Audit, Scenario};
use tollgate_bench::{Contender, Decide, Waits, floors, start, thread};

const PASSES: usize = 5;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };
const IDLE: &str = "fence alone";
const LIMIT: f64 = 1.15;

type Ours = Asked<Adjustable>;

/// As if it had been made for the quota, but changed to it after so many others.
fn changed(quota: Quota, others: u64) -> Ours {
    let limit = Adjustable::new(quota.burst(quota.capacity() / 2).unwrap_or(quota));
    for more in 1..=others {
        limit.adjust(quota.burst(quota.capacity() + more).expect("a representable quota"), Held::Fraction);
    }
    limit.adjust(quota, Held::Fraction);
    Asked(limit)
}

/// An allowance leased to cores, and a handle of one of its shards.
struct Leased<R: Root<Monotonic>> {
    limit: Sharded<Monotonic, R>,
    shard: Shard<Monotonic, R>,
}

impl<R: Root<Monotonic>> Leased<R> {
    fn of(limit: Sharded<Monotonic, R>) -> Self {
        Self { shard: limit.shard(), limit }
    }

    fn rows(&self, name: &str) -> [Row<'_>; 2] {
        [
            plain(format!("leased admission, {name}"), &self.shard, Audit::All),
            plain(format!("looked-up admission, {name}"), &self.limit, Audit::All),
        ]
    }
}

impl Leased<Adjustable> {
    fn changed(quota: Quota) -> Self {
        let half = quota.burst(quota.capacity() / 2).unwrap_or(quota);
        let limit = Sharded::adjustable(divided(&half), Monotonic::new());
        limit.adjust(quota, Held::Fraction);
        Self::of(limit)
    }
}

/// For four threads.
fn divided(quota: &Quota) -> sharded::Plan {
    sharded::Plan::for_threads(quota, 4)
}

struct Field {
    fence: floors::Nothing,
    fixed: Bucket,
    fixed_empty: Bucket,
    new: Ours,
    new_empty: Ours,
    changed: Ours,
    changed_empty: Ours,
    beyond: Ours,
    fixed_leased: Leased<Bucket>,
    new_leased: Leased<Adjustable>,
    changed_leased: Leased<Adjustable>,
}

impl Field {
    fn new() -> Self {
        let quota = |scenario: Scenario| scenario.quota(0.0, 0);
        let (admit, deny) = (quota(Scenario::Admit), quota(Scenario::Deny));
        let field = Self {
            fence: floors::Nothing,
            fixed: Contender::build(admit),
            fixed_empty: Contender::build(deny),
            new: Asked(Adjustable::new(admit)),
            new_empty: Asked(Adjustable::new(deny)),
            changed: changed(admit, 1),
            changed_empty: changed(deny, 1),
            beyond: changed(admit, 600),
            fixed_leased: Leased::of(Sharded::with_plan(divided(&admit), Monotonic::new())),
            new_leased: Leased::of(Sharded::adjustable(divided(&admit), Monotonic::new())),
            changed_leased: Leased::changed(admit),
        };
        for limit in [&field.new_empty, &field.changed_empty] {
            let _drained = limit.0.acquire_up_to(u64::MAX);
        }
        field
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = vec![after_fence(IDLE, &self.fence, Audit::All)];
        rows.extend(admissions("fixed", &self.fixed));
        rows.extend(admissions("adjustable", &self.new));
        rows.extend(admissions("changed", &self.changed));
        rows.extend(refusals("fixed", &self.fixed_empty));
        rows.extend(refusals("adjustable", &self.new_empty));
        rows.extend(refusals("changed", &self.changed_empty));
        rows.extend(self.fixed_leased.rows("fixed"));
        rows.extend(self.new_leased.rows("adjustable"));
        rows.extend(self.changed_leased.rows("changed"));
        rows.push(plain("admission, beyond the cells that are kept", &self.beyond, Audit::All));
        rows
    }
}

fn admissions<'a>(name: &str, limiter: &'a impl Decide) -> [Row<'a>; 3] {
    [
        plain(format!("admission, {name}"), limiter, Audit::All),
        with_costs(format!("weighted admission, {name}"), limiter),
        after_fence(format!("fenced admission, {name}"), limiter, Audit::All),
    ]
}

fn refusals<'a>(name: &str, limiter: &'a impl Waits) -> [Row<'a>; 3] {
    [
        plain(format!("refusal, {name}"), limiter, Audit::Nothing),
        with_wait(format!("refusal with its wait, {name}"), limiter),
        after_fence(format!("fenced refusal, {name}"), limiter, Audit::Nothing),
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
    println!("{machine}\n\n{:<44}{:>9}{:>10}", "row", "ns", "to fixed");
    let mut holds = true;
    for name in table.names() {
        let (row, kind) = name.split_once(", ").unwrap_or((name, ""));
        let fixed = format!("{row}, fixed");
        let ratio = match (name == IDLE, row.starts_with("fenced")) {
            (true, _) => 1.0,
            (_, true) => table.net_ratio(name, &fixed, IDLE),
            (_, false) => table.ratio(name, &fixed),
        };
        println!("{name:<44}{:>9.2}{ratio:>10.3}", table.nanos(name));
        let has_a_bar =
            row.ends_with("admission") && !row.starts_with("fenced") && !kind.starts_with("beyond");
        holds &= !has_a_bar || ratio <= LIMIT;
    }
    let counts = machine.reads_tsc() && !smoke;
    println!("\nadmissions within {LIMIT} of a fixed bucket's: {}", if holds { "PASS" } else { "FAIL" });
    if holds || !counts { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
