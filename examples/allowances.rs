//! What several tools share, declared in a file: a credential with its tokens and calls, a plan, a pool of browsers.
//! The file is changed while the program runs.
//!
//!     cargo run --example allowances --features allowances

use std::error::Error;

use tollgate::Manual;
use tollgate::budget::allowances::{Allowances, Config};

fn main() -> Result<(), Box<dyn Error>> {
    let text = include_str!("allowances.toml");
    let config: Config = text.parse()?;
    for unused in config.unused() {
        println!("warning: {unused}");
    }
    let allowances = Allowances::with_clock(config, Manual::new());

    // A call asks once, for all that it consumes.
    let mut running = Vec::new();
    for call in 1..=5 {
        match allowances.call("search").by("batch").estimate(20_000).try_acquire() {
            Ok(grants) => running.push(grants),
            Err(refused) => println!("call {call} of search by batch: {refused}"),
        }
    }
    // What a call has cost is known when it is done.
    for (grants, cost) in running.into_iter().zip([12_000, 9_500, 31_000, 18_000]) {
        for settlement in grants.settle(cost) {
            let settled = settlement.settled?;
            println!(
                "{}: {} charged, {} given back",
                settlement.allowance, settled.charged, settled.given_back
            );
        }
    }
    println!("\n{allowances}");

    // Another file: what would it change, and for whom?
    let new: Config =
        text.replace("300k/min burst 450k", "200k/min").replace("\"30%\"", "\"25%\"").parse()?;
    println!("{}", allowances.preview(&new));
    allowances.reload(new);
    println!("openai holds {:?} tokens after the reload", allowances.available("openai"));

    // One that is wrong is not loaded.
    let wrong = text.replace("browsers = 1", "browsers = \"tokens\"").replace("\"20%\"", "\"80%\"");
    if let Err(error) = wrong.parse::<Config>() {
        println!("\n{error}");
    }
    Ok(())
}
