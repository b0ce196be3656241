//! The list of metrics is complete, and the texts have it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tollgate::inflight::InFlight;
use tollgate::metrics::{Flights, Kind, Lease, METRICS, Metric, Outcome, Places};
use tollgate::wait::Queue;
use tollgate::{Bucket, Limiter, quota};

use super::support::{Never, Recorded};

/// One of each kind, all of the name `one`.
fn all_kinds(recorded: &Recorded) {
    let (bucket, in_flight) = (Arc::new(Bucket::new(quota!("1/h"))), Arc::new(InFlight::new(1).unwrap()));
    let queue = Queue::new(Arc::clone(&bucket), Duration::from_secs(1), Never);
    recorded.take(|meters| {
        let limit = meters.measured("one", Arc::clone(&bucket));
        let _answers = [limit.try_acquire(), limit.try_acquire()];
        let _always = meters.shadow("one", Arc::clone(&bucket)).try_acquire();
        meters.level("one", move || bucket.peek());
        meters.in_flight("one", move || Flights::from(&*in_flight));
        meters.queue("one", move || Places::from(&queue));
        meters.lease("one", Lease::default);
        meters.calls("one").start(()).end(Outcome::Failed);
        let waits = meters.waits("one");
        let time = std::pin::pin!(waits.time(std::future::ready(Ok::<_, ()>(()))));
        assert!(time.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready());
    });
}

/// What a line of a text in the format of Prometheus says of a metric.
fn shown(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut all: BTreeMap<_, (String, BTreeSet<String>)> = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        all.insert(name.to_string(), (kind.to_string(), BTreeSet::new()));
    }
    for line in text.lines().filter(|line| !line.starts_with('#') && line.contains('{')) {
        let (name, rest) = line.split_once('{').unwrap();
        let name = ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|part| name.strip_suffix(part))
            .find(|name| all.contains_key(*name))
            .unwrap_or(name);
        let labels = rest.split_once('}').unwrap().0.split(',').map(|pair| pair.split_once('=').unwrap().0);
        all.get_mut(name).unwrap().1.extend(labels.filter(|label| *label != "le").map(str::to_string));
    }
    all
}

fn kind(metric: &Metric) -> &'static str {
    match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    }
}

#[test]
fn all_that_is_told_is_in_the_list_and_all_in_the_list_is_told() {
    let recorded = Recorded::new();
    all_kinds(&recorded);
    let text = recorded.text();
    let listed = METRICS.iter().map(|metric| {
        let labels = metric.labels.iter().map(|label| label.to_string()).collect();
        (metric.name.to_string(), (kind(metric).to_string(), labels))
    });
    assert_eq!(shown(&text), listed.collect());
    for metric in METRICS {
        let help = format!("# HELP {} {}", metric.name, metric.meaning);
        assert!(text.lines().any(|line| line == help), "{help}\n{text}");
    }
}

#[test]
fn names_follow_the_rules_of_the_field() {
    for Metric { name, kind, unit, .. } in METRICS {
        assert!(name.starts_with("tollgate_") && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
        assert_eq!(name.ends_with("_seconds"), *unit == "seconds", "{name}");
        assert!(*unit != "tokens" || name.contains("_tokens"), "{name}");
    }
    let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
}

#[test]
fn the_text_has_the_same_list() {
    let text = include_str!("../../../docs/metrics.md");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `tollgate_")).collect();
    let expected: Vec<String> = METRICS
        .iter()
        .map(|metric| {
            let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, unit, meaning) = (metric.name, metric.unit, metric.meaning);
            format!("| `{name}` | {} | {unit} | {} | {meaning} |", kind(metric), labels.join(", "))
        })
        .collect();
    assert_eq!(rows, expected, "\n{}\n", expected.join("\n"));
}
