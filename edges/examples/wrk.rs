//! How much a limited server admits under wrk: servers of axum with clones of one layer of 5000/s, driven by
//! many connections for some seconds. It fails if more was admitted between the first request and the last
//! than `B + r * t`, or less than 99.5 % of it.
//!
//! `cargo run --release -p tollgate-edges --example wrk -- [SECONDS] [SERVERS] [reconnect]`. It needs wrk, a
//! Debian package.

use std::error::Error;
use std::net::SocketAddr;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use tokio::net::TcpListener;
use tollgate::http::{Fields, Refusal};
use tollgate::tower::LimitLayer;
use tollgate::{Bucket, Clock, Denied, Quota, quota};

const LIMIT: Quota = quota!("5000/s");

/// What was seen of the requests, by the limiter's clock.
struct Seen {
    first: AtomicU64,
    last: AtomicU64,
    admitted: AtomicU64,
}

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
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (seconds, servers) = (number(10)?, number(8)?.max(1));
    let reconnect = arguments.next().is_some_and(|word| word == "reconnect");

    let seen = Arc::new(Seen { first: u64::MAX.into(), last: 0.into(), admitted: 0.into() });
    let (bucket, watched) = (Bucket::new(LIMIT), Arc::clone(&seen));
    let admit = move |_: &mut Request| watched.ask(&bucket);
    let refuse = |_: &Request, denied: Denied| Refusal::from(denied).response(&Fields::new());
    let router = Router::new().route("/", get(async || "hello")).layer(LimitLayer::new(admit, refuse));
    let mut drivers = Vec::new();
    for _ in 0..servers {
        let address = serve(router.clone()).await?;
        let drive = move || drive(address, seconds, 64_u64.div_ceil(servers), reconnect);
        drivers.push(tokio::task::spawn_blocking(drive));
    }
    for driver in drivers {
        println!("{}", driver.await??);
    }
    Ok(seen.is_within_bounds())
}

impl Seen {
    fn ask(&self, bucket: &Bucket) -> Result<(), Denied> {
        let now = bucket.clock().now();
        self.first.fetch_min(now.as_u64(), Ordering::Relaxed);
        self.last.fetch_max(now.as_u64(), Ordering::Relaxed);
        bucket.try_acquire_at(now)?;
        self.admitted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn is_within_bounds(&self) -> bool {
        let [first, last, admitted] =
            [&self.first, &self.last, &self.admitted].map(|figure| figure.load(Ordering::SeqCst));
        let span = Duration::from_nanos(last.saturating_sub(first));
        let issued = u128::from(LIMIT.tokens()) * span.as_nanos() / LIMIT.period().as_nanos();
        let bound = u128::from(LIMIT.capacity()) + issued;
        let share = 100.0 * admitted as f64 / bound as f64;
        println!("admitted {admitted} in {span:?}: {share:.3} % of the bound, {bound}");
        u128::from(admitted) <= bound && share >= 99.5
    }
}

async fn serve(router: Router) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, router).await });
    Ok(address)
}

/// What wrk says of it.
fn drive(address: SocketAddr, seconds: u64, connections: u64, reconnect: bool) -> std::io::Result<String> {
    let mut wrk = Command::new("wrk");
    wrk.args(["--threads", "1", "--connections", &connections.to_string()]);
    wrk.args(["--duration", &format!("{seconds}s"), &format!("http://{address}/")]);
    if reconnect {
        wrk.args(["--header", "connection: close"]);
    }
    let output = wrk.output()?;
    let output = String::from_utf8_lossy(&output.stdout);
    let told = output.lines().filter(|line| line.contains("requests in") || line.contains("Non-2xx"));
    Ok(told.map(str::trim).collect::<Vec<_>>().join("; "))
}
