//! `cargo xtask`: everything that CI does, runnable by hand. `cargo xtask help` lists it.

mod ci;
mod process;
mod project;
mod report;
mod steps;
mod tools;
mod tree;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("help", &[][..]),
    };
    match name {
        "help" | "--help" | "-h" => help(),
        "ci" => ci::run(ci::STEPS, rest),
        "full" => ci::run(ci::FULL, rest),
        _ => one(name, rest),
    }
}

fn one(name: &str, arguments: &[String]) -> ExitCode {
    match ci::find(name) {
        Some(step) => report::alone(step, arguments),
        None => {
            eprintln!("xtask: no command `{name}`; `cargo xtask help` lists them");
            ExitCode::from(2)
        }
    }
}

fn help() -> ExitCode {
    println!("{BEFORE_STEPS}");
    for step in ci::STEPS {
        println!("  {:<17} {}", step.name, step.about);
    }
    println!("{AFTER_STEPS}");
    ExitCode::SUCCESS
}

const BEFORE_STEPS: &str = "\
cargo xtask COMMAND

  test              every test and doctest; needs nothing but Rust
  pictures          draws the pictures of docs/performance.md from its tables
  ci [STEP...]      the steps below in this order, or only those named; under 25 minutes
  full              the long tier, for a release: models without bound, every mutant, long fuzzing

the steps, each a command of its own:
";

const AFTER_STEPS: &str = "
  fuzz SECONDS      so long for each target
  loom --unbounded  without a bound on preemptions
  mutants --full    every mutant of the library; with names of files, those in them
  twins --full      every twin; with names, only those";
