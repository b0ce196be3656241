//! The `tollgate` program: tries limits on real traffic before they are put in front of it.

mod args;
mod failure;
mod replay;
mod text;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Command, Program};

fn main() -> ExitCode {
    let outcome = match Program::parse().command {
        Command::Replay(wanted) => replay::run(&wanted),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
