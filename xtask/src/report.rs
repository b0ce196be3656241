//! Steps, how they ended, and how that is told.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use crate::project;

/// A part of CI that is a command of its own.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&[String]) -> Outcome,
    pub(crate) lane: Lane,
}

/// Where a step runs. Compilers have one core at work for much of their time, so the lanes run beside each
/// other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// In this process.
    Here,
    /// In a process of its own, with target folders that no step here has. What it prints is shown when it
    /// has ended.
    Beside,
}

/// What a step that did not fail has to say.
pub(crate) enum Done {
    /// It passed; perhaps with a figure.
    Passed(String),
    /// It could not be run here, and why.
    Skipped(String),
}

/// How a step ended; an error says what failed.
pub(crate) type Outcome = Result<Done, String>;

struct Row {
    name: &'static str,
    time: Duration,
    outcome: Outcome,
}

pub(crate) fn passed() -> Outcome {
    Ok(Done::Passed(String::new()))
}

pub(crate) fn passed_with(figure: impl Into<String>) -> Outcome {
    Ok(Done::Passed(figure.into()))
}

pub(crate) fn skipped(reason: impl Into<String>) -> Outcome {
    Ok(Done::Skipped(reason.into()))
}

/// Runs one step.
pub(crate) fn alone(step: &Step, arguments: &[String]) -> ExitCode {
    let row = Row::of(step, arguments);
    println!("{row}");
    exit_code(&[row])
}

/// Runs the steps, those of each lane in order, goes on after a failure, and ends with a table. What comes
/// before the first step of the other lane is done first.
pub(crate) fn all(steps: &[&Step]) -> ExitCode {
    let started = Instant::now();
    let first = steps.iter().position(|step| step.lane == Lane::Beside).unwrap_or(steps.len());
    let (alone, rest) = steps.split_at(first);
    let (here, beside): (Vec<&Step>, Vec<&Step>) = rest.iter().partition(|step| step.lane == Lane::Here);
    let mut rows: Vec<Row> = alone.iter().map(|step| in_this_process(step)).collect();
    if here.is_empty() {
        rows.extend(beside.iter().map(|step| in_this_process(step)));
    } else {
        rows.extend(in_two_lanes(&here, &beside));
    }
    println!("\nstep                    time  status");
    rows.iter().for_each(|row| println!("{row}"));
    println!("{:<18} {:>9}", "total", seconds(started.elapsed()));
    let count = |status| rows.iter().filter(|row| row.status() == status).count();
    println!("{} passed, {} failed, {} skipped", count("PASS"), count("FAIL"), count("SKIP"));
    exit_code(&rows)
}

fn in_two_lanes(here: &[&Step], beside: &[&Step]) -> Vec<Row> {
    thread::scope(|scope| {
        let other = scope.spawn(|| beside.iter().map(|step| in_another_process(step)).collect::<Vec<_>>());
        let own: Vec<Row> = here.iter().map(|step| in_this_process(step)).collect();
        let lost =
            || Row { name: "beside", time: Duration::ZERO, outcome: Err("the lane is lost".to_owned()) };
        own.into_iter().chain(other.join().unwrap_or_else(|_| vec![lost()])).collect()
    })
}

fn in_this_process(step: &Step) -> Row {
    println!("\n==> {}: {}", step.name, step.about);
    let row = Row::of(step, &[]);
    println!("{row}");
    row
}

fn in_another_process(step: &Step) -> Row {
    let started = Instant::now();
    let log = project::target().join(format!("ci-{}.log", step.name));
    let outcome = logged(step.name, &log).map_err(|error| format!("{}: {error}", log.display()));
    let printed = fs::read(&log).unwrap_or_default();
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "\n==> {}: {}", step.name, step.about).and_then(|()| out.write_all(&printed));
    drop(out);
    let told = outcome.and_then(|()| told(step.name, &String::from_utf8_lossy(&printed)));
    Row { name: step.name, time: started.elapsed(), outcome: told }
}

/// Runs the step's own command, and writes all that it prints into the file.
fn logged(name: &str, log: &Path) -> io::Result<()> {
    let file = File::create(log)?;
    let mut command = Command::new(env::current_exe()?);
    command.arg(name).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    command.status().map(drop)
}

/// How the step ended, by its row, the last one that it printed.
fn told(name: &str, printed: &str) -> Outcome {
    let row = printed.lines().rev().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let (_, rest) = row.split_once(" s  ").unwrap_or_default();
    let (status, says) = rest.split_once("  ").unwrap_or((rest, ""));
    match status {
        "PASS" => passed_with(says),
        "SKIP" => skipped(says),
        "FAIL" => Err(says.to_owned()),
        _ => Err("ended without a word".to_owned()),
    }
}

impl Row {
    fn of(step: &Step, arguments: &[String]) -> Self {
        let started = Instant::now();
        let outcome = (step.run)(arguments);
        Self { name: step.name, time: started.elapsed(), outcome }
    }

    fn status(&self) -> &'static str {
        match self.outcome {
            Ok(Done::Passed(_)) => "PASS",
            Ok(Done::Skipped(_)) => "SKIP",
            Err(_) => "FAIL",
        }
    }

    fn says(&self) -> &str {
        match &self.outcome {
            Ok(Done::Passed(text) | Done::Skipped(text)) | Err(text) => text,
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = format!("{:<18} {:>9}  {}  {}", self.name, seconds(self.time), self.status(), self.says());
        f.write_str(line.trim_end())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn exit_code(rows: &[Row]) -> ExitCode {
    let any_failed = rows.iter().any(|row| row.outcome.is_err());
    if any_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_tells_is_understood() {
        let row = |outcome| Row { name: "loom", time: Duration::from_secs(3), outcome }.to_string();
        let told = |printed: &str| told("loom", &format!("$ cargo test\nloom x\n{printed}\n"));
        assert!(matches!(told(&row(passed())), Ok(Done::Passed(says)) if says.is_empty()));
        assert!(
            matches!(told(&row(passed_with("3  s  models"))), Ok(Done::Passed(says)) if says == "3  s  models")
        );
        assert!(matches!(told(&row(skipped("no loom"))), Ok(Done::Skipped(says)) if says == "no loom"));
        assert_eq!(told(&row(Err("failed: cargo".to_owned()))).err().as_deref(), Some("failed: cargo"));
        assert_eq!(told("killed").err().as_deref(), Some("ended without a word"));
    }
}
