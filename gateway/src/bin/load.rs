//! Sends load through a running gateway, and prints what became of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use tollgate_gateway::Fault;
use tollgate_gateway::load::{Load, callers, made_up, read};

/// Load for the gateway.
#[derive(Parser)]
#[command(version, name = "load")]
struct Arguments {
    /// Where the gateway is
    #[arg(default_value = "http://127.0.0.1:8080")]
    gateway: String,
    /// A trace with the columns TIMESTAMP, ContextTokens and GeneratedTokens, instead of a made-up one
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How many times as fast as the trace
    #[arg(long, default_value_t = 20.0)]
    speed: f64,
    /// For how many seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many of a hundred streams are given up before their end
    #[arg(long, value_name = "PERCENT", default_value_t = 5)]
    aborted: u64,
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let arguments = Arguments::parse();
    let load = Load {
        gateway: arguments.gateway.trim_end_matches('/').to_owned(),
        arrivals: arguments.trace.map_or_else(|| Ok(made_up()), |path| read(&path))?,
        speed: arguments.speed,
        length: Duration::from_secs(arguments.seconds),
        aborted_percent: arguments.aborted,
        callers: callers(),
    };
    print!("{}", load.run().await?);
    Ok(())
}
