//! Answers that the local providers do not give: as other upstreams give them.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::post;
use bytes::Bytes;
use http::StatusCode;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::support::{Gateway, named, still};

const EVENTS: (&str, &str) = ("content-type", "text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

/// A server that answers all calls so, and counts them.
struct Upstream {
    url: String,
    calls: Arc<AtomicUsize>,
}

impl Upstream {
    async fn start<R: IntoResponse>(answer: impl Fn() -> R + Clone + Send + Sync + 'static) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let handler = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let answer = answer().into_response();
            async move { answer }
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().route("/v1/chat/completions", post(handler));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, calls }
    }
}

/// A gateway before these two, in which hardly anything is refilled.
fn before(alpha: &str, beta: &str) -> Gateway {
    let (settings, allowances) = still();
    Gateway::with(&pointed(&settings, alpha, beta), &allowances)
}

fn pointed(settings: &str, alpha: &str, beta: &str) -> String {
    let at = |name: &str, url: &str| format!("name = \"{name}\"\nurl = \"{url}\"");
    let settings = settings.replace("name = \"alpha\"", &at("alpha", alpha));
    settings.replace("name = \"beta\"", &at("beta", beta))
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn text(bytes: usize) -> String {
    event(&json!({ "choices": [{ "delta": { "content": "x".repeat(bytes) } }] }))
}

fn usage() -> Value {
    json!({ "prompt_tokens": 5, "completion_tokens": 50, "total_tokens": 55 })
}

/// A body that does not end.
struct Open(Option<String>);

impl http_body::Body for Open {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.take().map(|text| Ok(Frame::data(text.into())));
        piece.map_or(std::task::Poll::Pending, |piece| std::task::Poll::Ready(Some(piece)))
    }
}

async fn over(gateway: &Gateway) -> Value {
    gateway.until("over", |status| named(status, "tenants", "chat")["in_flight"] == 0).await
}

fn tokens(status: &Value) -> u64 {
    named(status, "tenants", "chat")["tokens"].as_u64().unwrap()
}

/// What the tenant's node holds less than when it was full.
fn missing(status: &Value) -> u64 {
    let tenant = named(status, "tenants", "chat");
    tenant["burst"].as_u64().unwrap() - tenant["held"].as_u64().unwrap()
}

#[tokio::test]
async fn a_stream_without_a_usage_record_costs_what_was_seen_of_it() {
    let answer = || ([EVENTS], text(20_000) + &text(20_000) + "data: [DONE]\n\n");
    let upstream = Upstream::start(answer).await;
    let gateway = before(&upstream.url, &upstream.url);
    gateway.call("chat", 0).send().await.unwrap().text().await.unwrap();
    let status = over(&gateway).await;
    assert!(tokens(&status) >= 10_000, "{}", tokens(&status));
    assert_eq!(missing(&status), tokens(&status));
}

/// In one piece, and in an event between others that tell nothing.
#[tokio::test]
async fn an_answer_that_cannot_be_read_costs_its_bytes() {
    let bytes = "x".repeat(40_000);
    let events = format!(": a comment\n\nevent: text\ndata: {bytes}\n\ndata: [DONE]\n\n");
    for (kind, answer) in [(JSON, bytes), (EVENTS, events)] {
        let upstream = Upstream::start(move || ([kind], answer.clone())).await;
        let gateway = before(&upstream.url, &upstream.url);
        gateway.call("chat", 0).send().await.unwrap().text().await.unwrap();
        let status = over(&gateway).await;
        assert!((10_000..10_100).contains(&tokens(&status)), "{kind:?}: {}", tokens(&status));
        assert_eq!(missing(&status), tokens(&status));
    }
}

#[tokio::test]
async fn a_whole_answer_may_have_many_lines() {
    let body = json!({ "choices": [{ "message": { "content": "x".repeat(200) } }], "usage": usage() });
    let body = serde_json::to_string_pretty(&body).unwrap();
    let upstream = Upstream::start(move || ([JSON], body.clone())).await;
    let gateway = before(&upstream.url, &upstream.url);
    gateway.call("chat", 0).send().await.unwrap().text().await.unwrap();
    let status = over(&gateway).await;
    assert_eq!((tokens(&status), missing(&status)), (55, 55));
}

/// Clients stop reading at the end mark, and some upstreams keep the connection open after it.
#[tokio::test]
async fn who_goes_after_the_usage_record_has_read_all() {
    let last = event(&json!({ "choices": [], "usage": usage() }));
    let answer = move || ([EVENTS], Body::new(Open(Some(text(4000) + &last))));
    left_after(answer, |read| String::from_utf8_lossy(read).contains("usage")).await;
}

#[tokio::test]
async fn who_goes_after_a_whole_answer_has_read_all() {
    let body = json!({ "choices": [{ "message": { "content": "x".repeat(4000) } }], "usage": usage() });
    let answer = move || ([JSON], Body::new(Open(Some(body.to_string()))));
    left_after(answer, |read| serde_json::from_slice::<Value>(read).is_ok()).await;
}

/// Who goes when so much of the answer is read costs what its usage record says, and has cut nothing.
async fn left_after<R: IntoResponse>(
    answer: impl Fn() -> R + Clone + Send + Sync + 'static,
    is_enough: impl Fn(&[u8]) -> bool,
) {
    let upstream = Upstream::start(answer).await;
    let gateway = before(&upstream.url, &upstream.url);
    let mut response = gateway.call("chat", 0).send().await.unwrap();
    let mut read = Vec::new();
    while !is_enough(&read) {
        read.extend(response.chunk().await.unwrap().unwrap());
    }
    drop(response);
    let status = over(&gateway).await;
    assert_eq!((tokens(&status), missing(&status)), (55, 55));
    assert_eq!(named(&status, "tenants", "chat")["cut"], 0);
}

#[tokio::test]
async fn a_call_that_was_never_sent_costs_nothing() {
    let upstream = Upstream::start(|| ([JSON], json!({ "usage": usage() }).to_string())).await;
    let (settings, allowances) = still();
    let settings = pointed(&settings, &upstream.url, &upstream.url).replace("180/240h", "1/min burst 1");
    let gateway = Gateway::with(&settings, &allowances);
    for _ in 0..2 {
        let response = gateway.call("chat", 0).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.text().await.unwrap();
    }
    assert_eq!(tokens(&over(&gateway).await), 110);
    let waiting = tokio::spawn(gateway.call("chat", 0).header("x-deadline-ms", "600000").send());
    gateway.until("waiting", |status| named(status, "tenants", "chat")["in_flight"] == 1).await;
    waiting.abort();
    let status = over(&gateway).await;
    assert_eq!((tokens(&status), missing(&status)), (110, 110));
    assert_eq!(upstream.calls.load(Ordering::SeqCst), 2);
}

/// An answer says more than that there was none.
#[tokio::test]
async fn what_the_last_upstream_has_said_is_passed_on_when_all_have_failed() {
    let overloaded = || (StatusCode::SERVICE_UNAVAILABLE, [JSON], r#"{"error":"overloaded"}"#);
    let upstream = Upstream::start(overloaded).await;
    let gateway = before(&upstream.url, &upstream.url);
    let response = gateway.call("chat", 0).send().await.unwrap();
    assert_eq!(upstream.calls.load(Ordering::SeqCst), 2);
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.text().await.unwrap(), r#"{"error":"overloaded"}"#);
    let status = over(&gateway).await;
    assert_eq!(tokens(&status), 0);
    // The tree gives a tenant no more back than the root lacks, which was refilled by a part of a token
    // meanwhile.
    assert!(missing(&status) <= 1, "{}", missing(&status));
}

#[tokio::test]
async fn a_refusal_that_is_passed_on_says_how_long() {
    let body = r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#;
    let refuse = move || (StatusCode::TOO_MANY_REQUESTS, [JSON, ("retry-after", "77")], body);
    let upstream = Upstream::start(refuse).await;
    let gateway = before(&upstream.url, &upstream.url);
    let response = gateway.call("chat", 0).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "77");
    assert_eq!(response.text().await.unwrap(), body);
}

#[tokio::test]
async fn what_no_upstream_will_ever_take_is_refused_for_good() {
    let upstream = Upstream::start(|| ([JSON], "{}")).await;
    let (settings, allowances) = still();
    let settings = pointed(&settings, &upstream.url, &upstream.url).replace("110k/240h", "10/240h");
    let gateway = Gateway::with(&settings, &allowances);
    let response = gateway.call("chat", 0).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(!response.headers().contains_key("retry-after"));
    assert_eq!(upstream.calls.load(Ordering::SeqCst), 0);
}

/// A bound that nobody could read would be a bound that nobody keeps.
#[tokio::test]
async fn a_header_that_cannot_be_read_is_refused_by_name() {
    let gateway = Gateway::start();
    for (header, value, range) in [
        ("x-run", "\u{e9}", "visible ASCII"),
        ("x-run-calls", "many", "from 0 to 18446744073709551615"),
        ("x-run-tokens", "5k", "from 0 to 18446744073709551615"),
        ("x-deadline-ms", "2s", "from 0 to 18446744073709551615"),
        ("x-deadline-ms", "-1", "from 0 to 18446744073709551615"),
        ("x-batch", "8", "from 0 to 7"),
    ] {
        let response = gateway.call("chat", 10).header(header, value.as_bytes()).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{header}: {value}");
        let told: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        let told = told["error"]["message"].as_str().unwrap();
        assert!(told.contains(header) && told.contains(range), "{told}");
        assert!(told.contains(value) || header == "x-run", "{told}");
    }
    assert_eq!(named(&gateway.status().await, "tenants", "chat")["admitted"], 0);
}

#[tokio::test]
async fn what_does_not_hold_together_keeps_it_from_starting() {
    let (one, two) = ("http://127.0.0.1:1", "http://127.0.0.1:2");
    let (settings, allowances) = still();
    let twice = settings.replace("agents-key", "chat-key");
    for (settings, urls, told) in [
        (&settings, &["https://127.0.0.1:1", two][..], "https://127.0.0.1:1: without TLS, so http:// only"),
        (&settings, &[one, two, one], "3 upstreams are given, and the settings have 2"),
        (&settings, &["127.0.0.1:1", two], "127.0.0.1:1: without TLS, so http:// only"),
        (&twice, &[one, two], "agents and chat have the same key"),
    ] {
        let faults = Gateway::fails(settings, &allowances, urls);
        assert!(faults.contains(told), "{faults}");
    }
}
