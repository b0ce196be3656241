//! Requests whose latency and outcome are measured, from permit to the end of the body.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Response};
use tollgate::Manual;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::LimitLayer;
use tower_layer::Layer;

use super::support::{Answer, Asked, Down, Frames, Serve, call, frame, refusal};
use crate::metrics::support::Recorded;

/// One request, read to its end or not; what is told of it.
fn measured(answer: impl Fn(Asked) -> Answer, frames: usize) -> String {
    let (recorded, clock) = (Recorded::new(), Arc::new(Manual::new()));
    let calls = recorded.take(|meters| meters.calls_with_clock("api", Arc::clone(&clock)));
    let running = Arc::new(InFlight::new(1).unwrap());
    let admit = {
        let running = Arc::clone(&running);
        move |_: &mut Asked| Ok::<_, NoPermit>(calls.start(running.try_acquire_owned()?))
    };
    let working = Arc::clone(&clock);
    let layer = LimitLayer::new(admit, |_: &Asked, _| refusal());
    let mut service = layer.layer(Serve::new(move |asked| {
        working.advance(Duration::from_secs(1));
        answer(asked)
    }));
    let asked = catch_unwind(AssertUnwindSafe(|| call(&mut service, "")));
    if let Ok(Ok(response)) = asked {
        let mut body = response.into_body();
        for _ in 0..frames {
            assert_eq!(running.in_use(), 1);
            clock.advance(Duration::from_secs(1));
            let _frame = frame(&mut body);
        }
    }
    assert_eq!(running.in_use(), 0);
    let text = recorded.text();
    let of = |part| {
        let start = format!("tollgate_downstream_seconds_{part}{{limit=\"api\",outcome=\"");
        text.lines().filter_map(move |line| line.strip_prefix(&start)?.split_once("\"} "))
    };
    let (outcome, _) = of("count").find(|(_, count)| *count != "0").unwrap();
    let (_, seconds) = of("sum").find(|(name, _)| *name == outcome).unwrap();
    assert_eq!(of("count").filter(|(_, count)| *count == "1").count(), 1);
    format!("{outcome} {seconds}")
}

fn status(status: u16) -> impl Fn(Asked) -> Answer {
    move |_| Ok(Response::builder().status(status).body(Frames::of(&["a", "b"])).unwrap())
}

fn grpc(status: &'static str) -> HeaderMap {
    HeaderMap::from_iter([("grpc-status".parse().unwrap(), status.parse().unwrap())])
}

#[test]
fn a_request_ends_with_its_body_and_by_its_status() {
    for (code, outcome) in
        [(200, "succeeded"), (302, "succeeded"), (404, "succeeded"), (429, "refused"), (503, "failed")]
    {
        assert_eq!(measured(status(code), 2), format!("{outcome} 3"), "{code}");
    }
    assert_eq!(measured(status(200), 1), "dropped 2", "the client has gone");
    assert_eq!(measured(status(500), 1), "failed 2", "whatever the client does");
    assert_eq!(measured(|_| Err(Down), 0), "failed 1");
    assert_eq!(measured(|_| panic!("on purpose"), 0), "panicked 1");
    let fails = |_: Asked| Ok(Response::new(Frames::of(&["a"]).then_fail()));
    assert_eq!(measured(fails, 2), "failed 3");
}

#[test]
fn a_call_of_grpc_ends_by_the_status_in_its_trailers_or_headers() {
    let codes =
        [("0", "succeeded"), ("5", "succeeded"), ("8", "refused"), ("13", "failed"), ("14", "failed")];
    for (code, outcome) in codes {
        let trailers = |_: Asked| Ok(Response::new(Frames::of(&["a"]).then_trailers(grpc(code))));
        assert_eq!(measured(trailers, 2), format!("{outcome} 3"), "{code}");
        let headers = |_: Asked| {
            let mut response = Response::new(Frames::of(&[]));
            *response.headers_mut() = grpc(code);
            Ok(response)
        };
        assert_eq!(measured(headers, 0), format!("{outcome} 1"), "{code}");
    }
}
