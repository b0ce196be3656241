//! How much a limited server admits under wrk: a server of axum limited to 5000/s, driven for some seconds by many connections, in
//! this process and by a program beside it. It fails if more was admitted than `B + r * t`, or less than 99.5 % of it.
//!
//! `cargo run --release -p tollgate-edges --example wrk -- [SECONDS] [CLONES]`. It needs wrk, which is a Debian package.

use std::error::Error;
use std::net::SocketAddr;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use tokio::net::TcpListener;
use tollgate::http::{Fields, Refusal};
use tollgate::tower::LimitLayer;
use tollgate::{Bucket, Clock, Denied, quota};

/// Drawn from each second, and at the start.
const RATE: u64 = 5_000;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<bool, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (seconds, clones) = (argument(10)?, argument(8)?);

    let (bucket, admitted) = (Arc::new(Bucket::new(quota!("5000/s"))), Arc::new(AtomicU64::new(0)));
    let before = bucket.clock().now();
    let refuse = |_: &Request, denied: Denied| Refusal::from(denied).response(&Fields::new());
    let layer = LimitLayer::by(Arc::clone(&bucket), refuse);
    let mut addresses = Vec::new();
    for _ in 0..clones {
        let admitted = Arc::clone(&admitted);
        let handler = async move || {
            admitted.fetch_add(1, Ordering::Relaxed);
            "hello"
        };
        addresses.push(serve(Router::new().route("/", get(handler)).layer(layer.clone())).await?);
    }
    let drivers = addresses
        .into_iter()
        .map(|address| tokio::task::spawn_blocking(move || drive(address, seconds, clones)));
    for driver in drivers.collect::<Vec<_>>() {
        println!("{}", driver.await??);
    }

    let span = bucket.clock().now().saturating_sub(before).as_duration();
    let admitted = admitted.load(Ordering::SeqCst);
    // Nothing was asked before wrk was there, nor after it had gone.
    let (least, most) = (RATE * (1 + seconds), RATE as f64 * (1.0 + span.as_secs_f64()));
    let share = 100.0 * admitted as f64 / least as f64;
    println!("admitted {admitted} in {span:?}; at most {most:.0}; {share:.2} % of {least} in {seconds} s");
    Ok(admitted as f64 <= most && share >= 99.5)
}

async fn serve(router: Router) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, router).await });
    Ok(address)
}

/// 64 connections, shared by all clones; what wrk says.
fn drive(address: SocketAddr, seconds: u64, clones: u64) -> std::io::Result<String> {
    let connections = 64_u64.div_ceil(clones.max(1)).max(1);
    let wrk = Command::new("wrk")
        .args(["--threads", "1", "--connections", &connections.to_string()])
        .args(["--duration", &format!("{seconds}s"), &format!("http://{address}/")])
        .output()?;
    let output = String::from_utf8_lossy(&wrk.stdout);
    let told = output.lines().filter(|line| line.contains("requests in") || line.contains("Non-2xx"));
    Ok(told.map(str::trim).collect::<Vec<_>>().join("; "))
}
