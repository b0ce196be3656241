//! What is settled when it is known: C78, charges by outcome, and a client that hangs up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use tollgate::budget::Budget;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{End, Grant, LimitLayer, PermitLayer, on_answer, on_end};
use tollgate::{Denied, Manual, quota};

use super::Streams;
use crate::support::{Server, eventually, refused};

/// `L(1000/min, 1000)` and two in flight; the handler tells what it has used.
#[tokio::test]
async fn c78_a_stream_is_settled_and_its_slot_freed_at_its_end() {
    for (others, left) in [(0, 700), (600, 200)] {
        let (running, clock) = (Arc::new(InFlight::new(2).unwrap()), Arc::new(Manual::new()));
        let budget = Arc::new(Budget::with_clock(quota!("1000/min"), Arc::clone(&clock)));
        let used = Arc::new(AtomicU64::new(0));
        let admit = {
            let (budget, used) = (Arc::clone(&budget), Arc::clone(&used));
            move |_: &mut Request| {
                let (reservation, used) = (budget.reserve_owned(400)?, Arc::clone(&used));
                Ok::<_, Denied>(on_end(reservation, move |reservation, _| {
                    let _settled = reservation.settle(used.load(Ordering::SeqCst)).unwrap();
                }))
            }
        };
        let streams = Streams::new();
        let router = streams
            .router()
            .layer(LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied)))
            .layer(PermitLayer::shedding(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no)));
        let server = Server::axum(router).await;
        let mut response = server.get(&[]).await;
        if others > 0 {
            budget.reserve(others).unwrap().keep();
        }
        let mut sender = streams.senders.lock().await.pop().unwrap();
        clock.advance(Duration::from_millis(100));
        sender.send_data("some".into()).await.unwrap();
        assert!(response.chunk().await.unwrap().is_some());
        clock.advance(Duration::from_millis(29_900));
        assert_eq!((running.in_use(), budget.open_reservations()), (1, 1), "headers and a part are sent");
        used.store(700, Ordering::SeqCst);
        drop(sender);
        assert!(response.chunk().await.unwrap().is_none());
        eventually("the slot is free", || running.in_use() == 0).await;
        assert_eq!((budget.open_reservations(), budget.peek().available()), (0, left));
    }
}

/// A login that fails costs, one that succeeds is free; over sockets the status is known before the body.
#[tokio::test]
async fn charges_by_outcome_are_made_when_the_status_is_known() {
    let wrong = Arc::new(Budget::with_clock(quota!("2/h"), Arc::new(Manual::new())));
    let admit = {
        let wrong = Arc::clone(&wrong);
        move |_: &mut Request| {
            let reservation = wrong.reserve_owned(1)?;
            Ok::<_, Denied>(on_answer(reservation, |reservation, status, _| {
                let _settled = reservation.settle(u64::from(status == 401));
            }))
        }
    };
    let login = async |request: Request| {
        let is_right = request.headers()["password"] == "right";
        Response::builder().status(if is_right { 200 } else { 401 }).body(Body::empty()).unwrap()
    };
    let layer = LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied));
    let server = Server::axum(Router::new().route("/", get(login)).layer(layer)).await;
    let mut statuses = Vec::new();
    for password in ["right", "wrong", "right", "right", "wrong", "right"] {
        statuses.push(server.status(&[("password", password)]).await);
    }
    assert_eq!(statuses, [200, 401, 200, 200, 401, 429], "two wrong ones were all");
}

/// What a grant is told when a request is cancelled before there is a response: the client hangs up.
#[tokio::test]
async fn a_client_that_hangs_up_ends_its_grant() {
    struct Ends(Option<oneshot::Sender<End>>);
    impl Grant for Ends {
        fn ended(mut self, end: End) {
            self.0.take().unwrap().send(end).unwrap();
        }
    }
    let (sender, end) = oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let admit = move |_: &mut Request| Ok::<_, ()>(Ends(sender.lock().unwrap().take()));
    let layer = LimitLayer::new(admit, |_: &Request, ()| Response::default());
    let begun = Arc::new(Notify::new());
    let never = {
        let begun = Arc::clone(&begun);
        async move || {
            begun.notify_one();
            std::future::pending::<&str>().await
        }
    };
    let server = Server::axum(Router::new().route("/", get(never)).layer(layer)).await;
    let request = tokio::spawn(reqwest::Client::new().get(server.url("/")).send());
    begun.notified().await;
    request.abort();
    assert_eq!(timeout(Duration::from_secs(20), end).await.unwrap().unwrap(), End::Dropped);
}
