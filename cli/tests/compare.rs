//! `tollgate compare` as a user runs it: the form of its results, its errors and its report. How fast anything is, is not
//! tested here: only that what is told fits together.

#[path = "support/markup.rs"]
mod markup;
mod support;

use std::collections::BTreeSet;

use serde_json::Value;

use markup::texts_of_well_formed;
use support::{Run, tollgate};

fn run(args: &[&str]) -> Run {
    Run::of(&mut tollgate("compare"), args)
}

/// A run long enough for a window of each kind.
fn short(threads: &str, args: &[&str]) -> Run {
    run(&[&["--seconds", "0.05", "--threads", threads], args].concat())
}

/// The rows of a short run, each checked for its form.
fn results(threads: &str, args: &[&str]) -> Vec<Value> {
    let report = short(threads, &[args, &["--json", "-"]].concat()).json();
    let keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["floor", "machine", "results"]);
    assert!(report["machine"]["cores"].as_u64().unwrap() > 0 && report["machine"]["cpu"].is_string());
    for floor in ["clock_ns", "cas_ns", "clock_cas_ns", "load_ns"] {
        assert!(report["floor"][floor].as_f64().unwrap() > 0.0, "{floor}");
    }
    let rows = report["results"].as_array().unwrap().clone();
    rows.iter().for_each(fits_together);
    rows
}

fn fits_together(row: &Value) {
    let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
    let count = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row}"));
    assert!((number("ns_per_op") * number("mops") / 1e3 - 1.0).abs() < 1e-6, "{row}");
    let latencies = ["p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"].map(count);
    assert!(latencies.is_sorted() && latencies[4] > 0, "{row}");
    assert!(count("admitted") <= count("bound") && count("admitted") <= count("offered"), "{row}");
    assert_eq!(count("unused"), count("bound") - count("admitted"), "{row}");
    assert_eq!(count("violations"), 0, "{row}");
    assert!(count("windows") > 0, "{row}");
    let alone = count("threads") == 1;
    let placement = row["placement"].as_str();
    assert!(
        if alone { placement.is_none() } else { matches!(placement, None | Some("near" | "far")) },
        "{row}"
    );
}

fn told<'a>(rows: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    rows.iter().map(|row| row[key].as_str().unwrap()).collect()
}

#[test]
fn json_has_a_row_for_each_limiter_and_number_of_threads() {
    let rows = results("1,2", &["--scenario", "admit", "--limiter", "mutex/std", "tollgate/shard"]);
    assert_eq!(told(&rows, "limiter"), BTreeSet::from(["mutex/std", "tollgate/shard"]));
    assert_eq!(told(&rows, "scenario"), BTreeSet::from(["admit"]));
    let cells: BTreeSet<_> =
        rows.iter().map(|row| (row["limiter"].as_str().unwrap(), row["threads"].as_u64().unwrap())).collect();
    assert_eq!(cells.len(), 4, "{cells:?}");
    for row in &rows {
        assert_eq!(row["admitted"], row["offered"], "{row}");
        assert_eq!(row["promised"], Value::Null, "only at the boundary");
    }
}

#[test]
fn ratios_are_told_although_governor_is_not_asked_for() {
    let rows = results("1", &["--scenario", "deny", "--limiter", "tollgate/bucket"]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert!(
        row["ratio_to_governor"].as_f64().unwrap() > 0.0 && row["ratio_to_floor"].as_f64().unwrap() > 0.0
    );
    let rows = results("1", &["--scenario", "deny", "--limiter", "governor"]);
    assert_eq!(rows[0]["ratio_to_governor"], 1.0, "to itself");
    assert_eq!(rows[0]["admitted"], 0);
}

#[test]
fn at_the_boundary_shards_keep_the_bound_and_tell_their_promise() {
    let rows = results(
        "1,2",
        &["--scenario", "boundary", "--limiter", "tollgate/shard,tollgate/sharded,tollgate/bucket"],
    );
    for row in &rows {
        let count = |key: &str| row[key].as_u64().unwrap();
        assert!(count("admitted") > 0, "{row}");
        let is_sharded = row["limiter"] != "tollgate/bucket";
        assert_eq!(count("promised") < count("bound"), is_sharded, "{row}");
        assert_eq!(count("unused_of_promised"), count("promised").saturating_sub(count("admitted")), "{row}");
    }
}

#[test]
fn every_scenario_and_limiter_can_be_asked_for() {
    for scenario in ["weighted", "burst"] {
        let rows = results("1", &["--scenario", scenario]);
        let limiters = told(&rows, "limiter");
        assert_eq!(limiters.len(), 11, "{limiters:?}");
        for name in ["tollgate/bucket+coarse", "governor", "ratelimit", "leaky-bucket", "rwlock/std", "spin"]
        {
            assert!(limiters.contains(name), "{name}");
        }
    }
}

#[test]
fn more_threads_than_cores_take_turns() {
    let rows = results("5", &["--scenario", "admit", "--limiter", "tollgate/sharded"]);
    assert!(rows.iter().all(|row| row["threads"] == 5));
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    run(&["--limiter", "tollgate/shart"]).fails_with(&[
        "tollgate/shart",
        "tollgate/shard",
        "mutex/parking_lot",
    ]);
    let all = ["admit", "boundary", "deny", "weighted", "burst"];
    run(&["--scenario", "storm"]).fails_with(&[&["storm"][..], &all].concat());
    run(&["--scenario", "stock"]).fails_with(&["stock", "admit"]);
}

#[test]
fn values_out_of_range_are_refused() {
    run(&["--seconds", "0"]).fails_with(&["--seconds", "0.001"]);
    run(&["--seconds", "NaN"]).fails_with(&["--seconds"]);
    run(&["--threads", "0"]).fails_with(&["--threads", "1..=1024"]);
    run(&["--html", "-"]).fails_with(&["--html", "name of a file"]);
}

#[test]
fn a_table_for_people() {
    let run = short("1", &["--scenario", "burst", "--limiter", "governor", "spin"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in ["governor", "spin", "p99.99", "x floor", "B + r*t", "burst: twice the capacity at once"] {
        assert!(run.out.contains(part), "{part} in {}", run.out);
    }
    assert!(!run.out.contains("OVER") && !run.out.contains('\u{1b}'), "{}", run.out);
}

#[test]
fn the_report_is_well_formed_and_needs_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let run = short(
        "1,2",
        &[
            "--scenario",
            "admit",
            "boundary",
            "--limiter",
            "tollgate/shard",
            "mutex/std",
            "--html",
            file.to_str().unwrap(),
        ],
    );
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let html = std::fs::read_to_string(file).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    let texts = texts_of_well_formed(&html);
    for part in [
        "Throughput against threads",
        "Accuracy against threads",
        "Latency: boundary",
        "admit: million decisions a second",
        "admit, 2 threads: latency",
        "99.99 %",
        "mutex/std",
        "tollgate/shard",
        "the bound",
    ] {
        assert!(texts.iter().any(|text| text == part), "{part} in {texts:?}");
    }
    assert_eq!(html.matches("<svg ").count(), 4, "throughput, accuracy and two of latency");
    is_self_contained(&html);
}

fn is_self_contained(html: &str) {
    let namespace = "http://www.w3.org/2000/svg";
    assert_eq!(html.matches("http").count(), html.matches(namespace).count());
    for outside in ["<script", "<link", "<img", " src=", " href=", "@import", "NaN", "inf\""] {
        assert!(!html.contains(outside), "{outside}");
    }
    let identifiers: Vec<_> =
        html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let distinct: BTreeSet<_> = identifiers.iter().collect();
    assert_eq!(distinct.len(), identifiers.len(), "identifiers of pictures must not meet: {identifiers:?}");
    for used in html.split("url(#").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(distinct.contains(&used), "{used}");
    }
}

#[test]
fn a_report_that_cannot_be_written_costs_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no/such/folder/report.html");
    let run = short("1", &["--scenario", "deny", "--limiter", "spin", "--html", nowhere.to_str().unwrap()]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains("no/such/folder/report.html") && run.out.contains("spin"),
        "{}{}",
        run.err,
        run.out
    );
}
