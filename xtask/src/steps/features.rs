//! Features are additive, and the core needs none of them.

use crate::process::Run;
use crate::report::{Outcome, passed_with};
use crate::tools;

/// Features that nothing is written for in pairs, or nothing but what is in `MET`.
const NOT_PAIRED: &str = "allowances,calendar,http,metrics,redis,shared-memory,tokio,tower,tracing,upstream";

/// Edges and shared memory, each with a room that it has something for.
const MET: [&str; 14] = [
    "budget,http",
    "http,inflight",
    "http,wait",
    "http,window",
    "budget,metrics",
    "inflight,metrics",
    "keyed,metrics",
    "metrics,tower",
    "metrics,wait",
    "budget,shared-memory",
    "shared-memory,tokio",
    "shared-memory,wait",
    "budget,tower",
    "tokio,tower",
];

/// Each feature alone, none, all, and any two together. Development dependencies are not built, and the
/// resolver does not let their features leak into this.
pub(crate) fn check(_: &[String]) -> Outcome {
    tools::wheels()?;
    let each = combinations("--each-feature")?;
    let pairs = combinations(&format!("--feature-powerset --depth 2 --exclude-features {NOT_PAIRED}"))?;
    let met = MET.map(|two| format!("--no-default-features --features {two}"));
    let all: Vec<String> = each.into_iter().chain(pairs).chain(met).collect();
    all.iter().try_for_each(|features| {
        Run::cargo("clippy --quiet --package tollgate").words(features).words("-- -D warnings").run()
    })?;
    passed_with(format!("{} combinations", all.len()))
}

/// Those that cargo-hack would run, as words that choose features. It would run them for all default members.
fn combinations(which: &str) -> Result<Vec<String>, String> {
    const HEAD: &str = "cargo check --manifest-path Cargo.toml ";
    let list = Run::cargo("hack check --package tollgate --print-command-list").words(which).answer();
    let list = list.ok_or("cargo hack --print-command-list failed")?;
    list.lines()
        .map(|line| line.strip_prefix(HEAD).map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("cargo hack prints something other than `{HEAD}`: {list}"))
}

/// A program that brings its own panic handler cannot be linked with `std`, which brings one too. It decides
/// a few requests and exits with the number of the first that went wrong.
pub(crate) fn no_std(_: &[String]) -> Outcome {
    Run::cargo("run --quiet --release --manifest-path xtask/no-std/Cargo.toml").target_of("no-std").run()?;
    let target = "x86_64-unknown-none";
    let library = Run::new("rustc").words("--print target-libdir --target").arg(target).answer();
    if !library.is_some_and(|folder| std::path::Path::new(&folder).exists()) {
        return passed_with(format!(
            "linked and run without std; SKIP the check for {target}: its core is not installed"
        ));
    }
    Run::cargo("check --quiet --package tollgate --no-default-features --target").arg(target).run()?;
    passed_with(format!("linked and run without std; checked for {target}"))
}
