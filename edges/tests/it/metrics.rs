//! The example `metrics`, scraped over a socket, and the dashboard.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::metrics::{METRICS, Metric};

use crate::support::Server;

#[allow(dead_code, unreachable_pub, reason = "its `main` is not called, and it is a program of its own")]
#[path = "../../examples/metrics.rs"]
mod example;

const PERMITS: &str = "tollgate_in_flight{limit=\"running\"}";
const CALLS: &str = "tollgate_downstream_in_flight{limit=\"running\"}";
const DROPPED: &str = "tollgate_downstream_seconds_count{limit=\"running\",outcome=\"dropped\"}";

async fn scraped(server: &Server) -> String {
    let response = reqwest::get(server.url("/metrics")).await.unwrap();
    assert_eq!(response.status(), 200);
    response.text().await.unwrap()
}

fn value(text: &str, series: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no `{series}` in\n{text}")).parse().unwrap()
}

/// One test, for a program has one recorder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_tells_what_its_limits_do() {
    let server = Server::axum(example::server().unwrap()).await;
    let before = scraped(&server).await;
    assert_eq!(value(&before, "tollgate_available_tokens{limit=\"all\"}"), 20.0);
    assert_eq!(value(&before, "tollgate_in_flight_limit{limit=\"running\"}"), 4.0);

    let gone = gone_until_one_is_dropped(&server).await;
    // Six at once where four may run.
    let slow: Vec<_> = (0..6).map(|_| tokio::spawn(reqwest::get(server.url("/slow")))).collect();
    let mut statuses = Vec::new();
    for request in slow {
        statuses.push(request.await.unwrap().unwrap().status().as_u16());
    }
    // Until one is refused: no more than a few, for one a second comes back.
    for _ in 0..1000 {
        if statuses.contains(&429) {
            break;
        }
        statuses.push(server.status(&[]).await);
    }
    assert!(statuses.contains(&429), "a thousand requests, and none is refused");
    assert!(reqwest::get(server.url("/batch")).await.unwrap().status().is_success());

    let text = scraped(&server).await;
    let of = |series: &str| value(&text, series);
    let with = |status| statuses.iter().filter(|seen| **seen == status).count() as f64;
    let (all, answered) = (statuses.len() as f64, with(200));
    let admitted = answered + gone;
    assert_eq!(with(200) + with(429) + with(503), all, "{statuses:?}");
    assert_eq!(of("tollgate_admitted_total{limit=\"running\"}"), all - with(503) + gone);
    assert_eq!(of("tollgate_refused_total{limit=\"running\",reason=\"in_use\"}"), with(503));
    assert_eq!(of("tollgate_admitted_total{limit=\"all\"}"), admitted);
    assert_eq!(of("tollgate_refused_total{limit=\"all\",reason=\"not_yet\"}"), with(429));
    assert_eq!(of("tollgate_admitted_total{limit=\"per-client\"}"), admitted, "in shadow mode all are");
    assert_eq!(of("tollgate_would_refuse_total{limit=\"per-client\",reason=\"not_yet\"}"), admitted - 10.0);
    let succeeded = "{limit=\"running\",outcome=\"succeeded\"}";
    assert_eq!(of(&format!("tollgate_downstream_seconds_count{succeeded}")), admitted - 1.0, "but one");
    assert_eq!(of(DROPPED), 1.0);
    let refused = "{limit=\"running\",outcome=\"refused\"}";
    assert_eq!(of(&format!("tollgate_downstream_seconds_count{refused}")), with(429), "further in");
    let slow = statuses[..6].iter().filter(|status| **status == 200).count() as f64;
    assert!(slow >= 4.0 && of(&format!("tollgate_downstream_seconds_sum{succeeded}")) >= 0.2 * slow);
    assert_eq!(of("tollgate_wait_seconds_count{limit=\"batch\",outcome=\"admitted\"}"), 1.0);
    assert_eq!(series(&before), series(&text), "requests make no series");

    none_stays_in_flight(&server).await;
}

/// How many requests it took until one was dropped: others had ended when their client went away.
async fn gone_until_one_is_dropped(server: &Server) -> f64 {
    for gone in 1..=5_u8 {
        let request = tokio::spawn(reqwest::get(server.url("/slow")));
        for _ in 0..2000 {
            if request.is_finished() || value(&scraped(server).await, CALLS) == 1.0 {
                break;
            }
        }
        request.abort();
        none_stays_in_flight(server).await;
        if value(&scraped(server).await, DROPPED) == 1.0 {
            return gone.into();
        }
    }
    panic!("none was dropped");
}

async fn none_stays_in_flight(server: &Server) {
    for _ in 0..2000 {
        let text = scraped(server).await;
        // A call ends a little before its permit, and they are looked at one after the other.
        if [PERMITS, CALLS].map(|series| value(&text, series)) == [0.0; 2] {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("something stays in flight");
}

fn series(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

/// Every metric that a query of the dashboard names, without the parts of a histogram.
fn named(query: &str) -> impl Iterator<Item = &str> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("tollgate_") && *word != "tollgate_").map(|word| {
        let whole = |part: &str| {
            word.strip_suffix(part).filter(|name| METRICS.iter().any(|metric| metric.name == *name))
        };
        ["_bucket", "_sum", "_count"].into_iter().find_map(whole).unwrap_or(word)
    })
}

fn queries(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match (name.as_str(), value) {
                ("expr" | "query", serde_json::Value::String(text)) => vec![text.clone()],
                _ => queries(value),
            })
            .collect(),
        serde_json::Value::Array(values) => values.iter().flat_map(queries).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are_and_for_all_of_them() {
    let text = include_str!("../../dashboards/tollgate.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let queries = queries(&dashboard);
    let asked: BTreeSet<&str> = queries.iter().flat_map(|query| named(query)).collect();
    let there: BTreeSet<&str> = METRICS.iter().map(|Metric { name, .. }| *name).collect();
    assert_eq!(asked, there);
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(panel["title"].is_string() && panel["description"].is_string(), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            assert!(target["expr"].as_str().unwrap().contains("limit=~\"$limit\""), "{target}");
        }
    }
}
