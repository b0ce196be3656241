//! Every test, in each way that could make a difference.

use crate::process::Run;
use crate::report::{Outcome, passed, passed_with};
use crate::tools;

/// For anyone: with nextest where it is installed, else with cargo's own runner.
pub(crate) fn all(_: &[String]) -> Outcome {
    tools::servers()?;
    let nextest = Run::cargo("nextest --version").succeeds();
    let runner = if nextest { "nextest run" } else { "test --all-targets" };
    Run::cargo(runner).words("--workspace --all-features").run()?;
    doctests(&[])
}

/// The library's, where the lines that they run cannot be counted: in a target folder of its own, for other
/// steps run beside it.
pub(crate) fn debug() -> Outcome {
    tools::wheels()?;
    nextest_run("--all-features --package tollgate").target_of("coverage").run()?;
    passed()
}

/// The library's own are run, without optimisation too, where the lines are counted that they run.
pub(crate) fn members(_: &[String]) -> Outcome {
    tools::wheels()?;
    nextest_run("--all-features --workspace --exclude tollgate").run()?;
    passed()
}

/// The rooms whose arithmetic and atomics are the crate's own, without debug checks. What stands on them was
/// tested with these, and takes longer to build than all else. Linking the tests as one unit would take
/// longer than they run.
pub(crate) fn release(_: &[String]) -> Outcome {
    const OWN: &str = "adjust,inflight,keyed,sharded,wait,window";
    tools::wheels()?;
    let soon = nextest_run("--package tollgate --release --features").arg(OWN);
    let soon = soon.tuned("CARGO_PROFILE_RELEASE_LTO", "off");
    soon.tuned("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16").run()?;
    passed()
}

fn nextest_run(which: &str) -> Run {
    Run::cargo("nextest run --cargo-quiet --profile ci").words(which)
}

pub(crate) fn doctests(_: &[String]) -> Outcome {
    let output = Run::cargo("test --quiet --doc --workspace --all-features").heard()?;
    passed_with(format!("{} passed", tests_passed(&output)))
}

/// Tests that passed by the closing lines of cargo's own runner.
pub(crate) fn tests_passed(output: &str) -> u32 {
    let of_a_line =
        |line: &str| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<u32>().ok();
    output.lines().filter_map(of_a_line).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_summed_over_packages() {
        let output =
            "test result: ok. 12 passed; 0 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(tests_passed(output), 15);
    }
}
