//! `cargo xtask`: everything that CI does, runnable by hand. `cargo xtask help` lists it.

mod ci;
mod process;
mod project;
mod report;
mod steps;
mod tools;

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
    println!("cargo xtask COMMAND\n");
    println!("  test              every test and doctest; needs nothing but Rust");
    println!(
        "  ci [STEP...]      every step below but `test`, in this order, or only the steps named; under 25 minutes"
    );
    println!(
        "  full              the long tier, about an hour: models without bound, all mutants, long fuzzing"
    );
    println!("\nthe steps, each a command of its own:\n");
    for step in ci::STEPS {
        println!("  {:<17} {}", step.name, step.about);
    }
    println!("\n  fuzz SECONDS      time for each target");
    println!("  loom --unbounded  without a bound on preemptions");
    println!("  mutants --full    every mutant of the core; mutants FILE... those of some files");
    println!("  twins NAME...     only these twins");
    ExitCode::SUCCESS
}
