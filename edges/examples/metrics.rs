//! A server of axum that tells at `/metrics` what its limits do, for Prometheus.
//!
//! `cargo run -p tollgate-edges --example metrics`, then `curl localhost:8080/` a few times and
//! `curl localhost:8080/metrics`. With an address as argument it listens there.
//! `edges/dashboards/tollgate.json` is a dashboard for what it tells.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use axum::routing::get;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tollgate::http::{ClientKey, ClientKeys, Fields, Refusal};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::keyed::Keyed;
use tollgate::metrics::{Flights, Meters, Places, SECONDS};
use tollgate::tower::LimitLayer;
use tollgate::wait::{Entry, Queue, TokioTimer};
use tollgate::{Bucket, Denied, quota};

const FIELDS: Fields = Fields::new();

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".to_string());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let service = server()?.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).await?;
    Ok(())
}

/// Requests pass three limits: how many run at once, all clients' together, and each client's. `/batch` waits
/// in a queue.
pub fn server() -> Result<Router, Box<dyn Error>> {
    let times = Matcher::Suffix("_seconds".to_string());
    let told = PrometheusBuilder::new().set_buckets_for_metric(times, &SECONDS)?.install_recorder()?;
    // After the recorder.
    let meters = Meters::new();
    let router = Router::new().route("/", get(async || "hello\n")).route("/slow", get(slow));
    // The last is the outermost: who is refused there has cost the others nothing.
    let router = limit_clients(router, &meters)?;
    let router = limit_all(router, &meters);
    let router = limit_running(router, &meters)?;
    Ok(router.merge(batch(&meters)).merge(figures(told, meters)))
}

async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_millis(200)).await;
    "done\n"
}

/// Not limited: who is overloaded must be able to tell it.
fn figures(told: PrometheusHandle, meters: Meters) -> Router {
    let handler = async move || {
        meters.publish();
        told.render()
    };
    Router::new().route("/metrics", get(handler))
}

/// Ten an hour for each address. It is to be tried out first, so it refuses nothing; its keys are counted
/// together.
fn limit_clients(router: Router, meters: &Meters) -> Result<Router, Box<dyn Error>> {
    let (clients, keys) = (Keyed::<ClientKey>::new(quota!("10/h"))?, ClientKeys::new());
    let meter = meters.shadow_meter("per-client");
    let admit = move |request: &mut Request| {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let key = keys.key(peer.unwrap_or([0, 0, 0, 0].into()), request.headers());
        meter.count(1, clients.try_acquire(&key));
        Ok::<_, Denied>(())
    };
    Ok(router.layer(LimitLayer::new(admit, refused_tokens)))
}

/// One a second for all, and twenty at once, with the level of the bucket.
fn limit_all(router: Router, meters: &Meters) -> Router {
    let bucket = Arc::new(Bucket::new(quota!("1/s burst 20")));
    let limit = meters.measured("all", Arc::clone(&bucket));
    meters.level("all", move || bucket.peek());
    router.layer(LimitLayer::by(limit, refused_tokens))
}

/// Four at once, until their bodies have been sent; how long that takes, and how it ends.
fn limit_running(router: Router, meters: &Meters) -> Result<Router, Box<dyn Error>> {
    let running = Arc::new(InFlight::new(4)?);
    let (meter, calls) = (meters.meter("running"), meters.calls("running"));
    let looked = Arc::clone(&running);
    meters.in_flight("running", move || Flights::from(&*looked));
    let admit = move |_: &mut Request| {
        let permit = meter.count(1, running.try_acquire_owned())?;
        Ok::<_, NoPermit>(calls.start(permit))
    };
    let refuse =
        |_: &Request, no: NoPermit| -> Response { Refusal::from(no).as_overload().response(&FIELDS) };
    Ok(router.layer(LimitLayer::new(admit, refuse)))
}

/// Work that waits for its tokens, at most ten seconds.
fn batch(meters: &Meters) -> Router {
    let queue = Queue::new(Bucket::new(quota!("2/s")), Duration::from_secs(10), TokioTimer);
    let (meter, waits) = (meters.meter("batch"), meters.waits("batch"));
    let looked = queue.clone();
    meters.queue("batch", move || Places::from(&looked));
    let handler = async move || match meter.count(1, waits.time(queue.acquire(Entry::new(1))).await) {
        Ok(()) => "done\n".to_string(),
        Err(refused) => format!("{refused}\n"),
    };
    Router::new().route("/batch", get(handler))
}

fn refused_tokens(_: &Request, denied: Denied) -> Response {
    Refusal::from(denied).response(&FIELDS)
}
