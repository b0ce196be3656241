//! What can be told from the text alone.

use std::fs;

use crate::process::Run;
use crate::report::{Outcome, passed};
use crate::{project, tools};

pub(crate) fn fmt(_: &[String]) -> Outcome {
    Run::cargo("fmt --all --check").run()?;
    Run::cargo("fmt --check --manifest-path fuzz/Cargo.toml").run()?;
    Run::cargo("fmt --check --manifest-path xtask/no-std/Cargo.toml").run()?;
    passed()
}

pub(crate) fn deny(_: &[String]) -> Outcome {
    tools::wheels()?;
    Run::cargo("deny --workspace --all-features check licenses bans sources").run()?;
    passed()
}

pub(crate) fn clippy(_: &[String]) -> Outcome {
    Run::cargo("clippy --quiet --workspace --all-targets --all-features -- -D warnings").run()?;
    passed()
}

/// A limiter refuses or delays, and no text may promise more. Names in code are names.
fn promises_no_smoothing() -> Result<(), String> {
    let files = Run::new("git").words("ls-files -- src edges capi README.md docs").answer();
    for file in files.ok_or("git ls-files failed")?.lines() {
        let is_code = file.ends_with(".rs");
        if !is_code && !file.ends_with(".md") {
            continue;
        }
        let text =
            fs::read_to_string(project::root().join(file)).map_err(|error| format!("{file}: {error}"))?;
        if let Some(line) = text.lines().find(|line| smooths(line, is_code)) {
            return Err(format!(
                "{file}: says that something is smooth, which no limiter makes it: {}",
                line.trim()
            ));
        }
    }
    Ok(())
}

/// Whether a line of text, or of documentation in code, has the word outside of code spans.
fn smooths(line: &str, is_code: bool) -> bool {
    let line = line.trim_start();
    let is_text = !is_code || line.starts_with("///") || line.starts_with("//!");
    is_text && line.split('`').step_by(2).any(|text| text.to_lowercase().contains("smooth"))
}

/// The libraries' pages only: the program and the library share a name, and so a page.
pub(crate) fn docs(_: &[String]) -> Outcome {
    promises_no_smoothing()?;
    let run = Run::cargo("doc --quiet --workspace --lib --no-deps --all-features");
    run.env("RUSTDOCFLAGS", "-D warnings").run()?;
    passed()
}

/// By hand the tree may hold changes that are not committed; in CI it may not.
pub(crate) fn package(_: &[String]) -> Outcome {
    let run = Run::cargo("package --quiet --package tollgate");
    let run = if project::in_ci() { run } else { run.arg("--allow-dirty") };
    run.run()?;
    passed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_may_not_say_smooth_and_names_may() {
        assert!(smooths("    /// Smooths the load.", true));
        assert!(smooths("a smooth flow", false));
        assert!(!smooths("/// part `smoothing` of the way", true));
        assert!(!smooths("let smoothing = 1;", true));
    }

    #[test]
    fn no_text_says_it() {
        promises_no_smoothing().unwrap();
    }
}
