//! What a layer adds to a call, in this process: calls with it and without it take turns, and the difference
//! of their medians is printed.
//!
//! `cargo run --release -p tollgate-edges --example overhead -- [CALLS]`. Each call is timed from before
//! readiness to the end of its body, and the time to read the clock twice is in both.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{LimitLayer, PermitLayer, WaitLayer};
use tollgate::wait::TokioTimer;
use tollgate::{Bucket, Denied, Quota, quota};
use tower_layer::Layer;
use tower_service::Service;

type Asked = Request<()>;
type Answer = Response<Full<Bytes>>;

#[derive(Clone)]
struct Hello;

impl Service<Asked> for Hello {
    type Response = Answer;
    type Error = Infallible;
    type Future = Ready<Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Asked) -> Self::Future {
        black_box(request);
        ready(Ok(Response::new(Full::from("hello"))))
    }
}

fn main() {
    let calls = std::env::args().nth(1).and_then(|calls| calls.parse().ok()).unwrap_or(1_000_000);
    let (plenty, none) = (quota!("10G/s"), quota!("1/day"));
    let refuse = |_: &Asked, _: Denied| refused();
    let bucket = |quota: Quota| Arc::new(Bucket::new(quota));
    let permits = Arc::new(InFlight::new(10).expect("it is a limit"));

    println!("{:<28} {:>8} {:>8} {:>8}", "nanoseconds a call", "without", "with", "adds");
    compare(calls, "LimitLayer, admitted", LimitLayer::by(bucket(plenty), refuse).layer(Hello));
    let empty = bucket(none);
    empty.drain();
    compare(calls, "LimitLayer, refused", LimitLayer::by(empty, refuse).layer(Hello));
    let busy = |_: &Asked, _: NoPermit| refused();
    compare(calls, "PermitLayer", PermitLayer::new(Arc::clone(&permits), busy).layer(Hello));
    let wait = WaitLayer::by(bucket(plenty), TokioTimer, Duration::MAX, |_: &Asked| 1, refuse);
    compare(calls, "WaitLayer, nothing to wait", wait.layer(Hello));
    let outer = PermitLayer::new(permits, |_: &Asked, _: NoPermit| refused().map(Into::into));
    compare(
        calls,
        "PermitLayer and LimitLayer",
        outer.layer(LimitLayer::by(bucket(plenty), refuse).layer(Hello)),
    );
}

fn refused() -> Answer {
    Response::builder().status(429).body(Full::from("no")).expect("it is a response")
}

/// Turn by turn, so that whatever slows one slows the other.
fn compare<S, B>(calls: usize, name: &str, mut limited: S)
where
    S: Service<Asked, Response = Response<B>, Error = Infallible>,
    B: Body,
{
    let (mut without, mut with) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
    for _ in 0..calls {
        without.push(timed(&mut Hello));
        with.push(timed(&mut limited));
    }
    let (without, with) = (median(without), median(with));
    println!("{name:<28} {without:>8} {with:>8} {:>8}", with.saturating_sub(without));
}

fn timed<S, B>(service: &mut S) -> u64
where
    S: Service<Asked, Response = Response<B>, Error = Infallible>,
    B: Body,
{
    let context = &mut Context::from_waker(Waker::noop());
    let start = Instant::now();
    let is_ready = service.poll_ready(context).is_ready();
    if let Poll::Ready(Ok(response)) = pin!(service.call(Request::new(()))).poll(context) {
        let mut body = pin!(response.into_body());
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(context) {
            black_box(frame.is_ok());
        }
    }
    let elapsed = start.elapsed();
    assert!(is_ready);
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}
