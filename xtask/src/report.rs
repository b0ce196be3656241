//! Steps, how they ended, and how that is told.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A part of CI that is a command of its own.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&[String]) -> Outcome,
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

/// Runs the steps in order, goes on after a failure, and ends with a table.
pub(crate) fn all<'a>(steps: impl Iterator<Item = &'a Step>) -> ExitCode {
    let started = Instant::now();
    let mut rows = Vec::new();
    for step in steps {
        println!("\n==> {}: {}", step.name, step.about);
        let row = Row::of(step, &[]);
        println!("{row}");
        rows.push(row);
    }
    println!("\nstep                    time  status");
    rows.iter().for_each(|row| println!("{row}"));
    println!("{:<18} {:>9}", "total", seconds(started.elapsed()));
    let count = |status| rows.iter().filter(|row| row.status() == status).count();
    println!("{} passed, {} failed, {} skipped", count("PASS"), count("FAIL"), count("SKIP"));
    exit_code(&rows)
}

struct Row {
    name: &'static str,
    time: Duration,
    outcome: Outcome,
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
