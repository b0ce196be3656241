//! `tollgate replay --key` as a user runs it: figures worked out by hand, every format, every error.

mod support;

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{Run, tollgate};

/// A trace in a folder of its own.
struct Trace {
    _folder: TempDir,
    file: PathBuf,
}

impl Trace {
    fn new(name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        Self { _folder: folder, file }
    }

    fn replay(&self, args: &[&str]) -> Run {
        Run::of(&mut tollgate("replay"), &[&[self.file.to_str().unwrap()], args].concat())
    }

    fn outcomes(&self, args: &[&str]) -> Vec<Value> {
        serde_json::from_value(self.replay(&[args, &["--json", "-"]].concat()).json()).unwrap()
    }
}

/// One a second and two at once. `a` asks at 0 (yes, yes, no: 1 s), 0.5 (no: 0.5 s) and 1 (yes); `b` at 0 (yes, 1 left),
/// 0.5 (yes, 0.5 left) and 1 (yes, none left; no: 1 s).
const TWO_KEYS: &str = "t,who,c\n0,a,1\n0,a,1\n0,a,1\n0,b,1\n0.5,a,1\n0.5,b,1\n1,a,1\n1,b,1\n1,b,1\n";

#[test]
fn two_keys_by_hand() {
    let trace = Trace::new("t.csv", TWO_KEYS);
    let outcomes = trace.outcomes(&["--key", "who", "--limit", "1/s burst 2"]);
    let want = json!([{
        "limit": "1/s burst 2", "requests": 9, "offered_cost": 9, "admitted": 6, "admitted_cost": 6, "refused": 3,
        "refused_cost": 3, "never": 0, "never_cost": 0, "zero_cost": 0, "skipped": 0, "bound_violations": 0,
        "span_seconds": 1.0, "longest_wait_seconds": 1.0, "mean_wait_seconds": 0.833333333, "capacity": 2,
        "least_available": 0, "keys": 2, "keys_peak": 2, "keys_live": 2, "memory_bytes": 222,
        "top_refused": [{"key": "a", "refused": 2, "refused_cost": 2}, {"key": "b", "refused": 1, "refused_cost": 1}],
    }]);
    assert_eq!(Value::from(outcomes), want);
    let all_together = trace.outcomes(&["--limit", "1/s burst 2"]);
    assert_eq!(all_together[0]["admitted"], 3, "at 0, 0 and 1");
    assert!(all_together[0].get("keys").is_none());
}

#[test]
fn every_limit_decides_by_key() {
    let trace = Trace::new("t.csv", TWO_KEYS);
    let outcomes =
        trace.outcomes(&["--key", "who", "--limit", "1/s burst 2", "--limit", "1/h", "--limit", "9/s"]);
    let admitted: Vec<_> = outcomes.iter().map(|o| o["admitted"].as_u64().unwrap()).collect();
    assert_eq!(admitted, [6, 2, 9]);
    assert_eq!(outcomes[2]["top_refused"], json!([]));
}

#[test]
fn keys_whose_buckets_are_full_again_are_not_live() {
    let trace = Trace::new("t.csv", &format!("{TWO_KEYS}10,c,1\n10.5,c,9\n10.5,c,0\n10.5,d,0\n10.5,e,9\n"));
    let outcome = &trace.outcomes(&["--key", "who", "--cost", "c", "--limit", "1/s burst 2"])[0];
    let told =
        ["requests", "never", "zero_cost", "keys", "keys_live"].map(|key| outcome[key].as_u64().unwrap());
    assert_eq!(told, [12, 2, 2, 4, 1], "c is live; d asked for nothing; e for more than there ever is");
}

#[test]
fn the_ten_most_refused_by_requests_then_cost_then_name() {
    let mut text = "t,who,c\n".to_owned();
    for (key, costs) in [("z", "111"), ("y", "55"), ("x", "33"), ("b", "33"), ("a", "33")] {
        text += &format!("0,{key},9\n");
        costs.chars().for_each(|cost| text += &format!("0,{key},{cost}\n"));
    }
    (0..20).for_each(|n| text += &format!("0,k{n:02},9\n0,k{n:02},1\n"));
    text += "0,calm,1\n";
    let trace = Trace::new("t.csv", &text);
    let args = ["--key", "who", "--cost", "c", "--limit", "1/s burst 9"];
    let outcome = &trace.outcomes(&args)[0];
    let top: Vec<_> =
        outcome["top_refused"].as_array().unwrap().iter().map(|top| top["key"].as_str().unwrap()).collect();
    assert_eq!(top, ["z", "y", "a", "b", "x", "k00", "k01", "k02", "k03", "k04"]);
    assert_eq!(outcome["top_refused"][1], json!({"key": "y", "refused": 2, "refused_cost": 10}));
    assert_eq!(outcome["keys"], 26);

    let table = trace.replay(&args);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    let lines: Vec<_> =
        table.out.lines().skip_while(|line| !line.contains("most refused by 1/s burst 9")).collect();
    let row = |key: &str| lines.iter().position(|line| line.contains(&format!("│ {key} ")));
    assert!(row("z").is_some() && row("z") < row("y") && row("x") < row("k04"), "{}", table.out);
    assert_eq!(row("k05"), None);
    for part in ["a bucket for each who", "keys", "most known at a time", "memory for keys, about", "kB"] {
        assert!(table.out.contains(part), "{part} in {}", table.out);
    }
}

#[test]
fn nobody_refused_is_told() {
    let out = Trace::new("t.csv", TWO_KEYS).replay(&["--key", "who", "--limit", "9/s"]).out;
    assert!(out.contains("9/s: no key was refused anything"), "{out}");
}

#[test]
fn json_lines_have_keys_of_any_kind() {
    let text = concat!(
        "{\"ts\": 1700158623, \"user\": {\"id\": 7}}\n",
        "{\"ts\": 1700158623, \"user\": {\"id\": \"7\"}}\n",
        "{\"ts\": 1700158623, \"user\": {\"id\": null}}\n",
    );
    let outcome = &Trace::new("t.jsonl", text).outcomes(&["--key", "user.id", "--limit", "1/h"])[0];
    assert_eq!((&outcome["keys"], &outcome["admitted"]), (&2.into(), &2.into()), "7 and null");
}

const LOG: &str = r#"10.0.0.9 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1 "-" "x"
2001:db8::7 - jo [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1 "-" "y"
10.0.0.9 - jo [10/Oct/2000:13:55:37 -0700] "GET / HTTP/1.1" 200 1 "-" "y"
"#;

#[test]
fn access_logs_have_clients_and_other_columns() {
    let trace = Trace::new("access.log", LOG);
    for (column, top, admitted) in [("client", "10.0.0.9", 2), ("user", "jo", 2), ("agent", "y", 2)] {
        let outcome = &trace.outcomes(&["--key", column, "--limit", "1 per 10s"])[0];
        assert_eq!((outcome["admitted"].as_u64(), &outcome["keys"]), (Some(admitted), &2.into()), "{column}");
        assert_eq!(
            outcome["top_refused"],
            json!([{"key": top, "refused": 1, "refused_cost": 1}]),
            "{column}"
        );
    }
}

#[test]
fn an_unknown_column_is_told_with_those_there_are() {
    let told = |name: &str, text: &str, parts: &[&str]| {
        let parts = [&["no column is named \"ip\"; the columns are"], parts].concat();
        Trace::new(name, text).replay(&["--key", "ip", "--limit", "1/s"]).fails_with(&parts);
    };
    told("t.csv", TWO_KEYS, &["t.csv:1: ", "t, who, c"]);
    told("t.jsonl", "{\"ts\": 1, \"who\": 2}\n", &["t.jsonl:1: ", "ts, who"]);
    told("access.log", LOG, &["client, user, time, request, status, bytes, referer, agent"]);
}

#[test]
fn a_line_without_its_key_can_be_skipped() {
    let trace = Trace::new("t.jsonl", "{\"ts\": 1, \"k\": 1}\n{\"ts\": 2}\n{\"ts\": 3, \"k\": 1}\n");
    let args = ["--key", "k", "--limit", "1/s"];
    trace.replay(&args).fails_with(&["t.jsonl:2: no column is named \"k\""]);
    let outcome = &trace.outcomes(&[&args[..], &["--skip-bad"]].concat())[0];
    assert_eq!((&outcome["requests"], &outcome["skipped"]), (&2.into(), &1.into()));
}

#[test]
fn wrong_usage_is_told() {
    let trace = Trace::new("t.csv", TWO_KEYS);
    trace.replay(&["--key", "who", "--limit", "1/s empty"]).fails_with(&[
        "1/s empty",
        "--key",
        "does not start full",
    ]);
    trace.replay(&["--key", "who", "--limit", "1/s", "--plot", "x.svg"]).fails_with(&["--key", "--plot"]);
    Run::of(&mut tollgate("replay"), &["--key", "who"]).fails_with(&["<FILE>"]);
}
