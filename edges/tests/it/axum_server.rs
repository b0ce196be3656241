//! axum: what it takes to be a layer there, and limits that all connections share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use tollgate::http::{ClientKey, ClientKeys};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::keyed::Keyed;
use tollgate::tower::{LimitLayer, PermitLayer, WaitLayer};
use tollgate::wait::TokioTimer;
use tollgate::{Bucket, Clock, Denied, quota};

use crate::support::{Server, client_key, refused};

/// Eight routers with clones of one layer, and clients that connect anew each time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_layer_is_one_limit_for_all_connections() {
    let bucket = Arc::new(Bucket::new(quota!("1/h burst 10")));
    let layer = LimitLayer::by(Arc::clone(&bucket), |_: &Request, denied: Denied| refused(denied));
    let mut servers = Vec::new();
    for _ in 0..8 {
        servers
            .push(Server::axum(Router::new().route("/", get(async || "hello")).layer(layer.clone())).await);
    }
    let (mut admitted, mut refused) = (0, 0);
    for at in 0..40 {
        match servers[at % 8].status(&[]).await {
            200 => admitted += 1,
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((admitted, refused), (10, 30));
}

/// The short form of `examples/wrk.rs`: clients that flood it, each request on a connection of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_flood_passes_the_bound() {
    let quota = quota!("200/s burst 20");
    let (first, last, admitted) =
        (Arc::new(AtomicU64::new(u64::MAX)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let layer = {
        let (bucket, first, last, admitted) =
            (Bucket::new(quota), Arc::clone(&first), Arc::clone(&last), Arc::clone(&admitted));
        let admit = move |_: &mut Request| {
            let now = bucket.clock().now();
            first.fetch_min(now.as_u64(), Ordering::SeqCst);
            last.fetch_max(now.as_u64(), Ordering::SeqCst);
            bucket.try_acquire_at(now)?;
            admitted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied))
    };
    let router = Router::new().route("/", get(async || "hello")).layer(layer);
    let mut clients = Vec::new();
    for _ in 0..8 {
        let server = Server::axum(router.clone()).await;
        clients.push(tokio::spawn(async move {
            let start = std::time::Instant::now();
            let (mut served, mut asked) = (0, 0);
            while asked < 5 || start.elapsed() < Duration::from_millis(300) {
                served += u64::from(server.status(&[]).await == 200);
                asked += 1;
            }
            served
        }));
    }
    let mut served = 0;
    for client in clients {
        served += client.await.unwrap();
    }
    let [first, last, admitted] = [first, last, admitted].map(|figure| figure.load(Ordering::SeqCst));
    assert_eq!(served, admitted);
    assert!(admitted >= 20, "the capacity was there at the start: {admitted}");
    assert!(admitted <= 20 + (last - first) * 200 / 1_000_000_000, "{admitted} in {} ns", last - first);
}

#[tokio::test]
async fn who_must_wait_waits_in_the_server() {
    let bucket = Arc::new(Bucket::new(quota!("20/s burst 1")));
    let longest = Duration::from_millis(400);
    let layer =
        WaitLayer::by(bucket, TokioTimer, longest, |_: &Request| 1, |_: &Request, no: Denied| refused(no));
    let server = Server::axum(Router::new().route("/", get(async || "hello")).layer(layer)).await;
    let start = std::time::Instant::now();
    for _ in 0..4 {
        assert_eq!(server.status(&[]).await, 200);
    }
    assert!(start.elapsed() >= Duration::from_millis(150), "three waits of 50 ms: {:?}", start.elapsed());
}

/// Each client its own limit, and a permit around it.
#[tokio::test]
async fn layers_stack_and_limits_go_by_client() {
    let (clients, running) =
        (Keyed::<ClientKey>::new(quota!("1/h burst 2")).unwrap(), Arc::new(InFlight::new(5).unwrap()));
    let keys = ClientKeys::new().header("x-api-key".parse().unwrap());
    let by_client = move |request: &mut Request| clients.try_acquire(&client_key(&keys, request));
    let router = Router::new()
        .route("/", get(async || "hello"))
        .layer(LimitLayer::new(by_client, |_: &Request, denied: Denied| refused(denied)))
        .layer(PermitLayer::new(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no)));
    let server = Server::axum(router).await;
    let mut statuses = Vec::new();
    for key in ["a", "b", "a", "a", "b", "b"] {
        statuses.push(server.status(&[("x-api-key", key)]).await);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 200, 429]);
    assert_eq!(server.status(&[]).await, 200, "by its address");
    assert_eq!(running.in_use(), 0);
}
