//! Why a command stopped, and the exit code that says so.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// A reason to stop. The exit codes are part of the program's interface and listed in its help.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input or the request cannot be used: exit code 2, as for a wrong option.
    Input(String),
    /// A result could not be written: exit code 1.
    Output(String),
    /// A limiter admitted more than its bound: exit code 1, after the results were printed.
    Bound(u64),
    /// Limiters admitted more than their bound: exit code 1, after the results were printed. Names and intervals.
    OverAdmission(Vec<(&'static str, u64)>),
    /// Whoever read our output has seen enough: not an error.
    Closed,
}

impl Failure {
    /// A write to `place` failed; a closed pipe is the reader's choice and stays quiet.
    pub(crate) fn writing(place: impl Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Output(format!("{place}: {error}")),
        }
    }

    /// Tells the user on standard error and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Input(message) => (message, 2),
            Self::Output(message) => (message, 1),
            Self::Bound(count) => (
                format!("{count} admissions broke the bound: this is a bug in tollgate, please report it"),
                1,
            ),
            Self::OverAdmission(limiters) => (over_admission(&limiters), 1),
            Self::Closed => return ExitCode::SUCCESS,
        };
        eprintln!("error: {message}");
        ExitCode::from(code)
    }
}

fn over_admission(limiters: &[(&str, u64)]) -> String {
    let each: Vec<_> =
        limiters.iter().map(|(name, count)| format!("{name} (in {count} intervals)")).collect();
    format!("more was admitted than B + r*t: {}", each.join(", "))
}
