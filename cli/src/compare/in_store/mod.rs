//! `tollgate compare --redis`: what a decision costs that a store makes, and how the bound is kept there.

mod bout;
mod caller;
mod json;
mod table;

use std::time::Duration;

use tollgate_bench::Scenario;
use tollgate_bench::machine::Machine;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::tell;
use crate::place::Place;
use crate::store::Store;

use super::progress::Progress;
use super::{chosen, known};

use self::bout::{Bout, Bouts};
use self::caller::Kind;

pub(super) use self::caller::names as limiters;

/// How a store is loaded; a subset of what other limiters are.
const SCENARIOS: [Scenario; 3] = [Scenario::Admit, Scenario::Boundary, Scenario::Deny];

/// Calls under way at a time, unless others are asked for.
const CALLERS: [u16; 3] = [1, 8, 64];

/// What each limiter gets in each scenario, over all numbers of callers.
const THOROUGH: Duration = Duration::from_secs(3);
const QUICK: Duration = Duration::from_millis(750);

/// What is to be compared.
struct Plan {
    scenarios: Vec<Scenario>,
    kinds: Vec<Kind>,
    callers: Vec<u16>,
    /// For one limiter in one scenario.
    time: Duration,
}

/// A finished comparison.
struct Compared {
    machine: Machine,
    store: String,
    bouts: Vec<Bout>,
}

/// Runs the command.
pub(super) fn run(args: &CompareArgs, place: &Place) -> Result<(), Failure> {
    known("--scenario", &args.scenario, &SCENARIOS.map(|scenario| scenario.name()), "with --redis")?;
    known("--limiter", &args.limiter, &limiters(), "with --redis")?;
    let compared = plan(args).run(&Store::open(place)?)?;
    let told = tell(args.json.as_ref(), || json::render(&compared), || table::render(&compared));
    compared.verdict().and(told)
}

fn plan(args: &CompareArgs) -> Plan {
    let mut callers = if args.threads.is_empty() { CALLERS.to_vec() } else { args.threads.clone() };
    callers.sort_unstable();
    callers.dedup();
    Plan {
        scenarios: chosen(&args.scenario, SCENARIOS.into_iter(), |scenario| scenario.name()),
        kinds: chosen(&args.limiter, Kind::ALL.into_iter(), |kind| kind.name()),
        callers,
        time: args.seconds.unwrap_or(if args.quick { QUICK } else { THOROUGH }),
    }
}

impl Plan {
    fn run(&self, store: &Store) -> Result<Compared, Failure> {
        let courses = self.scenarios.len() * self.kinds.len();
        let progress = Progress::new(self.time * u32::try_from(courses).unwrap_or(u32::MAX));
        let each = self.time / u32::try_from(self.callers.len()).unwrap_or(u32::MAX).max(1);
        let bouts = Bouts::new(store)?;
        let mut done = Vec::new();
        for &scenario in &self.scenarios {
            for &callers in &self.callers {
                for &kind in &self.kinds {
                    progress.show(|| format!("{}, {callers} callers, {}", scenario.name(), kind.name()));
                    done.push(bouts.run(kind, scenario, callers, each)?);
                }
            }
        }
        Ok(Compared { machine: Machine::here(), store: store.name().to_owned(), bouts: done })
    }
}

impl Compared {
    /// An error if more was admitted than `B + r*t`.
    fn verdict(&self) -> Result<(), Failure> {
        let over: Vec<_> = self.bouts.iter().filter(|bout| bout.tally.violations > 0).collect();
        let broken = Kind::ALL.into_iter().filter_map(|kind| {
            let count = over.iter().filter(|bout| bout.kind == kind).count() as u64;
            (count > 0).then_some((kind.name(), count))
        });
        let broken: Vec<_> = broken.collect();
        if broken.is_empty() { Ok(()) } else { Err(Failure::OverAdmission(broken)) }
    }
}
