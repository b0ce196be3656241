//! `tollgate-provider family=openai requests=600 tokens=60000 period_ms=60000`: prints its port, and serves until the
//! standard input ends.

use std::env;
use std::process::ExitCode;

use tollgate_provider::{Settings, run};

fn main() -> ExitCode {
    let mut settings = Settings::default();
    for argument in env::args().skip(1) {
        if let Err(fault) = settings.set_all(&argument) {
            eprintln!("tollgate-provider: {fault}");
            return ExitCode::from(2);
        }
    }
    match run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tollgate-provider: {error}");
            ExitCode::FAILURE
        }
    }
}
