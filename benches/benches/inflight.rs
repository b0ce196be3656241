//! What a permit costs: `cargo bench -p tollgate-bench --bench inflight`.
//!
//! Every row is one permit taken and given back, or one refusal; ratios are to one compare-exchange in the same rounds.
//! Exit code 1 if the bar is missed. Every answer is checked.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use tokio::sync::Semaphore;
use tollgate::Manual;
use tollgate::inflight::{Adaptive, Aimd, Bounds, Gradient, InFlight, Joint, Outcome};
use tollgate::{Bucket, Quota};
use tollgate_bench::loops::back_to_back;
use tollgate_bench::machine::Machine;
use tollgate_bench::rounds::{Lap, Passes, Plan, Row, measure};
use tollgate_bench::scenario::Audit;
use tollgate_bench::team::{Team, scaling};
use tollgate_bench::{floors, opaque, pin, start, thread};

const PASSES: usize = 3;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };

const FLOOR: &str = "floor: compare-exchange";
const PERMIT: &str = "permit: taken and given back";

const BOTH_ENDS: &str = "floor: load, compare-exchange; subtract";

/// The bar of the project: both ends of a permit to one compare-exchange.
const BAR: f64 = 2.5;

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    let (plan, windows) = if smoke { (SMOKE, 3) } else { (Plan::PASS, 201) };
    println!("{}\n", Machine::here());
    thread::pin_to(0);
    // All of them stay where they are until the end, so that each pass has its own places in memory.
    let fields: Vec<Box<Field>> = (0..PASSES).map(|_| Box::new(Field::new())).collect();
    let table = Passes::taken(PASSES, |pass| measure(&mut fields[pass].rows(), plan));
    print(&table);
    print_scaling(windows);
    let figure = table.ratio(PERMIT, FLOOR);
    let holds = figure <= BAR;
    println!("\n{PERMIT} / {FLOOR}: {figure:.3} < {BAR}  {}", if holds { "PASS" } else { "FAIL" });
    if smoke || holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(table: &Passes) {
    println!("{:<48}{:>9}{:>12}", "row", "ns", "to the floor");
    for name in table.names() {
        println!("{name:<48}{:>9.2}{:>12.3}", table.nanos(name), table.ratio(name, FLOOR));
    }
    println!("\n{} samples were disturbed and taken again", table.retaken());
}

/// What is measured, each in the state its rows need.
struct Field {
    exchange: floors::CompareExchange,
    word: AtomicU64,
    free: Arc<InFlight>,
    full: InFlight,
    rate: Bucket,
    aimd: Adaptive<Aimd>,
    gradient: Adaptive<Gradient>,
    still: Adaptive<Gradient, Manual>,
    semaphore: Arc<Semaphore>,
    semaphore_full: Semaphore,
}

impl Field {
    fn new() -> Self {
        let bounds = Bounds::new(1, 100, 1_000).expect("valid bounds");
        let full = InFlight::new(1).expect("a valid limit");
        std::mem::forget(full.try_acquire().expect("there"));
        Self {
            exchange: floors::CompareExchange::default(),
            word: AtomicU64::new(0),
            free: Arc::new(InFlight::new(100).expect("a valid limit")),
            full,
            rate: Bucket::new(Quota::new(1_000_000_000, Duration::from_secs(1)).expect("a valid quota")),
            aimd: Adaptive::new(Aimd::default(), bounds),
            gradient: Adaptive::new(Gradient::default(), bounds),
            still: Adaptive::with_clock(Gradient::default(), bounds, Manual::new()),
            semaphore: Arc::new(Semaphore::new(100)),
            semaphore_full: Semaphore::new(0),
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = self.permit_rows();
        rows.extend(self.adaptive_rows());
        rows.extend(self.tokio_rows());
        rows
    }

    fn permit_rows(&self) -> Vec<Row<'_>> {
        let joint = Joint::new(&self.rate, &self.free);
        vec![
            Row::new(FLOOR, Audit::All, |calls| Lap::of(calls, || back_to_back(&self.exchange, calls))),
            admitted(BOTH_ENDS, &self.word, both_ends),
            admitted(PERMIT, &*self.free, |limit| limit.try_acquire().is_ok()),
            admitted("permit of weight 7", &*self.free, |limit| limit.try_acquire_n(*opaque(&7)).is_ok()),
            admitted("owned permit", &self.free, |limit| limit.try_acquire_owned().is_ok()),
            refused("refusal", &self.full, |limit| limit.try_acquire().is_ok()),
            admitted("joint with a bucket", joint, |joint| joint.try_acquire().is_ok()),
        ]
    }

    fn adaptive_rows(&self) -> Vec<Row<'_>> {
        vec![
            admitted("adaptive, ignored", &self.aimd, |limit| limit.try_acquire().is_ok()),
            admitted("adaptive by AIMD, finished", &self.aimd, |limit| {
                limit.try_acquire().map(|permit| permit.finish(Outcome::Success)).is_ok()
            }),
            admitted("adaptive by gradient, finished", &self.gradient, |limit| {
                limit.try_acquire().map(|permit| permit.finish(Outcome::Success)).is_ok()
            }),
            admitted("adaptive by gradient, manual clock", &self.still, |limit| {
                limit.try_acquire().map(|permit| permit.finish(Outcome::Success)).is_ok()
            }),
        ]
    }

    fn tokio_rows(&self) -> Vec<Row<'_>> {
        vec![
            admitted("tokio semaphore: taken and given back", &*self.semaphore, |limit| {
                limit.try_acquire().is_ok()
            }),
            admitted("tokio semaphore: owned", &self.semaphore, |limit| {
                Arc::clone(limit).try_acquire_owned().is_ok()
            }),
            refused("tokio semaphore: refusal", &self.semaphore_full, |limit| limit.try_acquire().is_ok()),
        ]
    }
}

/// The least that counts up under a limit, and down again.
#[inline(always)]
fn both_ends(word: &AtomicU64) -> bool {
    let seen = word.load(Relaxed);
    seen < 100
        && word.compare_exchange(seen, seen + 1, Acquire, Relaxed).is_ok()
        && word.fetch_sub(1, Release) > 0
}

fn admitted<'a, L: Opaque + 'a>(name: &str, limit: L, call: impl Fn(&L::Seen) -> bool + 'a) -> Row<'a> {
    Row::new(name, Audit::All, move |calls| Lap::of(calls, || repeat(&limit, calls, &call)))
}

fn refused<'a, L: Opaque + 'a>(name: &str, limit: L, call: impl Fn(&L::Seen) -> bool + 'a) -> Row<'a> {
    Row::new(name, Audit::Nothing, move |calls| Lap::of(calls, || repeat(&limit, calls, &call)))
}

/// Made opaque on every turn: what a reference points to, and what a joint limit holds.
trait Opaque {
    type Seen: ?Sized;
    fn seen(&self) -> &Self::Seen;
}

impl<T> Opaque for &T {
    type Seen = T;

    #[inline(always)]
    fn seen(&self) -> &T {
        opaque(*self)
    }
}

impl Opaque for Joint<'_, tollgate::Monotonic> {
    type Seen = Self;

    #[inline(always)]
    fn seen(&self) -> &Self {
        opaque(self)
    }
}

#[inline(always)]
fn repeat<L: Opaque>(limit: &L, calls: u64, call: impl Fn(&L::Seen) -> bool) -> u64 {
    (0..calls).map(|_| pin(call(limit.seen()))).sum()
}

/// Refusals write nothing, so two threads make twice as many.
fn print_scaling(windows: usize) {
    const CALLS: u64 = 50_000;
    let (pair, field) = (Team::new(2), Field::new());
    let figure = scaling(&pair, windows, || {
        let lap = Lap::of(CALLS, || repeat(&&field.full, CALLS, |limit| limit.try_acquire().is_ok()));
        assert_eq!(lap.admitted, 0, "nothing is left to admit");
        lap
    });
    let figure = figure.map_or("no undisturbed windows".to_owned(), |figure| format!("{figure:.3}"));
    println!("refusals on two threads / on one: {figure}");
}
