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

/// What OpenTelemetry's conventions for servers have of each code; one that there is not is `UNKNOWN`.
#[test]
fn a_call_of_grpc_ends_by_the_status_in_its_trailers_or_headers() {
    let succeeded = ["0", "1", "3", "5", "6", "7", "9", "10", "11", "16"].map(|code| (code, "succeeded"));
    let failed = ["2", "4", "12", "13", "14", "15", "17", "-1", "", "OK"].map(|code| (code, "failed"));
    for (code, outcome) in [&succeeded[..], &failed, &[("8", "refused")]].concat() {
        for answer in [Response::new, of_grpc] {
            let trailers = |_: Asked| Ok(answer(Frames::of(&["a"]).then_trailers(grpc(code))));
            assert_eq!(measured(trailers, 2), format!("{outcome} 3"), "{code}");
            let headers = |_: Asked| {
                let mut response = answer(Frames::of(&[]));
                response.headers_mut().extend(grpc(code));
                Ok(response)
            };
            assert_eq!(measured(headers, 0), format!("{outcome} 1"), "{code}");
        }
    }
}

/// HTTP's status is 200 there, whatever comes of the call.
#[test]
fn a_call_of_grpc_without_a_status_has_not_succeeded() {
    let frames = || Frames::of(&["a"]).then_trailers(HeaderMap::new());
    assert_eq!(measured(|_| Ok(of_grpc(frames())), 2), "failed 3");
    assert_eq!(measured(|_| Ok(of_grpc(Frames::of(&[]))), 0), "failed 1");
    assert_eq!(measured(|_| Ok(of_grpc(frames())), 1), "dropped 2", "the client has gone");
    let typed = |text: &'static str| {
        move |_: Asked| Ok(Response::builder().header("content-type", text).body(Frames::of(&["a"])).unwrap())
    };
    for text in ["application/grpc+proto", "application/grpc;x=y", "Application/gRPC"] {
        assert_eq!(measured(typed(text), 1), "failed 2", "{text}");
    }
    for text in ["application/grpc-web+proto", "text/plain"] {
        assert_eq!(measured(typed(text), 1), "succeeded 2", "{text}: it has no trailers, or none of HTTP");
    }
    let refused = |status: u16| {
        move |_: Asked| {
            let mut response = of_grpc(Frames::of(&[]));
            *response.status_mut() = status.try_into().unwrap();
            Ok(response)
        }
    };
    assert_eq!(measured(refused(429), 0), "refused 1", "by a proxy that knows no gRPC");
    assert_eq!(measured(refused(503), 0), "failed 1");
}

/// Messages come as they are made, so the size of such a body is not known.
fn of_grpc(body: Frames) -> Response<Frames> {
    Response::builder().header("content-type", "application/grpc").body(body.of_unknown_size()).unwrap()
}
