//! Who waits: C106, C107 and C109.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use tokio::time::timeout;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{PermitLayer, WaitLayer};
use tollgate::wait::TokioTimer;
use tollgate::{Bucket, Denied, quota};

use super::Streams;
use crate::support::{Server, eventually, refused};

/// Who waits for readiness is served when a body ends, and nobody else.
#[tokio::test]
async fn c106_a_body_that_ends_lets_one_who_waits_in() {
    let running = Arc::new(InFlight::new(2).unwrap());
    let streams = Streams::new();
    let layer = PermitLayer::new(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no));
    let server = Arc::new(Server::axum(streams.router().layer(layer)).await);
    let open = [server.get(&[]).await, server.get(&[]).await];
    let answers = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let (server, answers) = (Arc::clone(&server), Arc::clone(&answers));
        tokio::spawn(async move {
            let response = server.get(&[]).await;
            answers.fetch_add(1, Ordering::SeqCst);
            response.text().await
        });
    }
    eventually("both wait", || running.waiting() == 2).await;
    streams.senders.lock().await.remove(0);
    eventually("one is served", || answers.load(Ordering::SeqCst) == 1).await;
    assert_eq!((running.waiting(), running.in_use()), (1, 2));
    streams.senders.lock().await.clear();
    eventually("the other too", || answers.load(Ordering::SeqCst) == 2).await;
    drop(open);
}

/// Eight clients at a limit of four: the most that run at once are four, and all are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c107_no_more_run_than_there_are_permits() {
    let running = Arc::new(InFlight::new(4).unwrap());
    let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = {
        let peak = Arc::clone(&peak);
        move || {
            let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
            async move {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(2)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                "done"
            }
        }
    };
    let layer = PermitLayer::new(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no));
    let server = Arc::new(Server::axum(Router::new().route("/", get(handler)).layer(layer)).await);
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                for _ in 0..10 {
                    assert_eq!(server.status(&[]).await, 200);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    assert!((1..=4).contains(&peak.load(Ordering::SeqCst)), "{peak:?}");
    eventually("all are back", || running.in_use() == 0 && running.waiting() == 0).await;
}

/// Six requests at once and one in 50 ms; the last comes after 250.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c109_every_waiter_is_served_in_its_time() {
    let bucket = Arc::new(Bucket::new(quota!("20/s burst 1")));
    let layer = WaitLayer::by(
        bucket,
        TokioTimer,
        Duration::MAX,
        |_: &Request| 1,
        |_: &Request, no: Denied| refused(no),
    );
    let server = Arc::new(Server::axum(Router::new().route("/", get(async || "hello")).layer(layer)).await);
    let start = std::time::Instant::now();
    let clients: Vec<_> = (0..6)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { (server.status(&[]).await, start.elapsed()) })
        })
        .collect();
    let mut times = Vec::new();
    for client in clients {
        let (status, time) = timeout(Duration::from_secs(20), client).await.unwrap().unwrap();
        assert_eq!(status, 200);
        times.push(time);
    }
    times.sort();
    for (turn, time) in times.iter().enumerate() {
        assert!(*time >= Duration::from_millis(50) * turn as u32, "{times:?}");
    }
}
