//! Figures that are checked in: the programs that made them still make the same.

use std::fs;

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with, skipped};
use crate::steps::pictures;

/// The trace lies beside the repository, if it is there at all.
const TRACE: &str = "../shared/data/azure_llm_2023_conv.csv";

const PAGE: &str = "docs/estimates.md";

pub(crate) fn check(_: &[String]) -> Outcome {
    pictures::check()?;
    if !project::root().join(TRACE).is_file() {
        return skipped(format!("pictures are up to date; no {TRACE}"));
    }
    let made = Run::cargo("run --quiet --example estimates --features budget --").arg(TRACE).heard()?;
    let page = fs::read_to_string(project::root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let missing = made.lines().find(|line| !page.lines().any(|of_page| of_page == *line));
    match missing {
        None => passed_with(format!("{} lines of {PAGE}", made.lines().count())),
        Some(line) => Err(format!("{PAGE} does not have the line that its command prints now: {line}")),
    }
}
