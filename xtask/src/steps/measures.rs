//! Figures: how much of the library the tests run, and what a decision costs.

use crate::process::Run;
use crate::report::{Outcome, passed_with, skipped};
use crate::steps::suites;
use crate::tools;

/// Lines of the library that its tests must run at least, in percent.
const LINES_FLOOR: u32 = 90;

pub(crate) fn coverage(_: &[String]) -> Outcome {
    tools::wheels()?;
    let llvm = match tools::llvm() {
        Ok(llvm) => llvm,
        Err(reason) => {
            suites::debug()?;
            return skipped(format!("the tests passed, but their lines were not counted: {reason}"));
        }
    };
    let output =
        Run::cargo("llvm-cov nextest --cargo-quiet --package tollgate --all-features --summary-only")
            .words("--fail-under-lines")
            .arg(LINES_FLOOR.to_string())
            .env("LLVM_COV", format!("llvm-cov-{llvm}"))
            .env("LLVM_PROFDATA", format!("llvm-profdata-{llvm}"))
            // What is counted is in the program itself.
            .tuned("CARGO_PROFILE_DEV_DEBUG", "none")
            .heard()?;
    let lines = lines_covered(&output).ok_or("no figure in the output of cargo llvm-cov")?;
    passed_with(format!("{lines} of lines, at least {LINES_FLOOR}% wanted"))
}

/// The third percentage of the last line: regions, functions, lines, branches.
fn lines_covered(output: &str) -> Option<&str> {
    let total = output.lines().find(|line| line.starts_with("TOTAL"))?;
    total.split_whitespace().filter(|word| word.ends_with('%')).nth(2)
}

pub(crate) fn instructions(_: &[String]) -> Outcome {
    if let Err(reason) = tools::system("valgrind", "valgrind") {
        return skipped(reason);
    }
    let output = Run::cargo("run --quiet --release --package tollgate-bench --bin instructions").heard()?;
    passed_with(counted(&output).join(", "))
}

/// The rows of the plain admission and the plain refusal: name, count, bar.
fn counted(output: &str) -> Vec<String> {
    let of_ours = |line: &&str| line.starts_with("admission  ") || line.starts_with("refusal  ");
    output.lines().filter(of_ours).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_that_of_the_lines() {
        let output = "Filename  Regions\nTOTAL  900  9  99.00%  80  4  95.00%  600  12  98.00%  0  0  -\n";
        assert_eq!(lines_covered(output), Some("98.00%"));
    }

    #[test]
    fn the_plain_decisions_are_told() {
        let output =
            "empty loop  4.00\nadmission   25.00  26  PASS\nadmission, binary scale  32.00  32  PASS\n";
        assert_eq!(counted(output), ["admission 25.00 26 PASS"]);
    }
}
