//! Mutation testing of the core: does a test fail when a line of the library is made wrong?
//!
//! `.cargo/mutants.toml` lists the mutants that no test could catch, each with its reason.

use std::fs;
use std::path::Path;

use crate::process::Run;
use crate::report::{Outcome, passed_with, skipped};
use crate::steps::sample;
use crate::{project, tools};

/// As many mutants as CI has time for: about three minutes. A larger change is sampled, another part of it
/// every hour.
const MOST_IN_CI: usize = 12;

/// The rooms whose tests try the core: what stands on them takes longer to build than all else.
const OWN: &str = "--features=adjust,budget,inflight,keyed,serde,sharded,shared-memory,wait,window";

/// The core but its clocks, whose readings are the machine's, and but the text of quotas: many a mutant of a
/// `const fn` that the tests' own constants run keeps the compiler busy for minutes. Files that are named are
/// tested whatever they are.
const CORE: &str = "--file=src/*.rs --file=src/bucket/*.rs --file=src/quota/mod.rs --file=src/quota/error.rs";

/// Bookings belong to the room `wait`, whose own tests take longer. What is for edges alone is not built with
/// the core's tests.
const NOT_CORE: &str = "--exclude=src/bucket/booked.rs --exclude=src/bucket/cancelled.rs \
    --exclude=src/measured_requests.rs";

/// Without a run of the tests on the tree as it is, for which CI has no time: it would be built before the
/// first mutant, by one of two workers. The long tier has it.
const UNTRIED: &str = "--baseline=skip";

/// The tree without any file, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

pub(crate) fn run(arguments: &[String]) -> Outcome {
    tools::wheels()?;
    tools::mutants()?;
    match arguments {
        [] => changed(),
        [all] if all == "--full" => tested(&core(), OWN, "all"),
        files => {
            let files: Vec<_> = files.iter().map(|file| format!("--file={file}")).collect();
            tested(&files, "--all-features", "those named")
        }
    }
}

/// The mutants in what changed since the last commit older than four hours, or in everything if there is
/// none.
fn changed() -> Outcome {
    let base = Run::new("git").words("rev-list -1 --before").arg("4 hours ago").arg("HEAD").answer();
    let base = base.filter(|commit| !commit.is_empty()).unwrap_or_else(|| EMPTY_TREE.to_owned());
    let diff = Run::new("git").words("diff --no-color --no-ext-diff").arg(&base).words("-- src").answer();
    let diff = diff.ok_or("git diff failed")?;
    if diff.is_empty() {
        return skipped(format!("nothing in src/ differs from {base}"));
    }
    let file = project::target().join("mutants.diff");
    fs::write(&file, diff + "\n").map_err(|error| format!("{}: {error}", file.display()))?;
    let in_diff = [core(), vec![format!("--in-diff={}", file.display())]].concat();
    let count = listed(&in_diff)?;
    let in_diff = [in_diff, vec![UNTRIED.to_owned()]].concat();
    match count.div_ceil(MOST_IN_CI) {
        0 => skipped("no mutants in what changed in src/"),
        1 => tested(&in_diff, OWN, "all in the change"),
        parts => {
            let sample = format!("--shard={}/{parts}", sample::part(parts));
            let what = format!(
                "{sample} of {count} in the change, sampled; all of them: cargo xtask mutants --full"
            );
            tested(&[in_diff, vec![sample, "--sharding=round-robin".to_owned()]].concat(), OWN, &what)
        }
    }
}

fn core() -> Vec<String> {
    [CORE, NOT_CORE].iter().flat_map(|words| words.split_whitespace()).map(str::to_owned).collect()
}

fn mutants(which: &[String]) -> Run {
    which.iter().fold(Run::cargo("mutants --package tollgate --colors never"), Run::arg)
}

fn listed(which: &[String]) -> Result<usize, String> {
    let list = mutants(which).arg("--list").answer().ok_or("cargo mutants --list failed")?;
    Ok(list.lines().count())
}

/// Tests them, each copy of the tree with a target folder of its own. The tests are built without debug
/// information, in half the time.
fn tested(which: &[String], features: &str, what: &str) -> Outcome {
    let folder = project::target();
    let ended = mutants(which)
        .arg(features)
        .words("--jobs 2 --no-shuffle --timeout 300 --output")
        .arg(&folder)
        .no_target()
        .env("NEXTEST_PROFILE", "mutants")
        .tuned("CARGO_PROFILE_DEV_DEBUG", "none")
        .end()?;
    let lists = folder.join("mutants.out");
    let (caught, missed) = (lines_of(&lists.join("caught.txt")), lines_of(&lists.join("missed.txt")));
    let (hung, unviable) = (lines_of(&lists.join("timeout.txt")), lines_of(&lists.join("unviable.txt")));
    if [&caught, &missed, &hung].iter().all(|list| list.is_empty()) {
        return none_tested(features, unviable.len(), what);
    }
    // A mutant that hangs has been noticed; cargo-mutants has an exit code of its own for it.
    if missed.is_empty() && !caught.is_empty() && (ended.passed || !hung.is_empty()) {
        return passed_with(format!("{} caught, {} hung: {what}", caught.len(), hung.len()));
    }
    Err(format!("{} caught, {} survived: {}", caught.len(), missed.len(), missed.join("; ")))
}

/// No mutant compiles, which must not be because the tests do not.
fn none_tested(features: &str, unviable: usize, what: &str) -> Outcome {
    if unviable == 0 {
        return Err(format!("no mutant was tested: none is there, or the tests fail as they are: {what}"));
    }
    let check = Run::cargo("check --quiet --package tollgate --lib --tests").arg(features);
    check.target_of("mutants").run()?;
    skipped(format!("none of {unviable} mutants compiles, {what}"))
}

fn lines_of(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}
