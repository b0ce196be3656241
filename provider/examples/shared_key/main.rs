//! Three client processes that share one key, with more to send than it allows: what the mirror makes of it.
//!
//! `cargo run --release -p tollgate-provider --example shared_key -- seconds=60`. The provider and the clients are processes
//! of this program. `shared_key help` tells the settings.

mod client;
mod harness;

use std::env;
use std::process::{Command, ExitCode};

use client::Plan;
use harness::{Programs, Scenario};

const HELP: &str = "\
shared_key [KEY=VALUE...]

  seconds=60     of each run
  clients=3      processes
  load=3         times the limit that all of them together have to send
  limit=100      requests a period, and capacity; tokens, if calls cost such
  tokens=0       of a call in the mean
  period_ms=1000
  family=openai  of the provider
  latency_ms=30  of each answer
  keep=0         of it that each mirror leaves to others
  ways=mirror,obey,limit   also: adapt, alone";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.split_first() {
        Some((role, rest)) if role == "provider" => provider(rest),
        Some((role, rest)) if role == "client" => {
            println!("{}", client::run(&Plan::parse(&rest.concat())));
            ExitCode::SUCCESS
        }
        _ => compare(&arguments),
    }
}

fn compare(arguments: &[String]) -> ExitCode {
    let scenario = match Scenario::parse(arguments) {
        Ok(scenario) => scenario,
        Err(unknown) => {
            eprintln!("shared_key: {unknown}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let this = env::current_exe().expect("the path of this program");
    let program = |role: &str, argument: &str| {
        let mut command = Command::new(&this);
        command.args([role, argument]);
        command
    };
    let programs = Programs {
        provider: &|settings| program("provider", settings),
        client: &|plan| program("client", plan),
    };
    println!("{scenario}\n\n{}", harness::HEADS);
    for way in scenario.ways() {
        println!("{}", harness::run(&scenario, way, &programs));
    }
    ExitCode::SUCCESS
}

fn provider(settings: &[String]) -> ExitCode {
    let mut read = tollgate_provider::Settings::default();
    let read = settings.iter().try_for_each(|pair| read.set_all(pair)).map(|()| read);
    let served = read.and_then(|read| tollgate_provider::run(read).map_err(|error| error.to_string()));
    served.map_or_else(
        |fault| {
            eprintln!("shared_key provider: {fault}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}
