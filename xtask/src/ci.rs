//! What CI does, cheap steps first, so that a mistake shows soon.

use std::process::ExitCode;

use crate::report::{self, Lane, Outcome, Step};
use crate::steps::{
    examples, features, figures, fuzz, measures, models, mutants, pictures, proofs, readme, style, suites,
    targets, twins,
};
use crate::tools;

const fn step(name: &'static str, about: &'static str, run: fn(&[String]) -> Outcome) -> Step {
    Step { name, about, run, lane: Lane::Here }
}

const fn beside(name: &'static str, about: &'static str, run: fn(&[String]) -> Outcome) -> Step {
    Step { name, about, run, lane: Lane::Beside }
}

/// The steps of `cargo xtask ci`.
pub(crate) const STEPS: &[Step] = &[
    step("tools", "installs what the other steps need", tools::install),
    step("fmt", "the formatting", style::fmt),
    step("deny", "licences, bans and sources of all dependencies", style::deny),
    beside("prove", "SMT proof of the transitions for every word", proofs::prove),
    step("no-std", "the core without features in a program without std", features::no_std),
    step("check-features", "each feature alone and in pairs, warnings denied", features::check),
    step("clippy", "lints on everything, warnings denied", style::clippy),
    step("docs", "the documentation, warnings denied", style::docs),
    step("doctests", "the examples in the documentation", suites::doctests),
    step("test-members", "the tests of every package but the library", suites::members),
    step("examples", "the library's examples, each to its end", examples::run),
    step("test-release", "the library's tests, as released", suites::release),
    step("figures", "figures in the documents are what their commands print", figures::check),
    step("readme", "the README's commands and programs, in an empty folder", readme::run),
    step("package", "the crate as it would be published", style::package),
    beside("loom", "all interleavings up to 3 preemptions, with floors", models::loom),
    beside("shuttle", "random schedules of more threads", models::shuttle),
    beside("twins", "each known-bad twin is caught by the test it names", twins::catch),
    step("instructions", "instructions per decision, under valgrind", measures::instructions),
    beside("coverage", "the library's tests, debug build, and the lines that they run", measures::coverage),
    step("fuzz", "each fuzz target for 20 seconds", fuzz::run),
    beside("mutants", "mutants of what changed in the core", mutants::run),
    step("miri", "tests under Miri", targets::miri),
    step("32-bit", "tests on a 32-bit target", targets::narrow),
    step("tsan", "tests under the thread sanitizer", targets::tsan),
];

/// The long tier of `cargo xtask full`, for a release.
pub(crate) const FULL: &[Step] = &[
    step("tools", "installs what the other steps need", tools::install),
    step("prove", "SMT proof of the transitions for every word", proofs::prove),
    step("loom-unbounded", "all interleavings", |_| models::loom(&["--unbounded".to_owned()])),
    step("fuzz-long", "each fuzz target for 10 minutes", |_| fuzz::run(&["600".to_owned()])),
    step("twins-full", "every twin", |_| twins::catch(&["--full".to_owned()])),
    step("mutants-full", "every mutant of the core", |_| mutants::run(&["--full".to_owned()])),
];

/// `cargo xtask test`.
const TEST: Step = step("test", "every test and doctest", suites::all);

/// `cargo xtask pictures`.
const PICTURES: Step = step("pictures", "draws the pictures of docs/performance.md", pictures::draw);

/// The step of that name.
pub(crate) fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().chain([&TEST, &PICTURES]).find(|step| step.name == name)
}

/// Runs the steps, or those of them that are named.
pub(crate) fn run(steps: &'static [Step], only: &[String]) -> ExitCode {
    let unknown = only.iter().find(|name| !steps.iter().any(|step| step.name == name.as_str()));
    if let Some(name) = unknown {
        eprintln!("xtask: no step `{name}`; `cargo xtask help` lists them");
        return ExitCode::from(2);
    }
    let chosen = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    report::all(&steps.iter().filter(chosen).collect::<Vec<_>>())
}
