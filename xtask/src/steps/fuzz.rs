//! The fuzz targets, for a short time each.

use std::cmp::Reverse;
use std::sync::Mutex;
use std::{fs, iter, thread};

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
    let mut targets: Vec<(&str, u32)> = list.lines().map(|target| (target, seconds(target))).collect();
    targets.sort_by_key(|(_, seconds)| Reverse(*seconds));
    cargo_fuzz("build --sanitizer none").run()?;
    two_at_a_time(&targets)?;
    let told: Vec<String> = targets.iter().map(|(target, seconds)| format!("{target} {seconds} s")).collect();
    passed_with(told.join(", "))
}

/// A fuzzer has one thread, and where CI runs there are two cores.
fn two_at_a_time(targets: &[(&str, u32)]) -> Result<(), String> {
    let next = Mutex::new(targets.iter());
    let take = || next.lock().ok().and_then(|mut next| next.next());
    let work = || iter::from_fn(take).try_for_each(|(target, seconds)| fuzz(target, *seconds));
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let own = work();
        own.and(other.join().unwrap_or_else(|_| Err("the thread of a fuzzer ended".to_owned())))
    })
}

/// The fuzzer's counters are compiled in by flags that a stable compiler takes only with `RUSTC_BOOTSTRAP`;
/// with it no other toolchain is needed.
fn cargo_fuzz(words: &str) -> Run {
    Run::cargo("fuzz").words(words).env("RUSTC_BOOTSTRAP", "1").target_of("fuzz")
}

/// What one run finds is kept in the corpus for the next. The address sanitizer would find nothing in a crate
/// that forbids unsafe code.
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
