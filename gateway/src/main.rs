//! Starts the gateway, with two local providers unless it is given other upstreams.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tokio::net::TcpListener;
use tollgate_gateway::providers::{self, Provider};
use tollgate_gateway::settings::Settings;
use tollgate_gateway::{Fault, Gateway};

/// An LLM gateway that puts tollgate together.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where it listens; port 0 for a free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// A `gateway.toml` of your own
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The address of an upstream (`http://`, for there is no TLS), in the order of the settings; for those
    /// left over local providers are started
    #[arg(long, value_name = "URL")]
    upstream: Vec<String>,
}

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some(providers::ARGUMENT) {
        return providers::serve(arguments);
    }
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tollgate-gateway: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(arguments: Arguments) -> Result<(), Fault> {
    let (mut settings, allowances) = Settings::read(arguments.settings.as_deref())?;
    for unused in allowances.unused() {
        eprintln!("warning: {}: {unused}", settings.allowances.display());
    }
    let (given, known) = (arguments.upstream.len(), settings.upstream.len());
    if given > known {
        return Err(format!("{given} upstreams are given, and the settings have {known}").into());
    }
    for (upstream, url) in settings.upstream.iter_mut().zip(arguments.upstream) {
        upstream.url = Some(url);
    }
    let _providers = Provider::start(&mut settings.upstream)?;
    let gateway = Gateway::new(&settings, allowances)?;
    tokio::spawn(gateway.upkeep());
    let listener = TcpListener::bind(arguments.listen).await?;
    announce(&settings, listener.local_addr()?);
    axum::serve(listener, gateway.routes()).with_graceful_shutdown(interrupted()).await?;
    Ok(())
}

fn announce(settings: &Settings, address: SocketAddr) {
    println!("gateway   http://{address}/v1/chat/completions");
    println!("status    http://{address}/");
    for upstream in &settings.upstream {
        println!("upstream  {} {}", upstream.name, upstream.url.as_deref().unwrap_or_default());
    }
    for (name, tenant) in &settings.tenant {
        println!("tenant    {name}: authorization: Bearer {}", tenant.key);
    }
    println!("load      cargo run --release -p tollgate-gateway --bin load -- http://{address}");
}

async fn interrupted() {
    let _ = tokio::signal::ctrl_c().await;
}
