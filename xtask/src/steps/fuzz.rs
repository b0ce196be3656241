//! The fuzz targets, for a short time each.

use crate::process::Run;
use crate::report::{Outcome, passed_with};
use crate::tools;

const SECONDS: u32 = 20;

/// The coverage counters that the fuzzer needs are compiled in by flags that a stable compiler only takes with
/// `RUSTC_BOOTSTRAP`; with it no other toolchain is needed. The address sanitizer would have nothing to find in a crate
/// that forbids unsafe code.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    tools::wheels()?;
    let seconds = match arguments.first() {
        Some(text) => text.parse().map_err(|_| format!("seconds, not `{text}`"))?,
        None => SECONDS,
    };
    let cargo_fuzz = |words: &str| Run::cargo("fuzz").words(words).env("RUSTC_BOOTSTRAP", "1");
    let list = cargo_fuzz("list").answer().ok_or("cargo fuzz list failed")?;
    let targets: Vec<&str> = list.lines().collect();
    for target in &targets {
        let run = cargo_fuzz("run --sanitizer none").arg(target).target_of("fuzz");
        run.arg(format!("fuzz/corpus/{target}"))
            .arg(format!("fuzz/seeds/{target}"))
            .arg("--")
            .arg(format!("-max_total_time={seconds}"))
            .words("-print_final_stats=1 -timeout=10 -rss_limit_mb=2048")
            .run()?;
    }
    passed_with(format!("{}, {seconds} s each", targets.join(" and ")))
}
