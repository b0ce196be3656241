//! `tollgate compare`: limiters side by side, in this process and on this machine, or in a store.

mod accuracy;
mod budget;
mod cell;
mod course;
mod field;
mod floors;
mod html;
#[cfg(feature = "redis")]
mod in_store;
#[cfg(not(feature = "redis"))]
#[path = "without_store.rs"]
mod in_store;
mod json;
mod judge;
mod keyed;
mod pace;
mod progress;
mod rows;
mod samples;
mod table;

use std::time::Duration;

use tollgate_bench::Scenario;
use tollgate_bench::machine::Machine;
use tollgate_bench::thread::cores;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::{Destination, tell};

use self::cell::Cell;
use self::course::Plan;
use self::field::{Entry, FIELD};
use self::floors::Floors;

pub(crate) use self::keyed::flood_here;

/// The scenarios, in the order of the tables.
pub(crate) const SCENARIOS: [Scenario; 5] =
    [Scenario::Admit, Scenario::Boundary, Scenario::Deny, Scenario::Weighted, Scenario::Burst];

/// The names that `--scenario` takes, with and without `--keyed`.
pub(crate) fn scenarios() -> Vec<&'static str> {
    [&SCENARIOS.map(|scenario| scenario.name())[..], &keyed::scenarios()].concat()
}

/// The names that `--limiter` takes, in all comparisons; each once.
pub(crate) fn limiters() -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in field::names().into_iter().chain(keyed::limiters()).chain(in_store::limiters()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// With `--quick`: what a limiter gets in a scenario at most, and what everything together may take.
const QUICK: Duration = Duration::from_millis(750);
const QUICK_TOTAL: Duration = Duration::from_secs(40);

/// What the comparison is called that is asked for by nothing.
const PLAIN: &str = "without --keyed or --redis";

/// What a limiter gets in a scenario otherwise.
const THOROUGH: Duration = Duration::from_secs(3);

/// A finished comparison.
#[derive(Debug)]
pub(crate) struct Compared {
    machine: Machine,
    floors: Floors,
    cells: Vec<Cell>,
    plan: Plan,
}

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    if args.keyed {
        return keyed::run(args);
    }
    if let Some(place) = &args.redis {
        return in_store::run(args, place);
    }
    known("--scenario", &args.scenario, &SCENARIOS.map(|scenario| scenario.name()), PLAIN)?;
    known("--limiter", &args.limiter, &field::names(), PLAIN)?;
    let compared = Compared::measure(plan(args));
    // A report that cannot be written must not cost the reader the figures, nor a closed pipe the verdict.
    let drawn = draw(args, &compared);
    let told = tell(args.json.as_ref(), || json::render(&compared), || table::render(&compared));
    compared.verdict().and(drawn).and(told)
}

impl Compared {
    fn measure(plan: Plan) -> Self {
        // Cores are counted before any thread is bound to one.
        let machine = Machine::here();
        let floors = Floors::measure();
        Self { machine, floors, cells: plan.run(), plan }
    }

    /// An error if a limiter admitted more than its bound in any interval.
    fn verdict(&self) -> Result<(), Failure> {
        let over = |entry: &&'static Entry| {
            let cells = self.cells.iter().filter(|cell| cell.entry.name == entry.name);
            (entry.name, cells.map(Cell::violations).sum::<u64>())
        };
        let broken: Vec<_> = self.plan.limiters.iter().map(over).filter(|(_, count)| *count > 0).collect();
        if broken.is_empty() { Ok(()) } else { Err(Failure::OverAdmission(broken)) }
    }
}

fn plan(args: &CompareArgs) -> Plan {
    let scenarios = chosen(&args.scenario, SCENARIOS.iter().copied(), |scenario| scenario.name());
    let limiters = chosen(&args.limiter, FIELD.iter(), |entry| entry.name);
    let threads = threads(&args.threads);
    let courses = (scenarios.len() * limiters.len()) as u32;
    let time = match (args.seconds, args.quick) {
        (Some(seconds), _) => seconds * courses,
        (None, true) => (QUICK * courses).min(QUICK_TOTAL),
        (None, false) => THOROUGH * courses,
    };
    Plan { scenarios, limiters, threads, time }
}

/// Refuses a name that belongs to another of the comparisons.
fn known(option: &str, named: &[String], all: &[&str], comparison: &str) -> Result<(), Failure> {
    let Some(other) = named.iter().find(|name| !all.contains(&name.as_str())) else { return Ok(()) };
    Err(Failure::Input(format!("{option} {other} cannot be used {comparison}; expected {}", all.join(", "))))
}

/// Those that were named, or all, in their own order and each once.
fn chosen<T>(named: &[String], all: impl Iterator<Item = T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    all.filter(|one| named.is_empty() || named.iter().any(|wanted| wanted == name(one))).collect()
}

fn threads(named: &[u16]) -> Vec<usize> {
    let mut threads: Vec<usize> = match named {
        [] => vec![1, 2, cores(), 4 * cores()],
        _ => named.iter().copied().map(usize::from).collect(),
    };
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn draw(args: &CompareArgs, compared: &Compared) -> Result<(), Failure> {
    match &args.html {
        Some(file) => Destination::File(file.clone()).write(&html::render(compared)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitCode;
    use tollgate::{Bucket, Clock, Quota};
    use tollgate_bench::{Contender, Decide};

    /// Decides and then admits all the same: what the audit is there to find.
    struct Generous(Bucket);

    impl Decide for Generous {
        fn decide(&self) -> bool {
            self.0.decide() || self.0.quota().capacity() > 0
        }

        fn decide_n(&self, cost: u32) -> bool {
            self.0.decide_n(cost) || self.decide()
        }
    }

    impl Contender for Generous {
        type Handle<'a> = &'a Self;

        fn build(quota: Quota) -> Self {
            Self(Bucket::build(quota))
        }

        fn handle(&self) -> &Self {
            self
        }

        fn now(&self) -> u64 {
            self.0.clock().now().as_u64()
        }
    }

    static GENEROUS: Entry = Entry::of::<Generous>("test/generous");
    static STRICT: Entry = Entry::of::<Bucket>("tollgate/bucket");

    #[test]
    fn an_over_admission_is_found_told_and_fails_the_run() {
        let time = Duration::from_millis(100);
        let limiters = vec![&STRICT, &GENEROUS];
        let plan = Plan { scenarios: vec![Scenario::Boundary], limiters, threads: vec![1], time };
        let compared = Compared::measure(plan);
        let of = |name| rows::rows(&compared.cells).into_iter().find(|row| row.limiter() == name).unwrap();
        let [strict, generous] = [STRICT.name, GENEROUS.name].map(of);
        assert_eq!(strict.cell.violations(), 0);
        assert!(generous.cell.violations() > 0);
        let json: serde_json::Value = serde_json::from_str(&json::render(&compared).unwrap()).unwrap();
        let violations = |index: usize| json["results"][index]["violations"].as_u64();
        assert_eq!([0, 1].map(violations), [Some(0), Some(generous.cell.violations())]);
        assert!(html::render(&compared).contains("<tr class=\"over\">"));
        let table = table::render(&compared);
        let over: Vec<_> = table.lines().filter(|line| line.contains("OVER")).collect();
        assert!(over.len() == 1 && over[0].contains("test/generous"), "{table}");
        let failure = compared.verdict().unwrap_err();
        assert!(
            matches!(&failure, Failure::OverAdmission(who) if who[0].0 == "test/generous" && who.len() == 1)
        );
        assert_eq!(failure.report(), ExitCode::from(1));
    }

    #[test]
    fn numbers_of_threads_are_told_once() {
        assert_eq!(threads(&[8, 1, 8]), [1, 8]);
        let default = threads(&[]);
        assert!(default.contains(&1) && default.contains(&2) && default.contains(&(4 * cores())));
        assert!(default.is_sorted_by(|one, next| one < next), "{default:?}");
    }

    #[test]
    fn what_is_named_is_taken_in_the_order_of_the_tables() {
        let named = ["deny", "admit", "deny"].map(str::to_owned);
        let chosen = chosen(&named, SCENARIOS.into_iter(), |scenario| scenario.name());
        assert_eq!(chosen, [Scenario::Admit, Scenario::Deny]);
    }
}
