//! Permits that readiness reserves and bodies hold.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use http::{Request, Response};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{LimitLayer, PermitLayer};
use tollgate::{Bucket, Denied, Manual, quota};
use tower_layer::Layer;
use tower_service::Service;

use super::support::{
    Answer, Asked, Down, Frames, Serve, Wakes, call, frame, is_ready, now, poll_ready, refusal,
};

fn one_chunk(_: Asked) -> Answer {
    Ok(Response::new(Frames::of(&["a"])))
}

fn never(_: &Asked, no: NoPermit) -> Response<Frames> {
    panic!("it refused: {no}")
}

#[test]
fn readiness_is_a_permit() {
    let limit = Arc::new(InFlight::new(1).unwrap());
    let mut service = PermitLayer::new(Arc::clone(&limit), never).layer(Serve::new(one_chunk));
    let mut clone = service.clone();
    assert!(is_ready(&mut service));
    assert!(is_ready(&mut service), "asked again, it is the same permit");
    assert_eq!(limit.in_use(), 1);
    let mut copy = service.clone();
    assert!(!is_ready(&mut clone) && !is_ready(&mut copy), "a clone of what is ready is not");
    let response = now(service.call(Request::new(String::new()))).unwrap();
    assert_eq!(limit.in_use(), 1, "the call uses what was promised");
    drop(response);
    assert!(is_ready(&mut clone) && !is_ready(&mut copy), "in their order");
    drop(clone);
    assert!(is_ready(&mut copy));
    drop(copy);
    assert_eq!(limit.in_use(), 0);
}

#[test]
fn who_no_longer_waits_takes_nothing() {
    let limit = Arc::new(InFlight::new(1).unwrap());
    let layer = PermitLayer::new(Arc::clone(&limit), never);
    let held = limit.try_acquire().unwrap();
    let mut services = [(); 3].map(|()| layer.layer(Serve::new(one_chunk)));
    let wakes = [(); 3].map(|()| Arc::<Wakes>::default());
    for (service, wakes) in services.iter_mut().zip(&wakes) {
        assert!(poll_ready(service, wakes).is_pending());
    }
    assert_eq!(limit.waiting(), 3);
    let [first, second, mut third] = services;
    drop(second);
    drop(held);
    assert_eq!(wakes.each_ref().map(|wakes| wakes.count()), [1, 0, 0]);
    drop(first);
    assert_eq!(
        wakes.each_ref().map(|wakes| wakes.count()),
        [1, 0, 1],
        "handed on though the first never took it"
    );
    assert!(is_ready(&mut third));
    drop(third);
    assert_eq!((limit.in_use(), limit.waiting()), (0, 0));
}

#[test]
fn a_full_line_is_a_refusal() {
    let limit = Arc::new(InFlight::new(1).unwrap().max_waiting(0));
    let refuse = |_: &Asked, no: NoPermit| {
        assert_eq!(no, NoPermit::LineFull { depth: 0 });
        refusal()
    };
    let inner = Serve::new(one_chunk);
    let (calls, mut service) = (inner.calls(), PermitLayer::new(Arc::clone(&limit), refuse).layer(inner));
    let held = limit.try_acquire().unwrap();
    assert_eq!(call(&mut service, "").unwrap().status(), 429);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    drop(held);
    assert_eq!(call(&mut service, "").unwrap().status(), 200, "the refusal was for one call");
}

#[test]
fn shedding_refuses_and_never_waits() {
    let limit = Arc::new(InFlight::new(2).unwrap());
    let layer = PermitLayer::shedding(Arc::clone(&limit), |_: &Asked, _| refusal());
    let mut services = [(); 3].map(|()| layer.layer(Serve::new(one_chunk)));
    assert!(services.iter_mut().all(is_ready));
    assert_eq!(limit.in_use(), 0, "it promises nothing");
    let responses =
        services.each_mut().map(|service| now(service.call(Request::new(String::new()))).unwrap());
    assert_eq!(responses.each_ref().map(|response| response.status().as_u16()), [200, 200, 429]);
    assert_eq!((limit.in_use(), limit.waiting()), (2, 0));
    drop(responses);
    assert_eq!(limit.in_use(), 0);
}

/// A caller that breaks the contract gets a permit that is there, or a refusal; none is lost.
#[test]
fn a_call_without_readiness_takes_what_is_there() {
    let limit = Arc::new(InFlight::new(1).unwrap());
    let layer = PermitLayer::new(Arc::clone(&limit), |_: &Asked, _| refusal());
    let mut inner = Serve::new(one_chunk);
    assert!(is_ready(&mut inner));
    let mut service = layer.layer(inner);
    let response = now(service.call(Request::new(String::new()))).unwrap();
    assert_eq!((response.status().as_u16(), limit.in_use()), (200, 1));
    assert!(!is_ready(&mut service));
    assert_eq!(
        now(service.call(Request::new(String::new()))).unwrap().status(),
        429,
        "it was called while it waited"
    );
    assert_eq!(limit.waiting(), 0, "and waits no longer");
    drop(response);
    assert_eq!(limit.in_use(), 0);
}

/// C113: who is refused by one of two is not charged by the other.
#[test]
fn permits_outside_of_a_limit_charge_what_runs() {
    let limit = Arc::new(InFlight::new(1).unwrap());
    let bucket = Arc::new(Bucket::with_clock(quota!("2/min"), Manual::new()));
    let tokens = LimitLayer::by(Arc::clone(&bucket), |_: &Asked, _: Denied| refusal());
    let busy = |_: &Asked, _: NoPermit| refusal().map(Into::into);
    let permits = PermitLayer::shedding(Arc::clone(&limit), busy);
    let mut service = permits.layer(tokens.layer(Serve::new(one_chunk)));
    let open = call(&mut service, "").unwrap();
    assert_eq!(call(&mut service, "").unwrap().status(), 429);
    assert_eq!(bucket.peek().available(), 1, "who got no permit was not charged");
    drop(open);
    drop(call(&mut service, "").unwrap());
    let mut refused = call(&mut service, "").unwrap();
    assert_eq!((refused.status().as_u16(), limit.in_use()), (429, 1));
    assert!(frame(refused.body_mut()).is_some());
    assert_eq!(limit.in_use(), 0, "back with the end of the refusal");
}

#[test]
fn an_error_of_the_service_s_readiness_is_told() {
    struct Broken;
    impl Service<Asked> for Broken {
        type Response = Response<Frames>;
        type Error = Down;
        type Future = std::future::Ready<Answer>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Down>> {
            Poll::Ready(Err(Down))
        }
        fn call(&mut self, _: Asked) -> Self::Future {
            unreachable!()
        }
    }
    let limit = Arc::new(InFlight::new(1).unwrap());
    let mut service = PermitLayer::new(Arc::clone(&limit), never).layer(Broken);
    assert_eq!(poll_ready(&mut service, &Arc::default()), Poll::Ready(Err(Down)));
    drop(service);
    assert_eq!(limit.in_use(), 0);
}
