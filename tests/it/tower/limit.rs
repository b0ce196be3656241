//! A limit for each request, and what becomes of what it gives out.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use tollgate::tower::{End, Grant, Held, LimitLayer, on_answer, on_end};
use tollgate::{Bucket, Denied, Manual, quota};
use tower_layer::Layer;
use tower_service::Service;

use super::support::{Answer, Asked, Down, Frames, Serve, call, frame, is_ready, now, refusal};

fn two_chunks(_: Asked) -> Answer {
    Ok(Response::new(Frames::of(&["a", "b"])))
}

#[test]
fn who_is_refused_does_not_reach_the_service() {
    let bucket = Arc::new(Bucket::with_clock(quota!("2/s"), Manual::new()));
    let refuse = |request: &Asked, denied: Denied| {
        assert_eq!((request.body().as_str(), denied.wait()), ("c", Some(Duration::from_millis(500))));
        refusal()
    };
    let inner = Serve::new(two_chunks);
    let (calls, mut service) = (inner.calls(), LimitLayer::by(Arc::clone(&bucket), refuse).layer(inner));
    assert_eq!(call(&mut service, "a").unwrap().status(), 200);
    assert_eq!(call(&mut service.clone(), "b").unwrap().status(), 200);
    assert_eq!(call(&mut service, "c").unwrap().status(), 429);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    bucket.clock().advance(Duration::from_millis(500));
    assert_eq!(call(&mut service, "d").unwrap().status(), 200);
}

#[test]
fn a_layer_has_one_limit_whatever_is_made_of_it() {
    let layer = LimitLayer::by(Bucket::with_clock(quota!("8/s"), Manual::new()), |_: &Asked, _| refusal());
    let statuses: Vec<_> = (0..12)
        .map(|at| {
            let layer = if at % 2 == 0 { layer.clone() } else { layer.clone().clone() };
            call(&mut layer.layer(Serve::new(two_chunks)).clone(), "").unwrap().status().as_u16()
        })
        .collect();
    assert_eq!(statuses, [[200; 8].as_slice(), &[429; 4]].concat());
}

#[test]
fn a_request_costs_what_a_function_says_and_nothing_is_free() {
    let bucket = Arc::new(Bucket::with_clock(quota!("5/s"), Manual::new()));
    let length = |request: &Asked| request.body().len() as u64;
    let layer = LimitLayer::by_cost(Arc::clone(&bucket), length, |_: &Asked, _| refusal());
    let mut service = layer.layer(Serve::new(two_chunks));
    let mut status = |text| call(&mut service, text).unwrap().status().as_u16();
    assert_eq!(
        [status("abc"), status("abc"), status(""), status("ab"), status(""), status("a")],
        [200, 429, 200, 200, 200, 429]
    );
    assert_eq!(status("abcdef"), 429, "above the capacity");
}

/// What a grant is told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }
}

struct Watching(Told);

impl Grant for Watching {
    fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.0.note(format!("{status} {}", headers.len()));
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        self.0.note(format!("{} trailers", trailers.len()));
    }

    fn ended(self, end: End) {
        self.0.note(format!("{end:?}"));
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

fn watched<F>(
    answer: F,
) -> (Told, impl Service<Asked, Response = Response<impl Body + Unpin>, Error = Down> + Clone)
where
    F: Fn(Asked) -> Answer,
{
    let told = Told::default();
    let admit = {
        let told = told.clone();
        move |_: &mut Asked| Ok::<_, ()>(Watching(told.clone()))
    };
    let layer = LimitLayer::new(admit, |_: &Asked, ()| refusal());
    (told, layer.layer(Serve::new(answer)))
}

#[test]
fn a_grant_is_told_how_it_ended_once() {
    let (told, mut service) = watched(two_chunks);
    let mut body = call(&mut service, "").unwrap().into_body();
    assert_eq!(told.take(), "200 OK 0");
    assert_eq!(body.size_hint().exact(), Some(2));
    assert!(frame(&mut body).is_some());
    assert_eq!(told.take(), "", "one frame is to come");
    assert!(frame(&mut body).is_some());
    assert_eq!(told.take(), "Complete dropped", "the body tells that this was the last");
    assert!(frame(&mut body).is_none());
    drop(body);
    assert_eq!(told.take(), "");
}

#[test]
fn each_end_is_told_apart() {
    let read = |answer: fn(Asked) -> Answer| {
        let (told, mut service) = watched(answer);
        if let Ok(response) = call(&mut service, "") {
            let mut body = response.into_body();
            while let Some(Ok(_)) = frame(&mut body) {}
            told.note("(read)");
        }
        told.take()
    };
    assert_eq!(read(|_| Ok(Response::new(Frames::of(&[])))), "200 OK 0 Complete dropped (read)");
    assert_eq!(
        read(|_| Ok(Response::new(Frames::of(&["a"]).without_telling()))),
        "200 OK 0 Complete dropped (read)"
    );
    assert_eq!(
        read(|_| Ok(Response::new(Frames::of(&["a"]).then_fail()))),
        "200 OK 0 BodyFailed dropped (read)"
    );
    assert_eq!(read(|_| Err(Down)), "ServiceFailed dropped");
    let with_trailers = |_: Asked| {
        let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
        Ok(Response::new(Frames::of(&["a"]).then_trailers(trailers)))
    };
    assert_eq!(read(with_trailers), "200 OK 0 1 trailers Complete dropped (read)");

    let (told, mut service) = watched(|_| panic!("a service may panic when it is called"));
    assert!(is_ready(&mut service));
    let call_it = std::panic::AssertUnwindSafe(|| drop(service.call(Request::new(String::new()))));
    assert!(std::panic::catch_unwind(call_it).is_err());
    assert_eq!(told.take(), "Dropped dropped");

    let (told, mut service) = watched(two_chunks);
    drop(call(&mut service, "").unwrap());
    assert_eq!(told.take(), "200 OK 0 Dropped dropped", "the client has gone");
    assert!(is_ready(&mut service));
    drop(service.call(Request::new(String::new())));
    assert_eq!(told.take(), "Dropped dropped", "before there was a response");
}

/// Trailers are the last frame there is, and of a length that is told no more than that is sent: servers ask
/// no further, whether or not the body tells its end.
#[test]
fn a_body_that_was_sent_in_full_is_complete() {
    let trailers = || HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
    let told_after = |length: &'static str, body: fn() -> Frames, frames: usize| {
        let (told, mut service) = watched(move |_| {
            Ok(Response::builder().header("content-length", length).body(body().of_unknown_size()).unwrap())
        });
        let mut body = call(&mut service, "").unwrap().into_body();
        for _ in 0..frames {
            assert!(frame(&mut body).is_some());
        }
        drop(body);
        told.take()
    };
    let telling: fn() -> Frames = || Frames::of(&["ab", "", "cd"]);
    let silent: fn() -> Frames = || Frames::of(&["ab", "", "cd"]).without_telling();
    for body in [telling, silent] {
        assert_eq!(told_after("4", body, 3), "200 OK 1 Complete dropped");
        assert_eq!(told_after("4", body, 2), "200 OK 1 Dropped dropped", "two bytes are left");
        assert_eq!(told_after("4", body, 0), "200 OK 1 Dropped dropped", "as the answer to HEAD");
    }
    assert_eq!(told_after("x", silent, 3), "200 OK 1 Dropped dropped", "a length that nobody understands");
    assert_eq!(told_after("0", || Frames::of(&[]).without_telling(), 0), "200 OK 1 Complete dropped");
    assert_eq!(told_after("4", || Frames::of(&["ab", "cd"]).then_fail(), 3), "200 OK 1 BodyFailed dropped");

    for tells_its_end in [true, false] {
        let (told, mut service) = watched(move |_| {
            let body = Frames::of(&["a"]).then_trailers(trailers());
            Ok(Response::new(if tells_its_end { body } else { body.without_telling() }))
        });
        let mut body = call(&mut service, "").unwrap().into_body();
        assert!(frame(&mut body).is_some() && frame(&mut body).is_some());
        assert_eq!(told.take(), "200 OK 0 1 trailers Complete dropped");
    }

    // Without the field a server takes the length of the body itself.
    let (told, mut service) = watched(|_| Ok(Response::new(Frames::of(&["a", "b"]).without_telling())));
    let mut body = call(&mut service, "").unwrap().into_body();
    assert!(frame(&mut body).is_some() && frame(&mut body).is_some());
    drop(body);
    assert_eq!(told.take(), "200 OK 0 Complete dropped");
}

#[test]
fn a_refusal_is_made_once_and_its_body_is_passed_on() {
    let told = Told::default();
    let admit = |_: &mut Asked| Err::<Watching, _>("no");
    let service = LimitLayer::new(admit, |asked: &Asked, no: &str| {
        told.note(format!("{no} {}", asked.body()));
        refusal()
    });
    let inner = Serve::new(two_chunks);
    let calls = inner.calls();
    let response = call(&mut service.layer(inner), "thanks").unwrap();
    assert_eq!((response.status().as_u16(), told.take().as_str()), (429, "no thanks"));
    let mut body = response.into_body();
    assert_eq!(body.size_hint().exact(), Some(2));
    assert_eq!(frame(&mut body).unwrap().unwrap().into_data().unwrap(), b"no");
    assert!(body.is_end_stream() && frame(&mut body).is_none());
    drop(body);
    assert_eq!((told.take().as_str(), calls.load(Ordering::Relaxed)), ("", 0));
}

/// A charge by the status: known before the body, which may take long.
#[test]
fn what_failed_is_given_back_when_the_status_is_known() {
    let bucket = Arc::new(Bucket::with_clock(quota!("3/h"), Manual::new()));
    let admit = {
        let bucket = Arc::clone(&bucket);
        move |_: &mut Asked| {
            bucket.try_acquire()?;
            Ok::<_, Denied>(on_answer(Arc::clone(&bucket), |bucket, status, _| {
                if status.is_server_error() {
                    bucket.refund(1);
                }
            }))
        }
    };
    let answer = |request: Asked| {
        let status = request.body().parse::<u16>().unwrap();
        Ok(Response::builder().status(status).body(Frames::of(&["a", "b"])).unwrap())
    };
    let mut service = LimitLayer::new(admit, |_: &Asked, _: Denied| refusal()).layer(Serve::new(answer));
    let open: Vec<_> = ["500", "200", "503", "404"].map(|status| call(&mut service, status).unwrap()).into();
    assert_eq!(bucket.peek().available(), 1);
    drop(open);
    assert_eq!(bucket.peek().available(), 1, "once");
}

#[test]
fn pairs_and_options_are_told_all_of_it() {
    let told = Told::default();
    let (first, second) = (told.clone(), told.clone());
    let admit = move |_: &mut Asked| {
        let second = second.clone();
        let end = on_end("held", move |held: &str, end: End| second.note(format!("{held} {end:?}")));
        Ok::<_, ()>((Some(Watching(first.clone())), (end, None::<Held<u8>>)))
    };
    let mut service = LimitLayer::new(admit, |_: &Asked, ()| refusal()).layer(Serve::new(two_chunks));
    let mut body = call(&mut service, "").unwrap().into_body();
    while frame(&mut body).is_some() {}
    assert_eq!(told.take(), "200 OK 0 Complete dropped held Complete");
}

#[test]
fn a_service_is_called_that_was_ready() {
    let (_, mut service) = watched(two_chunks);
    assert!(is_ready(&mut service));
    assert!(now(service.call(Request::new(String::new()))).is_ok(), "or else it panics");
}
