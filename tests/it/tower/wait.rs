//! Requests that wait for their tokens, on tokio's clock, which stands still while someone works.

use std::future::{Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use tokio::time::{Instant, sleep, timeout};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{Awaiting, End, PermitLayer, Wait, WaitLayer, on_end};
use tollgate::wait::{Entry, Queue, Refused, TokioClock, TokioTimer};
use tollgate::{Bucket, Denied, quota};
use tower_layer::Layer;
use tower_service::Service;

use super::support::{Answer, Asked, Down, Frames, Serve, is_ready, refusal};

type Cost = fn(&Asked) -> u64;
type Tokens = Awaiting<Arc<Bucket<TokioClock>>, TokioTimer, Cost>;
type Refuse = fn(&Asked, Denied) -> Response<Frames>;

fn one_chunk(_: Asked) -> Answer {
    Ok(Response::new(Frames::of(&["a"])))
}

fn waiting<S>(bucket: &Arc<Bucket<TokioClock>>, longest: Duration, inner: S) -> Wait<S, Tokens, Refuse> {
    let cost: Cost = |request| request.body().len() as u64;
    let refuse: Refuse = |_, _| refusal();
    WaitLayer::by(Arc::clone(bucket), TokioTimer, longest, cost, refuse).layer(inner)
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

/// The service is asked when it is the request's turn, and called when it is ready: the same one.
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

/// Who waits for tokens keeps no permit from others, and none is taken before the tokens are there.
#[tokio::test(start_paused = true)]
async fn who_waits_for_tokens_holds_no_permit() {
    let running = Arc::new(InFlight::new(1).unwrap());
    let permits = PermitLayer::new(Arc::clone(&running), |_: &Asked, _: NoPermit| refusal());
    let inside = permits.layer(Serve::new(one_chunk));
    let bucket = Arc::new(Bucket::with_clock(quota!("1/s"), TokioClock::new()));
    let cost: Cost = |request| request.body().len() as u64;
    let refuse: fn(&Asked, Denied) -> _ = |_, _| refusal().map(Into::into);
    let wait = WaitLayer::by(Arc::clone(&bucket), TokioTimer, Duration::MAX, cost, refuse);
    let mut service = wait.layer(inside.clone());
    let mut call = |text: &str| {
        assert!(is_ready(&mut service), "whoever has the permit");
        Box::pin(service.call(Request::new(text.to_string())))
    };
    drop(call("a").await.unwrap());
    let mut waiting = call("a");
    assert!(timeout(Duration::from_millis(500), &mut waiting).await.is_err());
    assert_eq!((running.in_use(), running.waiting()), (0, 0), "it waits for its token alone");

    let mut other = inside.clone();
    assert!(is_ready(&mut other));
    let other = other.call(Request::new("free to go".to_string())).await.unwrap();
    assert!(timeout(Duration::from_secs(2), &mut waiting).await.is_err());
    assert_eq!((running.in_use(), running.waiting()), (1, 1), "now it waits for the permit");
    assert_eq!(bucket.peek().available(), 1, "its token is spent");
    drop(other);
    let response = waiting.await.unwrap();
    assert_eq!((response.status().as_u16(), running.in_use()), (200, 1));
    drop(response);
    assert_eq!(running.in_use(), 0);

    let held = running.try_acquire().unwrap();
    let mut waiting = call("a");
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    assert_eq!(running.waiting(), 1);
    drop(waiting);
    drop(held);
    assert_eq!((running.in_use(), running.waiting()), (0, 0), "who gave up stands in no line");
}

/// Not ready, broken, or a panic: of what was granted it is told all the same.
#[test]
fn what_was_granted_ends_with_the_service() {
    #[derive(Clone)]
    struct Broken(Poll<Result<(), Down>>);
    impl Service<Asked> for Broken {
        type Response = Response<Frames>;
        type Error = Down;
        type Future = Ready<Answer>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Down>> {
            self.0
        }
        fn call(&mut self, _: Asked) -> Self::Future {
            panic!("a service may panic when it is called")
        }
    }
    let ends = Arc::new(Mutex::new(Vec::new()));
    let admit = {
        let ends = Arc::clone(&ends);
        move |_: &mut Asked| {
            ready(Ok::<_, ()>(on_end(Arc::clone(&ends), |ends, end| ends.lock().unwrap().push(end))))
        }
    };
    let layer = WaitLayer::new(admit, |_: &Asked, ()| refusal());
    let told_of = |readiness| {
        let mut service = layer.layer(Broken(readiness));
        assert!(is_ready(&mut service), "it promises nothing");
        let mut turn = Box::pin(service.call(Request::new(String::new())));
        let mut poll = || turn.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let answer = catch_unwind(AssertUnwindSafe(|| poll().map(Result::err))).ok();
        drop(turn);
        (answer, ends.lock().unwrap().pop())
    };
    assert_eq!(told_of(Poll::Pending), (Some(Poll::Pending), Some(End::Dropped)));
    let broken = Poll::Ready(Err(Down));
    assert_eq!(told_of(broken), (Some(Poll::Ready(Some(Down))), Some(End::ServiceFailed)));
    assert_eq!(told_of(Poll::Ready(Ok(()))), (None, Some(End::Dropped)));
}

/// Whatever is awaited decides: a queue in which classes have an order.
#[tokio::test(start_paused = true)]
async fn a_queue_decides_by_the_request() {
    let bucket = Bucket::with_clock(quota!("1/s"), TokioClock::new());
    let queue = Queue::new(bucket, Duration::from_secs(5), TokioTimer);
    let admit = move |request: &mut Asked| {
        let class = request.body().parse().unwrap();
        queue.acquire(Entry::new(1).class(class))
    };
    let service = WaitLayer::new(admit, |_: &Asked, _: Refused| refusal()).layer(Serve::new(one_chunk));
    let start = Instant::now();
    let mut tasks = Vec::new();
    for class in ["0", "7", "7", "0", "0"] {
        let mut service = service.clone();
        assert!(is_ready(&mut service));
        let turn = service.call(Request::new(class.to_string()));
        tasks.push(tokio::spawn(
            async move { (class, turn.await.unwrap().status(), start.elapsed().as_secs()) },
        ));
        tokio::task::yield_now().await;
    }
    let mut served = Vec::new();
    for task in tasks {
        let (class, status, second) = task.await.unwrap();
        assert_eq!(status, 200);
        served.push((second, class));
    }
    served.sort();
    assert_eq!(served, [(0, "0"), (1, "0"), (2, "0"), (3, "7"), (4, "7")]);
}

/// A permit of a weight that depends on the request, waited for: granted, it is held until the body ends.
#[tokio::test(start_paused = true)]
async fn what_is_granted_later_is_held_as_long() {
    let limit = Arc::new(InFlight::new(3).unwrap());
    let admit = {
        let limit = Arc::clone(&limit);
        move |request: &mut Asked| limit.acquire_n_owned(request.body().len() as u32)
    };
    let mut service = WaitLayer::new(admit, |_: &Asked, _: NoPermit| refusal()).layer(Serve::new(one_chunk));
    let mut call = |text: &str| {
        assert!(is_ready(&mut service));
        Box::pin(service.call(Request::new(text.to_string())))
    };
    let first = call("aa").await.unwrap();
    let mut second = call("bb");
    assert!(timeout(Duration::from_secs(1), &mut second).await.is_err());
    assert_eq!((limit.in_use(), limit.waiting()), (2, 1));
    drop(first);
    let second = second.await.unwrap();
    assert_eq!((limit.in_use(), limit.waiting()), (2, 0));
    drop(call("never polled"));
    assert_eq!(call("cccc").await.unwrap().status(), 429, "more than the limit");
    drop(second);
    assert_eq!(limit.in_use(), 0);
}
