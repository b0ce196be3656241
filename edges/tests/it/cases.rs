//! C78 and C94 to C109 over real sockets; of C104 and C105 what is in use, which their gauge shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http_body_util::channel::Channel;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::time::timeout;
use tollgate::budget::Budget;
use tollgate::http::{ClientKey, ClientKeys, Fields, Policy, Refusal};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::keyed::Keyed;
use tollgate::metrics::Meters;
use tollgate::tower::{Grant, LimitLayer, PermitLayer, WaitLayer, on_answer, on_end};
use tollgate::wait::TokioTimer;
use tollgate::{Bucket, Denied, Manual, Quota, quota};

use crate::support::{Server, client_key, eventually, number, refused};

/// A handler whose bodies are fed by the test.
struct Streams {
    senders: Mutex<Vec<http_body_util::channel::Sender<Bytes>>>,
}

impl Streams {
    fn new() -> Arc<Self> {
        Arc::new(Self { senders: Mutex::new(Vec::new()) })
    }

    fn router(self: &Arc<Self>) -> Router {
        let streams = Arc::clone(self);
        let handler = move || {
            let streams = Arc::clone(&streams);
            async move {
                let (sender, body) = Channel::new(4);
                streams.senders.lock().await.push(sender);
                Body::new(body)
            }
        };
        Router::new().route("/", get(handler))
    }
}

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

#[tokio::test]
async fn c106_a_permit_is_held_until_the_body_ends() {
    let running = Arc::new(InFlight::new(2).unwrap());
    let streams = Streams::new();
    let layer = PermitLayer::shedding(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no));
    let server = Server::axum(streams.router().layer(layer)).await;
    let (first, second) = (server.get(&[]).await, server.get(&[]).await);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    assert_eq!(server.status(&[]).await, 429, "two open bodies");

    streams.senders.lock().await.remove(0);
    assert_eq!(first.text().await.unwrap(), "");
    eventually("one is back", || running.in_use() == 1).await;
    let third = server.get(&[]).await;
    assert_eq!((third.status().as_u16(), server.status(&[]).await), (200, 429), "exactly one is admitted");

    drop(second);
    eventually("one is back", || running.in_use() == 1).await;
    assert_eq!(server.status(&[]).await, 200, "a client that goes away makes room");
    drop(third);
    eventually("all are back", || running.in_use() == 0).await;
}

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

/// Five hundred strangers; the library's own test has a hundred thousand.
#[tokio::test]
async fn c103_refused_keys_make_no_series() {
    const KEYS: u32 = 500;
    let recorder = PrometheusBuilder::new().build_recorder();
    let take = |meters: Meters| (meters.meter("clients"), meters);
    let (meter, meters) = metrics::with_local_recorder(&recorder, || take(Meters::new()));
    let (clients, told) = (Keyed::<ClientKey>::new(quota!("1/h")).unwrap(), recorder.handle());
    let keys = ClientKeys::new().behind_x_forwarded_for(1).unwrap();
    let admit = move |request: &mut Request| meter.count(1, clients.try_acquire(&client_key(&keys, request)));
    let figures = async move || {
        meters.publish();
        told.render()
    };
    let limit = LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied));
    let router = Router::new().route("/", get(async || "hello")).layer(limit);
    let server = Server::axum(router.route("/metrics", get(figures))).await;
    let client = reqwest::Client::new();
    let scraped = async || client.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
    let series = |text: &str| text.lines().filter(|line| line.contains('{')).count();
    let before = scraped().await;
    for key in 0..KEYS {
        for status in [200, 429] {
            let address = format!("10.1.{}.{}", key / 250, key % 250);
            let request = client.get(server.url("/")).header("x-forwarded-for", address);
            assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{key}");
        }
    }
    let after = scraped().await;
    assert!(series(&before) > 0 && series(&after) == series(&before), "{after}");
    let refused = format!("tollgate_refused_total{{limit=\"clients\",reason=\"not_yet\"}} {KEYS}");
    assert!(after.lines().any(|line| line == refused), "{after}");
}

/// Fifty that are dropped in the middle, and one whose handler panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c104_what_is_dropped_or_panics_is_no_longer_in_use() {
    let running = Arc::new(InFlight::new(60).unwrap());
    let streams = Streams::new();
    let panics = async || -> &str { panic!("a handler may panic") };
    let layer = PermitLayer::shedding(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no));
    let server = Server::axum(streams.router().route("/panics", get(panics)).layer(layer)).await;
    let mut open = Vec::new();
    for at in 1..=50 {
        open.push(server.get(&[]).await);
        assert_eq!(running.in_use(), at);
    }
    assert!(reqwest::get(server.url("/panics")).await.is_err(), "the connection is closed");
    eventually("that one is back", || running.in_use() == 50).await;
    drop(open);
    eventually("all are back", || running.in_use() == 0).await;
}

#[tokio::test]
async fn c105_refusals_do_not_change_what_is_in_use() {
    let running = Arc::new(InFlight::new(10).unwrap());
    let streams = Streams::new();
    let layer = PermitLayer::shedding(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no));
    let server = Server::axum(streams.router().layer(layer)).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(server.get(&[]).await);
    }
    for _ in 0..100 {
        assert_eq!(server.status(&[]).await, 429);
        assert_eq!(running.in_use(), 10);
    }
    assert_eq!(streams.senders.lock().await.len(), 10, "none of them reached the handler");
}

#[tokio::test]
async fn c108_a_lowered_limit_admits_nobody_until_there_is_room() {
    let running = Arc::new(InFlight::new(10).unwrap());
    let streams = Streams::new();
    let layer = PermitLayer::shedding(Arc::clone(&running), |_: &Request, no: NoPermit| refused(no));
    let server = Server::axum(streams.router().layer(layer)).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(server.get(&[]).await);
    }
    running.set_limit(4).unwrap();
    for left in (4..10).rev() {
        drop(open.pop());
        eventually("one is back", || running.in_use() == left).await;
        assert_eq!(server.status(&[]).await, 429, "{left} are in flight");
    }
    drop(open.pop());
    eventually("the seventh is back", || running.in_use() == 3).await;
    let admitted = server.get(&[]).await;
    assert_eq!((admitted.status().as_u16(), server.status(&[]).await), (200, 429), "one");
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

/// A server that admits one request an hour for each key.
async fn once_by(keys: ClientKeys) -> Server {
    let seen = Keyed::<ClientKey>::new(quota!("1/h")).unwrap();
    let admit = move |request: &mut Request| seen.try_acquire(&client_key(&keys, request));
    let layer = LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied));
    Server::axum(Router::new().route("/", get(async || "hello")).layer(layer)).await
}

#[tokio::test]
async fn c94_c95_and_c97_keys_go_by_value_and_prefix() {
    let cases: [(u8, &[&str], &[u16]); 4] = [
        (64, &["203.0.113.7:50001", "203.0.113.7:50002", "203.0.113.7"], &[200, 429, 429]),
        (
            56,
            &["[2001:db8::1]:443", "2001:db8::1", "::ffff:1.2.3.4", "::ffff:102:304", "1.2.3.4"],
            &[200, 429, 200, 429, 429],
        ),
        (56, &["2001:db8:1234:5678::1", "2001:db8:1234:56ff::1", "2001:db8:1234:5700::1"], &[200, 429, 200]),
        (
            64,
            &["2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::102:304", "2001:db8:1234:56ff::1"],
            &[200, 429, 200],
        ),
    ];
    for (bits, addresses, expected) in cases {
        let keys = ClientKeys::new().behind_x_forwarded_for(1).unwrap().ipv6_prefix(bits).unwrap();
        let server = once_by(keys).await;
        let mut statuses = Vec::new();
        for address in addresses {
            statuses.push(server.status(&[("x-forwarded-for", address)]).await);
        }
        assert_eq!(statuses, expected, "{addresses:?}");
    }
}

/// Who writes another address each time is refused all the same.
#[tokio::test]
async fn c96_forged_addresses_pass_nothing() {
    let peer = once_by(ClientKeys::new()).await;
    let one = once_by(ClientKeys::new().behind_x_forwarded_for(1).unwrap()).await;
    let two = once_by(ClientKeys::new().behind_x_forwarded_for(2).unwrap()).await;
    let forwarded = once_by(ClientKeys::new().behind_forwarded(1).unwrap()).await;
    let mut admitted = [0; 4];
    for at in 0..8 {
        let forged = format!("6.6.6.{at}");
        let requests = [
            (&peer, "x-forwarded-for", forged.clone()),
            (&one, "x-forwarded-for", format!("{forged}, 198.51.100.9")),
            (&two, "x-forwarded-for", format!("{forged}, 198.51.100.9, 10.0.0.2")),
            (&forwarded, "forwarded", format!("for={forged};x=\", for=198.51.100.9")),
        ];
        for (admitted, (server, name, value)) in admitted.iter_mut().zip(requests) {
            *admitted += usize::from(server.status(&[(name, &value)]).await == 200);
        }
    }
    assert_eq!(admitted, [1; 4]);
}

/// Admits by a bucket, and writes its fields into every response.
fn told(bucket: Bucket<Manual>, policy: Policy) -> Router {
    let (bucket, policy) = (Arc::new(bucket), Arc::new(policy));
    let fields = Fields::new().with_x_ratelimit();
    let admit = {
        let bucket = Arc::clone(&bucket);
        move |request: &mut Request| {
            bucket.try_acquire()?;
            request.extensions_mut().insert(bucket.peek());
            Ok::<(), Denied>(())
        }
    };
    let handler = {
        let policy = Arc::clone(&policy);
        move |request: Request| {
            let policy = Arc::clone(&policy);
            async move {
                let level = request.extensions().get::<tollgate::Level>().unwrap();
                let mut response = Response::new(Body::from("hello"));
                fields.admitted(&[policy.at(level)], response.headers_mut());
                response
            }
        }
    };
    let refuse = move |_: &Request, denied: Denied| -> Response {
        Refusal::from(denied).by(policy.at(&bucket.peek())).response(&fields)
    };
    Router::new().route("/", get(handler)).layer(LimitLayer::new(admit, refuse))
}

async fn answers(quota: Quota, requests: usize) -> Vec<reqwest::Response> {
    let bucket = Bucket::with_clock(quota, Manual::new());
    let server = Server::axum(told(bucket, Policy::of("p", &quota).unwrap())).await;
    let mut answers = Vec::new();
    for _ in 0..requests {
        answers.push(server.get(&[]).await);
    }
    answers
}

#[tokio::test]
async fn c98_a_refusal_never_says_zero() {
    for (quota, seconds) in [
        (quota!("5/s burst 1"), 1),
        (quota!("1/s"), 1),
        (quota!("1/1000000001ns"), 2),
        (quota!("1/59880239521ns"), 60),
    ] {
        let answers = answers(quota, 2).await;
        assert_eq!(
            (answers[1].status().as_u16(), number(answers[1].headers(), "retry-after")),
            (429, seconds)
        );
    }
}

#[tokio::test]
async fn c99_and_c100_what_is_told_of_the_next_the_whole_and_the_rest() {
    let answers_of_six = answers(quota!("3600/h burst 6"), 7).await;
    let last = answers_of_six[6].headers();
    let figures = ["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-ratelimit-limit"];
    assert_eq!(figures.map(|name| number(last, name)), [1, 6, 0, 6]);
    assert_eq!(last["content-type"], "application/problem+json");

    let answers_of_three = answers(quota!("3/10s"), 5).await;
    let remaining: Vec<_> =
        answers_of_three.iter().map(|answer| number(answer.headers(), "x-ratelimit-remaining")).collect();
    assert_eq!(remaining, [2, 1, 0, 0, 0]);
    assert_eq!(answers_of_three[0].headers()["ratelimit"], "\"p\";r=2;t=4");
    assert_eq!(answers_of_three[4].headers()["ratelimit"], "\"p\";r=0;t=4");
}

/// Two layers; the fields are of the one that refused.
#[tokio::test]
async fn c101_a_refusal_tells_of_the_limit_that_refused() {
    let (passing, refusing) = (quota!("5/s burst 116"), quota!("1/3000s"));
    let outer = Arc::new(Bucket::with_clock(passing, Manual::new()));
    let policy = Policy::of("passing", &passing).unwrap();
    let refuse = {
        let outer = Arc::clone(&outer);
        move |_: &Request, denied: Denied| -> Response {
            Refusal::from(denied).by(policy.at(&outer.peek())).response(&Fields::new())
        }
    };
    let inner = told(Bucket::with_clock(refusing, Manual::new()), Policy::of("refusing", &refusing).unwrap());
    let server = Server::axum(inner.layer(LimitLayer::by(Arc::clone(&outer), refuse))).await;
    assert_eq!(server.status(&[]).await, 200);
    let answer = server.get(&[]).await;
    let figures = ["x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"];
    assert_eq!(figures.map(|name| number(answer.headers(), name)), [0, 3000, 3000]);
    assert_eq!(answer.headers()["ratelimit"], "\"refusing\";r=0;t=3000");
    let problem: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(problem["violated-policies"], serde_json::json!(["refusing"]));
}

/// A client that waits as long as it is told, on the limiter's clock, is admitted.
#[tokio::test]
async fn c102_who_waits_as_told_is_admitted() {
    for quota in [quota!("3/10s"), quota!("7/s burst 2"), quota!("1/90s"), quota!("100/min burst 3")] {
        let bucket = Arc::new(Bucket::with_clock(quota, Manual::new()));
        let layer = LimitLayer::by(Arc::clone(&bucket), |_: &Request, denied: Denied| refused(denied));
        let server = Server::axum(Router::new().route("/", get(async || "hello")).layer(layer)).await;
        let mut refusals = 0;
        while refusals < 3 {
            let answer = server.get(&[]).await;
            if answer.status() == 429 {
                refusals += 1;
                let wait = number(answer.headers(), "retry-after");
                assert!(wait >= 1);
                bucket.clock().advance(Duration::from_secs(wait));
                assert_eq!(server.status(&[]).await, 200, "{quota}");
            }
        }
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
    struct Ends(Option<oneshot::Sender<tollgate::tower::End>>);
    impl Grant for Ends {
        fn ended(mut self, end: tollgate::tower::End) {
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
    assert_eq!(timeout(Duration::from_secs(20), end).await.unwrap().unwrap(), tollgate::tower::End::Dropped);
}
