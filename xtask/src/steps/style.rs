//! What can be told from the text alone.

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

/// The libraries' pages only: the program and the library share a name, and so a page.
pub(crate) fn docs(_: &[String]) -> Outcome {
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
