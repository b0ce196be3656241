//! `tollgate compare --keyed` as a user runs it: the form of its results and its errors. How fast anything is, is not
//! tested here: only that what is told fits together.

mod support;

use std::collections::BTreeSet;

use serde_json::Value;

use support::{Run, tollgate};

fn run(args: &[&str]) -> Run {
    Run::of(&mut tollgate("compare"), &[&["--keyed"], args].concat())
}

fn rows<'a>(report: &'a Value, key: &str) -> &'a [Value] {
    report[key].as_array().unwrap()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"))
}

fn count(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row}"))
}

/// What each row of either kind has.
fn fits_together(row: &Value) {
    assert!((number(row, "ns_per_op") * number(row, "mops") / 1e3 - 1.0).abs() < 1e-6, "{row}");
    assert!(number(row, "ratio_to_governor") > 0.0 && count(row, "threads") > 0, "{row}");
}

const LIMITERS: [&str; 6] =
    ["tollgate/table", "tollgate/keyed", "governor", "governor+foldhash", "mutexes", "mutexes+foldhash"];

fn told<'a>(rows: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    rows.iter().map(|row| row[key].as_str().unwrap()).collect()
}

/// The rows of a run long enough for a window of each kind.
fn results(args: &[&str]) -> Vec<Value> {
    let report = run(&[&["--quick", "--seconds", "0.02", "--json", "-"], args].concat()).json();
    let keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["floods", "floor", "machine", "results"]);
    assert!(rows(&report, "floods").is_empty());
    for row in rows(&report, "results") {
        fits_together(row);
        assert!(number(row, "ratio_to_floor") > 0.0 && count(row, "windows") > 0, "{row}");
        assert_eq!(count(row, "admitted"), count(row, "offered"), "{row}");
    }
    rows(&report, "results").to_vec()
}

#[test]
fn every_limiter_has_a_row_for_each_number_of_threads() {
    let rows = results(&["--threads", "1,2", "--scenario", "hot"]);
    assert_eq!(told(&rows, "limiter"), BTreeSet::from(LIMITERS));
    let cells: BTreeSet<_> =
        rows.iter().map(|row| (row["limiter"].as_str(), count(row, "threads"))).collect();
    assert_eq!(cells.len(), LIMITERS.len() * 2, "{cells:?}");
    for row in rows.iter().filter(|row| row["limiter"] == "governor") {
        assert_eq!(row["ratio_to_governor"], 1.0, "to itself");
    }
}

#[test]
fn every_stream_has_a_row_for_each_limiter() {
    let rows = results(&["--threads", "1", "--scenario", "uniform,zipf", "--limiter", "tollgate/table"]);
    assert_eq!(told(&rows, "scenario"), BTreeSet::from(["uniform", "zipf"]));
    assert_eq!(rows.len(), 2, "governor is measured for the ratios, and not listed");
}

#[test]
fn a_flood_is_told_with_its_memory() {
    let limiters = "tollgate/table,tollgate/keyed";
    let report =
        run(&["--quick", "--threads", "2", "--scenario", "flood", "--limiter", limiters, "--json", "-"])
            .json();
    assert!(rows(&report, "results").is_empty());
    let floods = rows(&report, "floods");
    assert_eq!(told(floods, "limiter"), BTreeSet::from(["tollgate/keyed", "tollgate/table"]));
    assert_eq!(told(floods, "scenario"), BTreeSet::from(["flood"]));
    for flood in floods {
        fits_together(flood);
        assert_eq!((count(flood, "keys"), count(flood, "victim_admitted")), (1_000_000, 0), "{flood}");
        let (live, room) =
            (count(flood, "keys_live"), if flood["limiter"] == "tollgate/table" { 1 << 17 } else { 100_000 });
        assert!((95_000..=room).contains(&live) && count(flood, "admitted") >= live - 1, "{flood}");
        if cfg!(target_os = "linux") {
            let (early, late) = (count(flood, "memory_bytes_at_a_tenth"), count(flood, "memory_bytes"));
            assert!(late < early + early / 2, "memory stays what it is: {flood}");
            let ratio = number(flood, "bytes_a_live_key") * live as f64 / late as f64;
            assert!((ratio - 1.0).abs() < 1e-6, "{flood}");
        }
    }
}

#[test]
fn tables_for_people() {
    let args = [
        "--quick",
        "--seconds",
        "0.02",
        "--threads",
        "1",
        "--scenario",
        "hot,flood",
        "--limiter",
        "governor,tollgate/table",
    ];
    let run = run(&args);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in [
        "hot: one key",
        "flood: 1,000,000 keys that come once",
        "x floor",
        "x governor",
        "memory at 1/10",
        "bytes a key",
        "refused",
        "tollgate/table",
    ] {
        assert!(run.out.contains(part), "{part} in {}", run.out);
    }
    assert!(
        !run.out.contains("OVER") && !run.out.contains("mutexes") && !run.out.contains("zipf"),
        "{}",
        run.out
    );
}

#[test]
fn names_of_the_other_comparison_are_refused_with_the_known_ones() {
    run(&["--scenario", "admit"]).fails_with(&[
        "--scenario admit",
        "with --keyed",
        "hot, uniform, zipf, flood",
    ]);
    run(&["--limiter", "spin"]).fails_with(&["--limiter spin", "with --keyed", "tollgate/keyed"]);
    let plain = |args: &[&str]| Run::of(&mut tollgate("compare"), args);
    plain(&["--scenario", "flood"]).fails_with(&["--scenario flood", "without --keyed", "admit, boundary"]);
    plain(&["--limiter", "mutexes"]).fails_with(&["--limiter mutexes", "without --keyed", "mutex/std"]);
    run(&["--scenario", "storm"]).fails_with(&["storm", "flood"]);
    run(&["--html", "x.html"]).fails_with(&["--html", "--keyed"]);
}

#[test]
fn the_help_tells_of_both_and_hides_what_is_internal() {
    let help = run(&["--help"]).out;
    for part in ["tollgate compare --keyed --quick", "Scenarios with --keyed:", "bytes a key", "victim"] {
        assert!(help.contains(part), "{part}");
    }
    let all = Run::of(&mut std::process::Command::new(env!("CARGO_BIN_EXE_tollgate")), &["help"]).out;
    assert!(all.contains("compare") && !all.contains("flood"), "{all}");
}
