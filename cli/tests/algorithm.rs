//! `tollgate replay --algorithm`: a bucket and the three forms of windows on one trace.

#[path = "support/markup.rs"]
mod markup;
mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use markup::texts_of_well_formed;
use support::Run;

const ALL: [&str; 2] = ["--algorithm", "bucket,fixed,sliding-counter,sliding-log"];

fn run(args: &[&str]) -> Run {
    Run::of(&mut support::tollgate("replay"), args)
}

/// A burst at the end of the first minute and one at the beginning of the second, six at each; one more each ten seconds,
/// and one that is too large.
fn trace() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edge.csv");
    let mut text = String::from("t,c\n0,1\n");
    (0..6).for_each(|_| text += "59,1\n");
    (0..6).for_each(|_| text += "60,1\n");
    (7..=12).for_each(|tens| text += &format!("{},1\n", tens * 10));
    text += "121,7\n";
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

fn forms_of(file: &Path, limit: &str) -> Vec<Value> {
    let args = [file.to_str().unwrap(), "--cost", "c", "--limit", limit, "--json", "-"];
    serde_json::from_value(run(&[&args[..], &ALL].concat()).json()).unwrap()
}

fn figures(outcomes: &[Value], key: &str) -> Vec<u64> {
    outcomes
        .iter()
        .map(|outcome| outcome[key].as_u64().unwrap_or_else(|| panic!("{key} in {outcome}")))
        .collect()
}

#[test]
fn each_form_decides_as_it_says() {
    let (_folder, file) = trace();
    let outcomes = forms_of(&file, "6/min");
    let names: Vec<_> = outcomes.iter().map(|outcome| outcome["algorithm"].as_str().unwrap()).collect();
    assert_eq!(names, ["bucket", "fixed", "sliding-counter", "sliding-log"]);
    assert!(outcomes.iter().all(|outcome| outcome["limit"] == "6/min" && outcome["period_seconds"] == 60.0));
    assert_eq!(figures(&outcomes, "requests"), [20; 4]);
    // The bucket is full again at 59 s, empty at 60 s, and gets one each ten seconds from then on. Fixed windows admit one
    // and five of the first burst, and all six of the second: eleven within a second. The counter has all six weigh in the
    // second minute, less by one each ten seconds. The log has the one from 0 s leave at 60 s, and the five at 119 s. So in the
    // minute from 59 s on the bucket admits 6 and 5, fixed windows 5 and 6 at once, the counter 5 and 5, and the log 6.
    assert_eq!(figures(&outcomes, "admitted"), [13, 13, 12, 8]);
    assert_eq!(figures(&outcomes, "most_in_a_period"), [11, 11, 10, 6]);
    assert_eq!(figures(&outcomes, "never"), [1; 4]);
    assert_eq!(figures(&outcomes, "bound_violations"), [0; 4]);
    assert_eq!(figures(&outcomes, "capacity"), [6; 4]);
}

#[test]
fn a_burst_is_the_buckets_alone() {
    let (_folder, file) = trace();
    let outcomes = forms_of(&file, "6/min burst 8");
    assert_eq!(figures(&outcomes, "capacity"), [8, 6, 6, 6]);
    assert_eq!(figures(&outcomes, "never"), [0, 1, 1, 1]);
    assert_eq!(figures(&outcomes, "tokens"), [6; 4]);
}

#[test]
fn a_table_has_a_column_for_each_form_of_each_limit() {
    let (_folder, file) = trace();
    let args = [
        file.to_str().unwrap(),
        "--limit",
        "6/min",
        "--limit",
        "9/min",
        "--algorithm",
        "fixed",
        "--algorithm",
        "bucket",
    ];
    let table = run(&args);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    for part in
        ["6/min, fixed", "6/min, bucket", "9/min, fixed", "9/min, bucket", "most in a period", "11 (183.3 %)"]
    {
        assert!(table.out.contains(part), "{part} in {}", table.out);
    }
}

#[test]
fn without_it_nothing_is_told_of_forms() {
    let (_folder, file) = trace();
    let args = [file.to_str().unwrap(), "--limit", "6/min"];
    let plain = run(&args).out;
    assert!(!plain.contains("most in a period") && !plain.contains("bucket"), "{plain}");
    let bucket = run(&[&args[..], &["--algorithm", "bucket"]].concat()).out;
    let kept = |text: &str, title: &str| {
        let line = text.lines().find(|line| line.contains(title)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for title in ["requests", "cost offered", "longest wait told", "least tokens left", "bound violations"] {
        assert_eq!(kept(&plain, title), kept(&bucket, title));
    }
}

#[test]
fn a_picture_has_a_row_for_each_form() {
    let (folder, file) = trace();
    let picture = folder.path().join("out.svg");
    let args = [file.to_str().unwrap(), "--limit", "6/min", "--plot", picture.to_str().unwrap()];
    let run = run(&[&args[..], &ALL].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let svg = std::fs::read_to_string(picture).unwrap();
    let texts = texts_of_well_formed(&svg);
    for part in [
        "edge.csv, cost 1",
        "6/min, bucket",
        "6/min, fixed",
        "6/min, sliding-counter",
        "6/min, sliding-log",
        "Admitted within the last 60.00 s, in tokens",
        "held, at most 11",
        "twice the limit",
    ] {
        assert!(texts.iter().any(|text| text == part), "{part} in {texts:?}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn wrong_usage_is_told() {
    let (_folder, file) = trace();
    let file = file.to_str().unwrap();
    run(&[file, "--limit", "6/min", "--algorithm", "leaky"]).fails_with(&["leaky", "sliding-counter"]);
    run(&[file, "--limit", "6/min", "--key", "c", "--algorithm", "fixed"])
        .fails_with(&["--key", "--algorithm"]);
    run(&[file, "--limit", "1G/s", "--algorithm", "sliding-counter"]).fails_with(&[
        "1G/s",
        "sliding-counter",
        "at most 262143",
    ]);
}

/// The specification's: limit 100, previous 50, current 60, 40 % through.
#[test]
fn the_counter_of_the_specification() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    for (cost, admitted) in [(10, 3), (11, 2)] {
        std::fs::write(&file, format!("t,c\n0,50\n84,60\n84,{cost}\n")).unwrap();
        assert_eq!(figures(&forms_of(&file, "100/min"), "admitted")[2], admitted, "{cost}");
    }
}
