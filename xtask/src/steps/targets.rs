//! Other machines and checkers, where the toolchain has their components.
//!
//! No package registry serves the components, so their absence is a visible skip and no promise rests on them
//! alone.

use std::path::Path;

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with, skipped};
use crate::steps::suites::tests_passed;

const NARROW: &str = "i686-unknown-linux-gnu";
const HERE: &str = "x86_64-unknown-linux-gnu";

/// Miri knows neither the time-stamp counter nor what lies behind it, so the library runs without `std`.
pub(crate) fn miri(_: &[String]) -> Outcome {
    let Some(toolchain) = toolchain_with(|toolchain| cargo(toolchain, "miri --version").succeeds()) else {
        return skipped("component miri not installed");
    };
    cargo(toolchain, "miri test --quiet --package tollgate --no-default-features --lib")
        .target_of("miri")
        .run()?;
    passed_with("unit tests of the core without features")
}

/// Atomics of 64 bits must be aligned by hand on some 32-bit targets, and `usize` must not be mixed up with
/// `u64`.
pub(crate) fn narrow(_: &[String]) -> Outcome {
    let Some(toolchain) = toolchain_with(|toolchain| has_std(toolchain, NARROW)) else {
        return skipped(format!("std for {NARROW} not installed"));
    };
    cargo(toolchain, "test --quiet --package tollgate --lib --tests --target")
        .arg(NARROW)
        .target_of("32-bit")
        .run()?;
    passed_with(NARROW)
}

/// With the sources of `std` it is built for the sanitizer too. Without them the sanitizer does not see its
/// synchronisation, so what it reports of `std`'s own threads is suppressed, and only the tests with threads
/// run.
pub(crate) fn tsan(_: &[String]) -> Outcome {
    // The sanitizer does not see the locks of a standard library that was not built for it, and reports all
    // they guard; nor the end of a scope of threads, and reports what comes to lie where their work lay. So
    // the rooms without locks only.
    const LOCKLESS: &str = "--features sharded,window -- stress concurrency --test-threads 1 \
        --skip a_log_ --skip exactly_the_limit_is_admitted";
    const SANITIZE: &str = "-Zsanitizer=thread";
    let (passed, std) = match toolchain_with(has_sources) {
        Some(toolchain) => {
            (sanitized(toolchain, SANITIZE, "-Zbuild-std --all-features")?, "std built for it")
        }
        None => {
            let mixed = format!("{SANITIZE} -Cunsafe-allow-abi-mismatch=sanitizer");
            (sanitized("", &mixed, LOCKLESS)?, "prebuilt std, with suppressions")
        }
    };
    passed_with(format!("{passed} tests, {std}"))
}

/// Runs the integration tests and counts those that passed.
fn sanitized(toolchain: &str, flags: &str, words: &str) -> Result<u32, String> {
    let suppressions = project::root().join("xtask/tsan.supp");
    let run = cargo(toolchain, "test --quiet --package tollgate --test it --target").arg(HERE);
    // The suppressions go by the full names of functions.
    let run = run.env("CARGO_PROFILE_DEV_DEBUG", "full");
    let run = run.words(words).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags).target_of("tsan");
    let run = run.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    run.heard().map(|output| tests_passed(&output))
}

fn toolchain_with(suits: impl Fn(&str) -> bool) -> Option<&'static str> {
    ["", "+nightly"].into_iter().find(|toolchain| suits(toolchain))
}

fn cargo(toolchain: &str, words: &str) -> Run {
    Run::cargo(toolchain).words(words)
}

fn has_std(toolchain: &str, target: &str) -> bool {
    let folder =
        Run::new("rustc").words(toolchain).words("--print target-libdir --target").arg(target).answer();
    folder.is_some_and(|folder| Path::new(&folder).exists())
}

fn has_sources(toolchain: &str) -> bool {
    let root = Run::new("rustc").words(toolchain).words("--print sysroot").answer();
    root.is_some_and(|root| Path::new(&root).join("lib/rustlib/src/rust/library/std").exists())
}
