//! What several limits at once and a reservation cost: `cargo bench -p tollgate-bench --bench budget`.
//!
//! Ratios are to one admission of one bucket in the same rounds. Exit code 1 if the bar is missed. Every answer is checked.

use std::process::ExitCode;
use std::time::Duration;

use tollgate::budget::{AllOf, Budget};
use tollgate::{Bucket, Quota};
use tollgate_bench::machine::Machine;
use tollgate_bench::rounds::{Lap, Passes, Plan, Row, measure};
use tollgate_bench::scenario::Audit;
use tollgate_bench::{opaque, pin, start, thread};

const PASSES: usize = 3;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };

const ONE: &str = "one admission";
const FOUR: &str = "four limits at once";

/// The bar of the project: four limits at once cost no more than four admissions and ten nanoseconds.
const BAR_NANOS: f64 = 10.0;

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    let plan = if smoke { SMOKE } else { Plan::PASS };
    println!("{}\n", Machine::here());
    thread::pin_to(0);
    // All of them stay where they are until the end, so that each pass has its own places in memory.
    let fields: Vec<Box<Field>> = (0..PASSES).map(|_| Box::new(Field::new())).collect();
    let table = Passes::taken(PASSES, |pass| measure(&mut fields[pass].rows(), plan));
    println!("{:<48}{:>9}{:>14}", "row", "ns", "to admission");
    for name in table.names() {
        println!("{name:<48}{:>9.2}{:>14.3}", table.nanos(name), table.ratio(name, ONE));
    }
    println!("\n{} samples were disturbed and taken again", table.retaken());
    let (figure, bar) = (table.nanos(FOUR), 4.0 * table.nanos(ONE) + BAR_NANOS);
    let holds = figure <= bar;
    println!("\n{FOUR}: {figure:.2} ns < {bar:.2} ns  {}", if holds { "PASS" } else { "FAIL" });
    if smoke || holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is measured, each in the state its rows need.
struct Field {
    buckets: [Bucket; 4],
    empty: Bucket,
    budget: Budget,
}

impl Field {
    fn new() -> Self {
        let plenty = Quota::new(1_000_000_000, Duration::from_secs(1)).expect("a valid quota");
        let scarce = Quota::new(1, Duration::from_secs(86_400)).expect("a valid quota");
        let empty = Bucket::new(scarce);
        empty.drain();
        Self { buckets: [(); 4].map(|()| Bucket::new(plenty)), empty, budget: Budget::new(plenty) }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let [a, b, c, d] = &self.buckets;
        let one = move || opaque(a).try_acquire().is_ok();
        let four_apart = move || [a, b, c, d].into_iter().all(|bucket| opaque(bucket).try_acquire().is_ok());
        let four = move || {
            let limits = AllOf::new(["a", "b", "c", "d"], (opaque(a), opaque(b), opaque(c), opaque(d)));
            limits.try_acquire([1; 4]).is_ok()
        };
        let refused = move || {
            let limits =
                AllOf::new(["a", "b", "c", "d"], (opaque(a), opaque(b), opaque(c), opaque(&self.empty)));
            limits.try_acquire([1; 4]).is_ok()
        };
        let settled = move || {
            opaque(&self.budget).reserve(2).is_ok_and(|call| {
                call.settle(1).is_ok_and(|settled| settled.given_back + settled.withheld == 1)
            })
        };
        vec![
            row(ONE, Audit::All, one),
            row("four admissions, one after the other", Audit::All, four_apart),
            row(FOUR, Audit::All, four),
            row("four limits at once, refused by the last", Audit::Nothing, refused),
            row("reserved and settled", Audit::All, settled),
        ]
    }
}

fn row<'a>(name: &str, audit: Audit, call: impl Fn() -> bool + 'a) -> Row<'a> {
    Row::new(name, audit, move |calls| Lap::of(calls, || (0..calls).map(|_| pin(call())).sum()))
}
