//! A server of axum with three limits: each client's own, all clients' together, and how many run at once.
//!
//! `cargo run -p tollgate-edges --example axum`, then `curl -i localhost:8080` a few times. With an address
//! as argument it listens there. Behind one proxy that writes `X-Forwarded-For`, say
//! `behind_x_forwarded_for(1)`.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::routing::get;
use tokio::net::TcpListener;
use tollgate::http::{ClientKey, ClientKeys, Fields, Policy, Refusal};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::keyed::Keyed;
use tollgate::tower::{LimitLayer, PermitLayer};
use tollgate::{Bucket, Denied, quota};

const FIELDS: Fields = Fields::new().with_x_ratelimit();

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let router = Router::new().route("/", get(async || "hello\n"));
    // The last is the outermost: who is refused there has cost the others nothing.
    let router = limit_running(limit_all(limit_clients(router)?)?)?;

    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".to_string());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

/// Three requests a minute for each address. With a refusal the client is told how it stands itself.
fn limit_clients(router: Router) -> Result<Router, Box<dyn Error>> {
    let (quota, keys) = (quota!("3/min"), ClientKeys::new());
    let (clients, policy) = (Arc::new(Keyed::<ClientKey>::new(quota)?), Policy::of("per-client", &quota)?);
    let asked = Arc::clone(&clients);
    let admit = move |request: &mut Request| {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let key = keys.key(peer.unwrap_or([0, 0, 0, 0].into()), request.headers());
        asked.try_acquire(&key).map_err(|denied| (denied, key))
    };
    let refuse = move |_: &Request, (denied, key): (Denied, ClientKey)| {
        let refusal = Refusal::from(denied);
        match clients.peek(&key) {
            Some(level) => refusal.by(policy.at(&level)).response(&FIELDS),
            None => refusal.named(policy.name()).response(&FIELDS),
        }
    };
    Ok(router.layer(LimitLayer::new(admit, refuse)))
}

/// A thousand a second for all.
fn limit_all(router: Router) -> Result<Router, Box<dyn Error>> {
    let quota = quota!("1000/s");
    let (bucket, policy) = (Arc::new(Bucket::new(quota)), Policy::of("all", &quota)?);
    let refuse = {
        let bucket = Arc::clone(&bucket);
        move |_: &Request, denied: Denied| {
            Refusal::from(denied).by(policy.at(&bucket.peek())).as_overload().response(&FIELDS)
        }
    };
    Ok(router.layer(LimitLayer::by(bucket, refuse)))
}

/// A hundred at once, until their bodies have been sent.
fn limit_running(router: Router) -> Result<Router, Box<dyn Error>> {
    let running = Arc::new(InFlight::new(100)?);
    let refuse = |_: &Request, no: NoPermit| Refusal::from(no).as_overload().response(&FIELDS);
    Ok(router.layer(PermitLayer::shedding(running, refuse)))
}
