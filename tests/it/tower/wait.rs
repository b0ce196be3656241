//! Requests that wait for their tokens, on tokio's clock, which stands still while someone works.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Request, Response};
use tokio::time::{Instant, sleep, timeout};
use tollgate::tower::{Wait, WaitLayer};
use tollgate::wait::{TokioClock, TokioTimer};
use tollgate::{Bucket, Denied, quota};
use tower_layer::Layer;
use tower_service::Service;

use super::support::{Answer, Asked, Frames, Serve, is_ready, refusal};

type Limited<S> =
    Wait<S, Arc<Bucket<TokioClock>>, TokioTimer, fn(&Asked) -> u64, fn(&Asked, Denied) -> Response<Frames>>;

fn one_chunk(_: Asked) -> Answer {
    Ok(Response::new(Frames::of(&["a"])))
}

fn waiting<S>(bucket: &Arc<Bucket<TokioClock>>, longest: Duration, inner: S) -> Limited<S> {
    let cost: fn(&Asked) -> u64 = |request| request.body().len() as u64;
    let refuse: fn(&Asked, Denied) -> Response<Frames> = |_, _| refusal();
    WaitLayer::new(Arc::clone(bucket), TokioTimer, longest, cost, refuse).layer(inner)
}

#[tokio::test(start_paused = true)]
async fn each_waits_its_turn_and_longer_waits_are_refused_at_once() {
    let bucket = Arc::new(Bucket::with_clock(quota!("1/s"), TokioClock::new()));
    let inner = Serve::new(one_chunk);
    let (calls, service) = (inner.calls(), waiting(&bucket, Duration::from_secs(3), inner));
    let start = Instant::now();
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let mut service = service.clone();
            assert!(is_ready(&mut service));
            let turn = service.call(Request::new("a".to_string()));
            tokio::spawn(async move { (turn.await.unwrap().status().as_u16(), start.elapsed().as_secs()) })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    assert_eq!(answers, [(200, 0), (200, 1), (200, 2), (200, 3), (429, 0), (429, 0)]);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_free_of_waiting_and_too_much_is_never_waited_for() {
    let bucket = Arc::new(Bucket::with_clock(quota!("2/min"), TokioClock::new()));
    let mut service = waiting(&bucket, Duration::MAX, Serve::new(one_chunk));
    let mut status = async |text| {
        assert!(is_ready(&mut service));
        let turn = service.call(Request::new(String::from(text)));
        timeout(Duration::from_secs(1), turn).await.ok().map(|answer| answer.unwrap().status().as_u16())
    };
    assert_eq!(status("aa").await, Some(200));
    assert_eq!(status("").await, Some(200), "a cost of nothing waits for nothing");
    assert_eq!(status("aaa").await, Some(429), "above the capacity");
    assert_eq!(status("a").await, None, "30 s");
    sleep(Duration::from_secs(58)).await;
    assert_eq!(bucket.peek().available(), 1, "who gave up gave its place back");
}

/// The service that was ready waits along with the request; the clone in its place is asked anew.
#[tokio::test(start_paused = true)]
async fn the_service_that_was_ready_is_called() {
    let bucket = Arc::new(Bucket::with_clock(quota!("1/s"), TokioClock::new()));
    let mut service = waiting(&bucket, Duration::MAX, Serve::new(one_chunk));
    for _ in 0..3 {
        assert!(is_ready(&mut service));
        assert_eq!(
            service.call(Request::new("a".to_string())).await.unwrap().status(),
            200,
            "or else it panics"
        );
    }
}
