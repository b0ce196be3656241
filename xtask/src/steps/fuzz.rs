//! The fuzz targets, for a short time each.

use std::fs;

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with};
use crate::tools;

/// Seconds for each target, longer for the one that reads what strangers send.
const SECONDS: u32 = 20;
const FROM_STRANGERS: (&str, u32) = ("upstream_read", 60);

pub(crate) fn run(arguments: &[String]) -> Outcome {
    tools::wheels()?;
    let asked = arguments.first().map(|text| text.parse().map_err(|_| format!("seconds, not `{text}`")));
    let asked: Option<u32> = asked.transpose()?;
    let seconds =
        |target: &str| asked.unwrap_or(if target == FROM_STRANGERS.0 { FROM_STRANGERS.1 } else { SECONDS });
    let list = cargo_fuzz("list").answer().ok_or("cargo fuzz list failed")?;
    let targets: Vec<&str> = list.lines().collect();
    for target in &targets {
        fuzz(target, seconds(target))?;
    }
    let told: Vec<String> = targets.iter().map(|target| format!("{target} {} s", seconds(target))).collect();
    passed_with(told.join(", "))
}

/// The fuzzer's counters are compiled in by flags that a stable compiler takes only with `RUSTC_BOOTSTRAP`; with it no
/// other toolchain is needed.
fn cargo_fuzz(words: &str) -> Run {
    Run::cargo("fuzz").words(words).env("RUSTC_BOOTSTRAP", "1").target_of("fuzz")
}

/// What one run finds is kept in the corpus for the next. The address sanitizer would find nothing in a crate that
/// forbids unsafe code.
fn fuzz(target: &str, seconds: u32) -> Result<(), String> {
    let there = |path: String| Some(path).filter(|path| project::root().join(path).exists());
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(project::root().join(&corpus)).map_err(|error| format!("{corpus}: {error}"))?;
    let run = cargo_fuzz("run --sanitizer none").arg(target).arg(corpus);
    let run = there(format!("fuzz/seeds/{target}")).into_iter().fold(run, Run::arg);
    let run = run.arg("--").arg(format!("-max_total_time={seconds}"));
    let run = there(format!("fuzz/{target}.dict"))
        .into_iter()
        .fold(run, |run, path| run.arg(format!("-dict={path}")));
    run.words("-timeout=10 -rss_limit_mb=2048 -print_final_stats=1").run()
}
