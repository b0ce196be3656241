//! Single calls: who may, what is held until when, and what becomes of it.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::support::{ALLOWANCES, Gateway, SETTINGS, named, still};

/// Streams that take long enough to be looked at.
fn slow() -> String {
    SETTINGS.replace("gap_ms=25", "gap_ms=150")
}

async fn problem(response: reqwest::Response) -> Value {
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

#[tokio::test]
async fn only_tenants_are_served_and_only_what_is_declared() {
    let gateway = Gateway::start();
    let stranger = gateway.call("stranger", 10).send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let no_json = gateway.call("chat", 10).body("?").send().await.unwrap();
    assert_eq!(no_json.status(), StatusCode::BAD_REQUEST);
    let unknown = gateway.call("chat", 10).body(r#"{"model":"huge"}"#).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
    assert!(unknown.text().await.unwrap().contains("no tool `huge` is declared"));
    // An upstream's own refusal of a call that is wrong is passed on, and costs nothing.
    let wrong = gateway.call("chat", 10).body(r#"{"model":"small"}"#).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    let status = gateway.until_full().await;
    assert_eq!(named(&status, "tenants", "chat")["tokens"], 0);
}

#[tokio::test]
async fn a_stream_is_settled_with_what_it_tells() {
    let gateway = Gateway::start();
    let response = gateway.call("chat", 100).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert!(response.headers()["ratelimit"].to_str().unwrap().starts_with("\"tenant\";r="));
    let body = response.text().await.unwrap();
    let usage =
        body.lines().rev().find_map(|line| line.strip_prefix("data: {").map(|rest| format!("{{{rest}")));
    let usage: Value = serde_json::from_str(&usage.unwrap()).unwrap();
    let told = usage["usage"]["total_tokens"].as_u64().unwrap();
    let status = gateway.until_full().await;
    assert_eq!(named(&status, "tenants", "chat")["tokens"].as_u64(), Some(told));
    assert_eq!(named(&status, "tenants", "chat")["cut"], 0);
}

#[tokio::test]
async fn an_answer_in_one_piece_is_settled_too() {
    let gateway = Gateway::start();
    let body = r#"{"model":"small","messages":[{"content":"12345678"}],"metadata":{"output_tokens":"50"}}"#;
    let response = gateway.call("chat", 0).body(body).send().await.unwrap();
    assert!(response.text().await.unwrap().contains(r#""total_tokens":55"#));
    let status = gateway.until_full().await;
    assert_eq!(named(&status, "tenants", "chat")["tokens"], 55);
}

/// The permit, the guarantee and the allowances are held until the body ends, or the client goes.
#[tokio::test]
async fn what_a_call_holds_is_held_until_its_body_ends_or_the_client_goes() {
    let gateway = Gateway::with(&slow(), ALLOWANCES);
    let mut read = gateway.call("chat", 100).send().await.unwrap();
    let mut left = gateway.call("chat", 100).send().await.unwrap();
    let in_flight = |status: &Value| {
        ["streams", "plan", "calls"]
            .map(|name| named(status, "allowances", name)["in_flight"].as_u64().unwrap())
    };
    assert_eq!(in_flight(&gateway.status().await), [2, 2, 2]);
    left.chunk().await.unwrap();
    drop(left);
    let status = gateway.until("left", |status| in_flight(status) == [1, 1, 1]).await;
    assert_eq!(named(&status, "tenants", "chat")["in_flight"], 1);
    assert_eq!(named(&status, "tenants", "chat")["cut"], 1);
    while read.chunk().await.unwrap().is_some() {}
    let status = gateway.until_full().await;
    assert_eq!(named(&status, "tenants", "chat")["cut"], 1);
    // Prompts and what was read of the answers, not what was reserved.
    let tokens = named(&status, "tenants", "chat")["tokens"].as_u64().unwrap();
    assert!((110..170).contains(&tokens), "{tokens}");
}

/// What was reserved too much comes back at once, and not by refill: whether the answer was read to its end,
/// or the client went.
#[tokio::test]
async fn what_was_reserved_too_much_comes_back() {
    let (settings, allowances) = still();
    let gateway = Gateway::with(&settings, &allowances);
    let left = |status: &Value, list: &str, name: &str, level: &str, limit: &str| {
        let entry = named(status, list, name);
        entry[limit].as_u64().unwrap() - entry[level].as_u64().unwrap()
    };
    for (is_read, calls) in [(true, 1), (false, 2)] {
        let mut response = gateway.call("chat", 40).send().await.unwrap();
        while is_read && response.chunk().await.unwrap().is_some() {}
        drop(response);
        let status =
            gateway.until("over", |status| named(status, "allowances", "streams")["in_flight"] == 0).await;
        let used = named(&status, "tenants", "chat")["tokens"].as_u64().unwrap();
        assert!((1..150).contains(&used), "{used}");
        assert_eq!(left(&status, "tenants", "chat", "held", "burst"), used);
        assert_eq!(left(&status, "allowances", "plan", "available", "limit"), used);
        assert_eq!(left(&status, "allowances", "calls", "available", "limit"), calls);
        assert_eq!(named(&status, "tenants", "chat")["cut"].as_u64(), Some(calls - 1));
    }
}

#[tokio::test]
async fn who_has_all_its_permits_out_waits_or_is_told_so() {
    let settings = slow().replace("in-flight = 80", "in-flight = 1");
    let gateway = Gateway::with(&settings, ALLOWANCES);
    let mut first = gateway.call("chat", 10).send().await.unwrap();
    let second = gateway.call("chat", 10).header("x-deadline-ms", "50").send().await.unwrap();
    assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(second.headers()["retry-after"], "1");
    assert_eq!(problem(second).await["violated-policies"][0], "chat in flight");
    let third = tokio::spawn(gateway.call("chat", 10).header("x-deadline-ms", "60000").send());
    while first.chunk().await.unwrap().is_some() {}
    assert_eq!(third.await.unwrap().unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_run_ends_at_its_ceiling_and_is_not_to_be_tried_again() {
    let gateway = Gateway::start();
    let call = || gateway.call("agents", 10).header("x-run", "research").header("x-run-calls", "2");
    for _ in 0..2 {
        let response = call().send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.text().await.unwrap();
    }
    let over = call().send().await.unwrap();
    assert_eq!(over.status(), StatusCode::FORBIDDEN);
    assert!(!over.headers().contains_key("retry-after"));
    // The run of another tenant is another run.
    let other = gateway.call("chat", 10).header("x-run", "research").send().await.unwrap();
    assert_eq!(other.status(), StatusCode::OK);
    other.text().await.unwrap();
    let status = gateway.until_full().await;
    let of = |tenant| status["runs"].as_array().unwrap().iter().find(|run| run["tenant"] == tenant).unwrap();
    assert_eq!((&of("agents")["calls"], &of("agents")["calls_left"]), (&2.into(), &0.into()));
    assert!(of("agents")["ended"].as_str().unwrap().contains("2 of 2 calls"));
    assert_eq!((&of("chat")["calls"], &of("chat")["ended"]), (&1.into(), &Value::Null));
}

#[tokio::test]
async fn batch_work_without_hope_is_refused_at_once() {
    let settings = SETTINGS.replace(r#"calls = "40/s""#, r#"calls = "1/min""#).replace("10_000", "600_000");
    let gateway = Gateway::with(&settings, ALLOWANCES);
    let call =
        |deadline| gateway.call("nightly", 10).header("x-batch", "2").header("x-deadline-ms", deadline);
    let first = call("1000").send().await.unwrap();
    assert_eq!(first.status(), StatusCode::OK);
    let hopeless =
        tokio::time::timeout(Duration::from_secs(20), call("30000").send()).await.unwrap().unwrap();
    assert_eq!(hopeless.status(), StatusCode::TOO_MANY_REQUESTS);
    let retry_after: u64 = hopeless.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((30..=60).contains(&retry_after), "{retry_after}");
    let waiting = tokio::spawn(call("600000").send());
    let status = gateway.until("waiting", |status| status["batch"]["waiting"] == 1).await;
    assert_eq!((&status["batch"]["served"], &status["batch"]["hopeless"]), (&1.into(), &1.into()));
    waiting.abort();
    gateway.until("left", |status| status["batch"]["left"] == 1).await;
}

#[tokio::test]
async fn a_call_moves_on_to_another_upstream() {
    let gateway = Gateway::start();
    gateway.tell(0, "_control?mode=overloaded").await;
    for _ in 0..6 {
        let response = gateway.call("chat", 10).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.text().await.unwrap();
    }
    let stats = gateway.tell(1, "_stats").await;
    assert_eq!(stats["admitted"], 6);
    let answered = gateway.until_full().await;
    gateway.tell(1, "_control?mode=overloaded").await;
    let failed = gateway.call("chat", 10).send().await.unwrap();
    assert!(failed.status().is_server_error(), "{}", failed.status());
    let status = gateway.until_full().await;
    let of_chat = |status: &Value| {
        ["admitted", "tokens"].map(|what| named(status, "tenants", "chat")[what].as_u64().unwrap())
    };
    let [admitted, tokens] = of_chat(&answered);
    assert_eq!(of_chat(&status), [admitted + 1, tokens], "what failed everywhere has used nothing");
}

#[tokio::test]
async fn figures_are_told_to_prometheus() {
    let gateway = Gateway::start();
    for _ in 0..3 {
        gateway.call("chat", 10).send().await.unwrap().text().await.unwrap();
    }
    drop(gateway.call("nightly", 10).header("x-batch", "1").send().await.unwrap());
    gateway.until_full().await;
    let told =
        gateway.client.get(format!("{}/metrics", gateway.url)).send().await.unwrap().text().await.unwrap();
    let value = |series: &str| {
        let line =
            told.lines().find(|line| line.starts_with(series)).unwrap_or_else(|| panic!("{series}:\n{told}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(value(r#"tollgate_admitted_total{limit="tenant chat"}"#), 3.0);
    assert_eq!(value(r#"tollgate_admitted_total{limit="batch"}"#), 1.0);
    assert_eq!(value(r#"tollgate_in_flight{limit="tenant chat"}"#), 0.0);
}
