//! An agent loop with a budget: ceilings on what the run may use, calls side by side, a sub-agent that draws
//! on its parent, and an ending that is not a refusal to retry.
//!
//!     cargo run --example run --features budget

use std::thread::sleep;
use std::time::Duration;

use tollgate::budget::{AllOf, Ceilings, Ended, NoCall, Planned, Run};
use tollgate::{Bucket, quota};

/// Why the loop stops asking.
enum Outcome {
    Answer(&'static str),
    OutOfBudget(Ended),
}

/// One call of the model, within the run and within what all runs share.
fn think(run: &Run, credential: &Bucket) -> Result<(), Ended> {
    let call = run.calling("model").spend(12_000);
    let limits = AllOf::new(["run", "credential"], (&call, credential));
    loop {
        match limits.try_acquire([2_000, 1]) {
            Ok((call, _request)) => {
                // What the provider reports.
                call.settle(1_350, 8_100);
                return Ok(());
            }
            Err(refused) => match (refused.ended(), refused.wait()) {
                (Some(ended), _) => return Err(ended),
                // The shared limit: later. An open call of ours: when it is settled, which here it is.
                (None, wait) => sleep(wait.unwrap_or(Duration::from_secs(1))),
            },
        }
    }
}

/// Reads some pages side by side: all of them, or none.
fn read(run: &Run, pages: usize) -> Result<(), NoCall> {
    let planned = vec![Planned::new("fetch").tokens(800); pages];
    for call in run.reserve_all(&planned)? {
        call.settle(650, 0);
    }
    Ok(())
}

/// It never finds what it looks for.
fn agent(run: &Run, credential: &Bucket) -> Outcome {
    for _ in 0..50 {
        if let Err(ended) = think(run, credential) {
            return Outcome::OutOfBudget(ended);
        }
        match read(run, 3) {
            Ok(()) => {}
            Err(NoCall::Ended(ended)) => return Outcome::OutOfBudget(ended),
            // Only beside calls that are open, and here none is.
            Err(NoCall::Reserved(_)) => continue,
        }
    }
    Outcome::Answer("42")
}

fn main() {
    let credential = Bucket::new(quota!("1000/min"));
    let run = Run::new(&Ceilings::new().calls(100).tokens(60_000).spend(500_000));

    let sub_agent = run.child(&Ceilings::new().calls_of("fetch", 20));
    match agent(&sub_agent, &credential) {
        Outcome::Answer(answer) => println!("the sub-agent says: {answer}"),
        Outcome::OutOfBudget(ended) => println!("the sub-agent stops: {ended}"),
    }
    print!("{}", sub_agent.trace());

    match agent(&run, &credential) {
        Outcome::Answer(answer) => println!("\nthe agent says: {answer}"),
        Outcome::OutOfBudget(ended) => println!("\nthe agent stops: {ended}"),
    }
    print!("{}", run.trace());
}
