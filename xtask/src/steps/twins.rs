//! Known-bad twins: the library with one thing made wrong, which the named test must notice.
//!
//! A twin is a patch in `loom-tests/twins/`. Before its first `diff` line it says what it breaks and which
//! test must catch it:
//!
//! ```text
//! Twin: an admission stores the word instead of exchanging it
//! Caught-by: loom last_token_of_two
//! ```
//!
//! The patch is applied to a copy of the tree. It must apply, compile, and leave the named test there to run:
//! a twin that is caught by a compile error or by no test at all would prove nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with};
use crate::steps::models::{Checker, LOOM, SHUTTLE, soon_built};
use crate::steps::sample;
use crate::tree;

const FOLDER: &str = "loom-tests/twins";

/// A test that has not failed by then does not count as failed.
const LIMIT: Duration = Duration::from_secs(120);

struct Twin {
    name: String,
    patch: PathBuf,
    suite: Suite,
    test: String,
}

/// Which tests the catching test is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suite {
    /// The models under loom.
    Loom,
    /// The models under shuttle.
    Shuttle,
    /// The library's integration tests.
    It,
    /// The library's unit tests.
    Lib,
    /// The integration tests of the C interface.
    Capi,
    /// The integration tests of the gateway, in the long tier only: nothing else is built with what it stands on.
    Gateway,
}

/// As many as CI has time for: some three minutes. They take turns, another part every hour; that each still
/// applies is tried every time.
const MOST_IN_CI: usize = 18;

/// Those that are named, `--full` for all, or this hour's part.
pub(crate) fn catch(arguments: &[String]) -> Outcome {
    let mut twins = twins()?;
    let all = twins.len();
    if all == 0 {
        return Err(format!("no twins in {FOLDER}"));
    }
    match arguments {
        [] => {
            twins.iter().try_for_each(Twin::still_applies)?;
            twins.retain(|twin| twin.suite != Suite::Gateway);
            let parts = twins.len().div_ceil(MOST_IN_CI);
            let mut turn = sample::part(parts)..;
            twins.retain(|_| turn.next().is_some_and(|turn| turn % parts == 0));
        }
        [full] if full == "--full" => {}
        names => {
            if let Some(name) = names.iter().find(|name| twins.iter().all(|twin| twin.name != **name)) {
                return Err(format!("no twin `{name}` in {FOLDER}"));
            }
            twins.retain(|twin| names.contains(&twin.name));
        }
    }
    let escaped: Vec<_> =
        twins.iter().filter_map(|twin| Some(format!("{}: {}", twin.name, twin.caught().err()?))).collect();
    if !escaped.is_empty() {
        return Err(escaped.join("; "));
    }
    passed_with(format!("{} of {all} caught; all of them: cargo xtask twins --full", twins.len()))
}

/// The twins, in the order of their suites, so that each suite's dependencies are built once.
fn twins() -> Result<Vec<Twin>, String> {
    let folder = project::root().join(FOLDER);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut patches: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    patches.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    patches.sort();
    patches.into_iter().map(Twin::read).collect()
}

impl Twin {
    fn read(patch: PathBuf) -> Result<Self, String> {
        let name = patch.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(&patch).map_err(|error| format!("{name}: {error}"))?;
        let (suite, test) = caught_by(&text)
            .ok_or(format!("{name}: no line `Caught-by: loom|shuttle|it|lib|capi|gateway TEST`"))?;
        Ok(Self { name, patch, suite, test: test.to_owned() })
    }

    /// Fails if the patch does not fit the tree as it is.
    fn still_applies(&self) -> Result<(), String> {
        let check = Run::new("git").words("apply --check").arg(&self.patch);
        check
            .answer()
            .map(drop)
            .ok_or_else(|| format!("{}: no longer applies: make the patch anew", self.name))
    }

    /// Fails if the twin was not caught, or not properly.
    fn caught(&self) -> Result<(), String> {
        println!("\n--- {}: {:?} {}", self.name, self.suite, self.test);
        let tree = project::target().join("twins/tree");
        tree::fresh_copy(&tree)?;
        self.apply(&tree)?;
        let run = || self.suite.run(&tree);
        run().arg("--no-run").run().map_err(|_| "does not compile")?;
        let listed = run().words("-- --list --exact").arg(&self.test).answer().unwrap_or_default();
        if !listed.lines().any(|line| line.strip_suffix(": test") == Some(self.test.as_str())) {
            return Err(format!("there is no test {}", self.test));
        }
        let ended = run().words("-- --nocapture --exact").arg(&self.test).limit(LIMIT).end()?;
        match (ended.in_time, ended.passed) {
            (true, false) => Ok(()),
            (true, true) => Err(format!("not caught by {}", self.test)),
            (false, _) => Err(format!("{} did not end in {LIMIT:?}", self.test)),
        }
    }

    /// The copy lies inside the repository, in a folder that git ignores, and there `git apply` would do
    /// nothing and say nothing. So git is kept from looking above it.
    fn apply(&self, tree: &Path) -> Result<(), String> {
        let ceiling = tree.parent().unwrap_or(tree);
        let apply = Run::new("git").words("apply --verbose").arg(&self.patch);
        let applied = apply.env("GIT_CEILING_DIRECTORIES", ceiling).folder(tree).run();
        applied.map_err(|_| "no longer applies: make the patch anew".to_owned())
    }
}

impl Suite {
    fn named(name: &str) -> Option<Self> {
        match name {
            "loom" => Some(Self::Loom),
            "shuttle" => Some(Self::Shuttle),
            "it" => Some(Self::It),
            "lib" => Some(Self::Lib),
            "capi" => Some(Self::Capi),
            "gateway" => Some(Self::Gateway),
            _ => None,
        }
    }

    /// The suite's tests in that tree. They are built in a target folder of the twins' own: cargo knows a
    /// package by its path inside the workspace, and would take a twin's library for the real one.
    fn run(self, tree: &Path) -> Run {
        // A twin may have fewer interleavings; it is its outcomes that must give it away.
        let model = |checker: Checker| {
            let folder = format!("twins/{}", checker.name);
            soon_built(checker.test()).env("LOOM_FLOORS", "off").target_of(&folder)
        };
        // Nobody debugs them, and so they are built in half the time.
        let tests = |of: &str| {
            let test = Run::cargo("test --all-features --package").arg(of).target_of("twins/library");
            test.tuned("CARGO_PROFILE_DEV_DEBUG", "none")
        };
        let run = match self {
            Self::Loom => model(LOOM),
            Self::Shuttle => model(SHUTTLE),
            Self::It => tests("tollgate").words("--test it"),
            Self::Lib => tests("tollgate").words("--lib"),
            Self::Capi => tests("tollgate-capi").words("--test it"),
            Self::Gateway => tests("tollgate-gateway").words("--test it"),
        };
        run.arg("--quiet").folder(tree)
    }
}

fn caught_by(patch: &str) -> Option<(Suite, &str)> {
    let mut header = patch.lines().take_while(|line| !line.starts_with("diff ") && !line.starts_with("--- "));
    let (suite, test) = header.find_map(|line| line.strip_prefix("Caught-by: "))?.trim().split_once(' ')?;
    Some((Suite::named(suite)?, test.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_the_suite_and_the_test() {
        let patch =
            "Twin: no clamp\nCaught-by: it refund::clamped\ndiff --git a/x b/x\nCaught-by: lib other\n";
        assert_eq!(caught_by(patch), Some((Suite::It, "refund::clamped")));
        let patch = "Twin: costs nothing\nCaught-by: gateway answers::costs\n";
        assert_eq!(caught_by(patch), Some((Suite::Gateway, "answers::costs")));
        assert_eq!(caught_by("diff --git a/x b/x\nCaught-by: lib other\n"), None);
        assert_eq!(caught_by("Caught-by: somewhere test\n"), None);
    }
}
