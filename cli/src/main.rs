//! The `tollgate` program: tries limits on real traffic before they are put in front of it, plans them, and compares
//! limiters.

mod args;
mod compare;
mod failure;
mod leak;
mod output;
mod place;
mod plan;
mod plot;
mod replay;
#[cfg(feature = "redis")]
mod store;
mod text;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Command, Program};

fn main() -> ExitCode {
    let outcome = match Program::parse().command {
        Command::Replay(wanted) => replay::run(&wanted),
        Command::Compare(wanted) => compare::run(&wanted),
        Command::Plan(wanted) => plan::run(&wanted),
        Command::Flood(wanted) => compare::flood_here(&wanted),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
