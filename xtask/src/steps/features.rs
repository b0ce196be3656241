//! Features are additive, and the core needs none of them.

use crate::process::Run;
use crate::report::{Outcome, passed, passed_with};
use crate::tools;

/// Features that nothing is written for in pairs: each brings its own module or type and looks at no other feature.
const NOT_PAIRED: &str = "allowances,calendar,http,redis,shared-memory,tokio,tower,tracing,upstream";

/// Each feature alone, none, all, and any two together. Development dependencies are not built, and the resolver does
/// not let their features leak into this.
pub(crate) fn check(_: &[String]) -> Outcome {
    tools::wheels()?;
    let hack = || Run::cargo("hack clippy --quiet --package tollgate");
    hack().words("--each-feature -- -D warnings").run()?;
    hack()
        .words("--feature-powerset --depth 2 --exclude-features")
        .words(NOT_PAIRED)
        .words("-- -D warnings")
        .run()?;
    passed()
}

/// A program that brings its own panic handler cannot be linked with `std`, which brings one too. It decides a few
/// requests and exits with the number of the first that went wrong.
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
