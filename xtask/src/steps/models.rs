//! Model checking of the library's concurrency: loom tries all interleavings, shuttle many random ones.
//!
//! Both need a build of the library of its own, whose atomics are the checker's. Each loom model prints a line
//! `iterations NAME COUNT` when it is through.

use std::collections::BTreeMap;
use std::fs;

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with};

/// One preemption fewer missed a real bug; one more costs four times as much.
const PREEMPTIONS: &str = "3";

/// More than any model has.
const UNBOUNDED: &str = "1000";

/// Interleavings of each model at 3 preemptions when they were last recorded: lines of `NAME COUNT`.
const RECORDED: &str = "loom-tests/iterations.txt";

/// A model that was cut short still says "ok", so each must reach so much of its recorded count, in percent.
const FLOOR: u64 = 90;

type Counts = BTreeMap<String, u64>;

/// A checker and the tests that are its models.
pub(crate) struct Checker {
    /// The name of its cfg, and of its target folder.
    pub(crate) name: &'static str,
    tests: &'static str,
}

pub(crate) fn loom(arguments: &[String]) -> Outcome {
    let unbounded = arguments.iter().any(|argument| argument == "--unbounded");
    let run = LOOM.test().target_of(LOOM.name);
    let run = if unbounded { run } else { soon_built(run) };
    let run = run.env("LOOM_MAX_PREEMPTIONS", if unbounded { UNBOUNDED } else { PREEMPTIONS });
    let counts = counts(&run.words("-- --nocapture").heard()?, "iterations ");
    // Without a bound there are more iterations still, so the floors hold there too.
    let recorded =
        fs::read_to_string(project::root().join(RECORDED)).map_err(|error| format!("{RECORDED}: {error}"))?;
    let short = short_of_floor(&self::counts(&recorded, ""), &counts);
    if !short.is_empty() {
        return Err(short.join("; "));
    }
    passed_with(format!("{} models, {} iterations", counts.len(), counts.values().sum::<u64>()))
}

pub(crate) fn shuttle(_: &[String]) -> Outcome {
    let run = soon_built(SHUTTLE.test()).target_of(SHUTTLE.name);
    let counts = counts(&run.words("-- --nocapture").heard()?, "schedules ");
    match counts.len() {
        SHUTTLE_MODELS.. => {
            passed_with(format!("{} models, {} schedules", counts.len(), counts.values().sum::<u64>()))
        }
        fewer => Err(format!("{fewer} of {SHUTTLE_MODELS} shuttle models ran")),
    }
}

/// So many models there are at least; a run that is empty or was cut short must not pass.
const SHUTTLE_MODELS: usize = 12;

pub(crate) const LOOM: Checker = Checker { name: "loom", tests: "models" };
pub(crate) const SHUTTLE: Checker = Checker { name: "shuttle", tests: "schedules" };

impl Checker {
    pub(crate) fn test(&self) -> Run {
        Run::cargo("test --release --package tollgate-loom-tests --test")
            .arg(self.tests)
            .env("RUSTFLAGS", format!("--cfg {}", self.name))
    }
}

/// The release build takes several times as long to build, for models that run in seconds.
pub(crate) fn soon_built(run: Run) -> Run {
    run.tuned("CARGO_PROFILE_RELEASE_LTO", "off")
        .tuned("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .tuned("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64")
        .tuned("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
}

/// The pairs of a name and a count that follow the prefix. Test threads share the line with the harness, which writes
/// `test NAME ... ` before it.
fn counts(text: &str, prefix: &str) -> Counts {
    let pair = |line: &str| {
        let (_, rest) = line.split_once(prefix)?;
        let (name, count) = rest.trim().split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// What is wrong: a model below its floor, one that did not run, one that is not recorded.
fn short_of_floor(recorded: &Counts, counts: &Counts) -> Vec<String> {
    let below = recorded.iter().filter_map(|(name, recorded)| match counts.get(name) {
        None => Some(format!("{name} did not run")),
        Some(count) if count * 100 < recorded * FLOOR => {
            Some(format!("{name}: {count} of {recorded} iterations"))
        }
        Some(_) => None,
    });
    let unknown = counts.keys().filter(|name| !recorded.contains_key(*name));
    below.chain(unknown.map(|name| format!("{name} is not recorded in {RECORDED}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_behind_the_words_of_the_harness() {
        let output = "running 2 tests\ntest a ... iterations last_token 54\niterations pause 7\nok\n";
        assert_eq!(counts(output, "iterations "), counts("last_token 54\npause 7\n", ""));
        assert_eq!(counts(output, "iterations ").len(), 2);
    }

    #[test]
    fn a_model_cut_short_missing_or_unknown_is_told() {
        let recorded = counts("whole 100\nshort 100\nmissing 1\n", "");
        let ran = counts("whole 90\nshort 89\nunknown 5\n", "");
        let wrong = short_of_floor(&recorded, &ran);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(
            wrong[0].starts_with("missing")
                && wrong[1].starts_with("short")
                && wrong[2].starts_with("unknown")
        );
    }
}
