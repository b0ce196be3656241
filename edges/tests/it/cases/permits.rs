//! What is in flight: C104 to C106, and C108.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::PermitLayer;

use super::Streams;
use crate::support::{Server, eventually, refused};

/// A server whose requests hold permits, and which refuses those that get none.
async fn limited(routes: Router, running: &Arc<InFlight>) -> Server {
    let layer = PermitLayer::shedding(Arc::clone(running), |_: &Request, no: NoPermit| refused(no));
    Server::axum(routes.layer(layer)).await
}

/// Fifty that are dropped in the middle, and one whose handler panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c104_what_is_dropped_or_panics_is_no_longer_in_use() {
    let running = Arc::new(InFlight::new(60).unwrap());
    let streams = Streams::new();
    let panics = async || -> &str { panic!("a handler may panic") };
    let server = limited(streams.router().route("/panics", get(panics)), &running).await;
    let mut open = Vec::new();
    for at in 1..=50 {
        open.push(server.get(&[]).await);
        assert_eq!(running.in_use(), at);
    }
    assert!(reqwest::get(server.url("/panics")).await.is_err(), "the connection is closed");
    eventually("that one is back", || running.in_use() == 50).await;
    drop(open);
    eventually("all are back", || running.in_use() == 0).await;
}

#[tokio::test]
async fn c105_refusals_do_not_change_what_is_in_use() {
    let running = Arc::new(InFlight::new(10).unwrap());
    let streams = Streams::new();
    let server = limited(streams.router(), &running).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(server.get(&[]).await);
    }
    for _ in 0..100 {
        assert_eq!(server.status(&[]).await, 429);
        assert_eq!(running.in_use(), 10);
    }
    assert_eq!(streams.senders.lock().await.len(), 10, "none of them reached the handler");
}

#[tokio::test]
async fn c106_a_permit_is_held_until_the_body_ends() {
    let running = Arc::new(InFlight::new(2).unwrap());
    let streams = Streams::new();
    let server = limited(streams.router(), &running).await;
    let (first, second) = (server.get(&[]).await, server.get(&[]).await);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    assert_eq!(server.status(&[]).await, 429, "two open bodies");

    streams.senders.lock().await.remove(0);
    assert_eq!(first.text().await.unwrap(), "");
    eventually("one is back", || running.in_use() == 1).await;
    let third = server.get(&[]).await;
    assert_eq!((third.status().as_u16(), server.status(&[]).await), (200, 429), "exactly one is admitted");

    drop(second);
    eventually("one is back", || running.in_use() == 1).await;
    assert_eq!(server.status(&[]).await, 200, "a client that goes away makes room");
    drop(third);
    eventually("all are back", || running.in_use() == 0).await;
}

#[tokio::test]
async fn c108_a_lowered_limit_admits_nobody_until_there_is_room() {
    let running = Arc::new(InFlight::new(10).unwrap());
    let streams = Streams::new();
    let server = limited(streams.router(), &running).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(server.get(&[]).await);
    }
    running.set_limit(4).unwrap();
    for left in (4..10).rev() {
        drop(open.pop());
        eventually("one is back", || running.in_use() == left).await;
        assert_eq!(server.status(&[]).await, 429, "{left} are in flight");
    }
    drop(open.pop());
    eventually("the seventh is back", || running.in_use() == 3).await;
    let admitted = server.get(&[]).await;
    assert_eq!((admitted.status().as_u16(), server.status(&[]).await), (200, 429), "one");
}
