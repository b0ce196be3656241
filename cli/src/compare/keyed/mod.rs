//! `tollgate compare --keyed`: limiters that hold a bucket for each key, side by side.

mod field;
mod flood;
mod json;
mod loads;
mod table;

use std::time::Duration;

use tollgate_bench::keyed::keys::Pattern;
use tollgate_bench::machine::Machine;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::tell;

use super::budget::Budget;
use super::floors::Floors;
use super::progress::Progress;
use super::{QUICK, QUICK_TOTAL, THOROUGH, chosen, known, threads};

use self::field::{Entry, FIELD};
use self::flood::Flood;
use self::loads::Cell;

pub(super) use self::field::names as limiters;
pub(crate) use self::flood::run_here as flood_here;

/// How limiters are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    /// A stream of keys that are known, every call admitted.
    Load(Pattern),
    /// Keys that never come again.
    Flood,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario::Load(Pattern::Hot),
    Scenario::Load(Pattern::Uniform),
    Scenario::Load(Pattern::Zipf),
    Scenario::Flood,
];

/// The names that `--scenario` takes.
pub(super) fn scenarios() -> [&'static str; SCENARIOS.len()] {
    SCENARIOS.map(Scenario::name)
}

impl Scenario {
    const fn name(self) -> &'static str {
        match self {
            Self::Load(Pattern::Hot) => "hot",
            Self::Load(Pattern::Uniform) => "uniform",
            Self::Load(Pattern::Zipf) => "zipf",
            Self::Flood => "flood",
        }
    }
}

/// Keys of a flood.
const FLOOD: usize = 10_000_000;
const QUICK_FLOOD: usize = 1_000_000;

/// What is to be compared.
#[derive(Clone, Debug)]
struct Plan {
    patterns: Vec<Pattern>,
    /// Keys of the flood, if there is to be one.
    flood: Option<usize>,
    limiters: Vec<&'static Entry>,
    threads: Vec<usize>,
    /// For all loads together.
    time: Duration,
}

/// A finished comparison.
struct Compared {
    machine: Machine,
    floors: Floors,
    patterns: Vec<Pattern>,
    cells: Vec<Cell>,
    floods: Vec<Flooded>,
}

/// A limiter that was flooded by so many threads.
struct Flooded {
    entry: &'static Entry,
    threads: usize,
    /// Whether its figures are wanted, or only the ratios of others to them.
    listed: bool,
    flood: Flood,
}

/// Runs the command.
pub(super) fn run(args: &CompareArgs) -> Result<(), Failure> {
    known("--scenario", &args.scenario, &scenarios(), "with --keyed")?;
    known("--limiter", &args.limiter, &limiters(), "with --keyed")?;
    let compared = plan(args).run()?;
    let told = tell(args.json.as_ref(), || json::render(&compared), || table::render(&compared));
    compared.verdict().and(told)
}

fn plan(args: &CompareArgs) -> Plan {
    let scenarios = chosen(&args.scenario, SCENARIOS.into_iter(), |scenario| scenario.name());
    let limiters = chosen(&args.limiter, FIELD.iter(), |entry| entry.name);
    let patterns = scenarios.iter().filter_map(|scenario| match scenario {
        Scenario::Load(pattern) => Some(*pattern),
        Scenario::Flood => None,
    });
    let patterns: Vec<_> = patterns.collect();
    let courses = (patterns.len() * limiters.len()) as u32;
    let time = match (args.seconds, args.quick) {
        (Some(seconds), _) => seconds * courses,
        (None, true) => (QUICK * courses).min(QUICK_TOTAL),
        (None, false) => THOROUGH * courses,
    };
    let keys = if args.quick { QUICK_FLOOD } else { FLOOD };
    let flood = scenarios.contains(&Scenario::Flood).then_some(keys);
    Plan { patterns, flood, limiters, threads: threads(&args.threads), time }
}

impl Plan {
    /// Measures everything, scenario by scenario.
    fn run(&self) -> Result<Compared, Failure> {
        // Cores are counted before any thread is bound to one.
        let machine = Machine::here();
        let floors = Floors::measure();
        let progress = Progress::new(self.time);
        let mut budget = Budget::new(self.time, loads::units(self));
        let load = |&pattern| loads::measure(self, pattern, &mut budget, &progress);
        let cells = self.patterns.iter().flat_map(load).collect();
        let floods = self.flood.map_or(Ok(Vec::new()), |keys| self.floods(keys, &progress))?;
        Ok(Compared { machine, floors, patterns: self.patterns.clone(), cells, floods })
    }

    fn floods(&self, keys: usize, progress: &Progress) -> Result<Vec<Flooded>, Failure> {
        let mut floods = Vec::new();
        for &threads in &self.threads {
            for (entry, listed) in self.entries() {
                progress.show(|| format!("flood, {}, {}", crate::text::threads(threads), entry.name));
                let flood = Flood::of(entry, threads, keys)?;
                floods.push(Flooded { entry, threads, listed, flood });
            }
        }
        Ok(floods)
    }

    /// The limiters asked for and whether they are listed: the one that ratios are taken to is measured in any case.
    fn entries(&self) -> Vec<(&'static Entry, bool)> {
        let listed = |entry: &'static Entry| self.limiters.iter().any(|wanted| wanted.name == entry.name);
        let wanted = |entry: &&'static Entry| listed(entry) || entry.name == field::REFERENCE;
        FIELD.iter().filter(wanted).map(|entry| (entry, listed(entry))).collect()
    }
}

impl Compared {
    /// An error if a drained key was admitted anything during a flood.
    fn verdict(&self) -> Result<(), Failure> {
        let forgiving =
            self.floods.iter().filter(|flooded| flooded.listed && flooded.flood.victim_admitted > 0);
        let broken: Vec<_> =
            forgiving.map(|flooded| (flooded.entry.name, flooded.flood.victim_admitted)).collect();
        if broken.is_empty() { Ok(()) } else { Err(Failure::OverAdmission(broken)) }
    }

    fn listed_floods(&self) -> impl Iterator<Item = &Flooded> {
        self.floods.iter().filter(|flooded| flooded.listed)
    }

    /// A flood's cost to governor's with as many threads.
    fn ratio_to_governor(&self, flooded: &Flooded) -> Option<f64> {
        let same =
            |other: &&Flooded| other.entry.name == field::REFERENCE && other.threads == flooded.threads;
        self.floods.iter().find(same).map(|governor| flooded.flood.ns_per_op / governor.flood.ns_per_op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgiven_victim_fails_the_run() {
        let flood = |victim_admitted| Flood {
            ns_per_op: 50.0,
            keys: 10,
            admitted: 10,
            keys_live: 10,
            memory_bytes: Some(100),
            memory_bytes_at_a_tenth: None,
            victim_admitted,
        };
        let compared = |victim_admitted| Compared {
            machine: Machine::here(),
            floors: Floors::measure(),
            patterns: Vec::new(),
            cells: Vec::new(),
            floods: vec![Flooded {
                entry: &FIELD[0],
                threads: 1,
                listed: true,
                flood: flood(victim_admitted),
            }],
        };
        assert!(compared(0).verdict().is_ok());
        assert!(
            matches!(compared(2).verdict(), Err(Failure::OverAdmission(who)) if who == [(FIELD[0].name, 2)])
        );
        assert!(table::render(&compared(2)).contains("OVER: 2"));
    }
}
