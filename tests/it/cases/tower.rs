//! C78, C106, C107 and C109: layers. Over real sockets they are in `edges/`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use tollgate::inflight::{InFlight, NoPermit, OwnedPermit};
use tollgate::tower::{Limited, PermitLayer};
use tower_layer::Layer;
use tower_service::Service;

use crate::tower::support::{
    Answer, Asked, Down, Frames, Serve, Wakes, call, frame, is_ready, now, poll_ready, refusal,
};

/// A body with its permit.
type Held = Limited<Frames, OwnedPermit>;

fn waiting(limit: &Arc<InFlight>) -> PermitLayer<fn(&Asked, NoPermit) -> Response<Frames>> {
    PermitLayer::new(Arc::clone(limit), |_, _| refusal())
}

/// The slot is held and the usage settled when the body ends, not when the handler returns.
#[cfg(feature = "budget")]
#[test]
fn c78_a_stream_is_settled_and_its_slot_freed_at_its_end() {
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;
    use tollgate::budget::Budget;
    use tollgate::tower::{LimitLayer, on_end};
    use tollgate::{Denied, Manual, quota};

    for (others, left) in [(0, 700), (600, 200)] {
        let (limit, clock) = (Arc::new(InFlight::new(2).unwrap()), Arc::new(Manual::new()));
        let budget = Arc::new(Budget::with_clock(quota!("1000/min"), Arc::clone(&clock)));
        let admit = {
            let budget = Arc::clone(&budget);
            move |request: &mut Asked| {
                let (reservation, used) = (budget.reserve_owned(400)?, Arc::new(AtomicU64::new(0)));
                request.extensions_mut().insert(Arc::clone(&used));
                Ok::<_, Denied>(on_end(reservation, move |reservation, _| {
                    let _settled = reservation.settle(used.load(Ordering::Relaxed)).unwrap();
                }))
            }
        };
        let stream = |request: Asked| {
            let used = request.extensions().get::<Arc<AtomicU64>>().unwrap();
            used.store(700, Ordering::Relaxed);
            Ok(Response::new(Frames::of(&["a", "b"])))
        };
        let tokens = LimitLayer::new(admit, |_: &Asked, _: Denied| refusal());
        let mut service = PermitLayer::new(Arc::clone(&limit), |_: &Asked, _| refusal().map(Into::into))
            .layer(tokens.layer(Serve::new(stream)));
        let response = call(&mut service, "").unwrap();
        if others > 0 {
            budget.reserve(others).unwrap().keep();
        }
        clock.advance(Duration::from_millis(100));
        assert_eq!((limit.in_use(), budget.open_reservations()), (1, 1), "the headers are sent");
        let mut body = response.into_body();
        assert!(frame(&mut body).is_some());
        clock.advance(Duration::from_millis(29_900));
        assert_eq!((limit.in_use(), budget.open_reservations()), (1, 1), "until 30 s");
        assert!(frame(&mut body).is_some());
        assert_eq!((limit.in_use(), budget.open_reservations()), (0, 0));
        assert_eq!(budget.peek().available(), left);
    }
}

#[test]
fn c106_a_permit_is_held_until_the_body_ends() {
    let ends: [fn(&mut Option<Response<Held>>); 3] = [
        |response| while frame(response.as_mut().unwrap().body_mut()).is_some() {},
        |response| drop(response.take()),
        |response| drop(frame(response.as_mut().unwrap().body_mut())),
    ];
    for end in ends {
        let limit = Arc::new(InFlight::new(2).unwrap());
        let mut service = waiting(&limit).layer(Serve::new(|_| Ok(Response::new(Frames::of(&["a"])))));
        let (mut first, second) = (Some(call(&mut service, "").unwrap()), call(&mut service, "").unwrap());
        let mut others = [service.clone(), service.clone()];
        assert!(others.iter_mut().all(|service| !is_ready(service)));
        end(&mut first);
        assert!(is_ready(&mut others[0]) && !is_ready(&mut others[1]), "exactly one");
        drop((second, others, service));
        assert_eq!(limit.in_use(), 0);
    }
    let answers: [fn(Asked) -> Answer; 3] = [
        |_| Err(Down),
        |_| Ok(Response::new(Frames::of(&[]))),
        |_| Ok(Response::new(Frames::of(&[]).then_fail())),
    ];
    for answer in answers {
        let limit = Arc::new(InFlight::new(2).unwrap());
        let mut service = waiting(&limit).layer(Serve::new(answer));
        let mut answer = call(&mut service, "");
        if let Ok(response) = &mut answer {
            let _ended = frame(response.body_mut());
        }
        assert_eq!(limit.in_use(), 0, "errors and empty bodies too");
    }
}

#[test]
fn c107_readiness_reserves_what_it_promises() {
    let limit = Arc::new(InFlight::new(4).unwrap());
    let service = waiting(&limit).layer(Serve::new(|_| Ok(Response::new(Frames::of(&["a"])))));
    let wakes = [(); 8].map(|()| Arc::<Wakes>::default());
    let mut clones: Vec<_> = (0..8).map(|_| service.clone()).collect();
    let ready: Vec<_> =
        clones.iter_mut().zip(&wakes).map(|(clone, wakes)| poll_ready(clone, wakes).is_ready()).collect();
    assert_eq!(
        ready,
        [[true; 4], [false; 4]].concat(),
        "readiness first, and no more than there are permits"
    );
    let open: Vec<_> = clones
        .iter_mut()
        .take(4)
        .map(|clone| now(clone.call(Request::new(String::new()))).unwrap())
        .collect();
    assert_eq!(limit.in_use(), 4);
    for _ in 0..100 {
        assert!(
            clones
                .iter_mut()
                .skip(4)
                .zip(&wakes[4..])
                .all(|(clone, wakes)| poll_ready(clone, wakes).is_pending())
        );
    }
    assert_eq!(wakes.iter().map(|wakes| wakes.count()).sum::<usize>(), 0, "nobody is woken for nothing");

    drop(open);
    assert!(wakes[4..].iter().all(|wakes| wakes.count() == 1), "each once, as its turn comes");
    assert!(clones.iter_mut().skip(4).all(is_ready));
    assert_eq!(limit.in_use(), 4);
    drop(clones);
    assert_eq!(limit.in_use(), 0, "ready and dropped, they give their permits back");
}

/// Threads, with readiness first as a load balancer has it.
#[test]
fn c107_clones_on_threads_never_pass_the_limit() {
    let limit = Arc::new(InFlight::new(4).unwrap());
    let (running, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let serve = {
        let (running, peak) = (Arc::clone(&running), Arc::clone(&peak));
        Serve::new(move |_| {
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            Ok(Response::new(Frames::of(&["a"])))
        })
    };
    let service = waiting(&limit).layer(serve);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (mut service, running) = (service.clone(), &running);
            scope.spawn(move || {
                for _ in 0..200 {
                    while !is_ready(&mut service) {
                        std::thread::yield_now();
                    }
                    let response = now(service.call(Request::new(String::new()))).unwrap();
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(response);
                }
            });
        }
    });
    assert!((1..=4).contains(&peak.load(Ordering::SeqCst)), "{peak:?}");
    assert_eq!(limit.in_use(), 0);
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn c109_every_waiter_is_woken() {
    use std::time::Duration;
    use tollgate::tower::WaitLayer;
    use tollgate::wait::{TokioClock, TokioTimer};
    use tollgate::{Bucket, Denied, quota};

    let bucket = Arc::new(Bucket::with_clock(quota!("1/1s burst 1"), TokioClock::new()));
    let layer =
        WaitLayer::by(bucket, TokioTimer, Duration::MAX, |_: &Asked| 1, |_: &Asked, _: Denied| refusal());
    let mut service = layer.layer(Serve::new(|_| Ok(Response::new(Frames::of(&["a"])))));
    let start = tokio::time::Instant::now();
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            assert!(is_ready(&mut service));
            let turn = service.call(Request::new(String::new()));
            tokio::spawn(async move {
                turn.await.unwrap();
                start.elapsed()
            })
        })
        .collect();
    for (second, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), Duration::from_secs(second as u64));
    }
}
