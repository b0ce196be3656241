//! `tollgate replay` as a user runs it: every format, every error with its line, and the figures of real traces.

#[path = "support/markup.rs"]
mod markup;
mod support;
#[path = "support/trace.rs"]
mod trace;

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use markup::texts_of_well_formed;
use support::Run;
use trace::{Trace, real};

fn tollgate() -> Command {
    support::tollgate("replay")
}

fn run(args: &[&str]) -> Run {
    Run::of(&mut tollgate(), args)
}

/// The objects of `--json -`, one a limit.
fn outcomes_of(run: &Run) -> Vec<Value> {
    serde_json::from_value(run.json()).expect("an array")
}

/// How the tests of `replay` use a trace.
trait Replayed {
    fn replay(&self, args: &[&str]) -> Run;
    fn counts(&self, args: &[&str]) -> [u64; 6];
}

impl Replayed for Trace {
    fn replay(&self, args: &[&str]) -> Run {
        run(&[&[self.path()], args].concat())
    }

    /// Replays through one limit and gives `[requests, admitted, admitted_cost, refused, refused_cost, never]`.
    fn counts(&self, args: &[&str]) -> [u64; 6] {
        counts(&outcomes_of(&self.replay(&[args, &["--json", "-"]].concat()))[0])
    }
}

fn counts(outcome: &Value) -> [u64; 6] {
    let number = |key: &str| outcome[key].as_u64().unwrap_or_else(|| panic!("{key} in {outcome}"));
    let keys = ["requests", "admitted", "admitted_cost", "refused", "refused_cost", "never"];
    assert_eq!(number("requests"), number("admitted") + number("refused") + number("never"));
    assert_eq!(number("bound_violations"), 0);
    keys.map(number)
}

/// The worked example of 2 a second and a burst of 3: three at once, none at 0.25 s, one at 0.5 s.
const WORKED: [&str; 2] = ["--limit", "2/s burst 3"];
const WORKED_COUNTS: [u64; 6] = [6, 4, 4, 2, 2, 0];

const LOG: &str = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"
2001:db8::7 - - [10/Oct/2000:13:55:36 -0700] "GET /\"quoted\" HTTP/1.1" 200 100 "-" "-"
10.0.0.9 - - [10/Oct/2000:20:55:37 +0000] "POST /form HTTP/1.1" 304 - "-" "curl/8"
10.0.0.9 - jo [10/Oct/2000:13:55:38 -0700] "-" 408 7000
"#;

#[test]
fn csv_with_each_way_to_write_a_time() {
    for times in [
        ["2023-11-16T18:17:03Z", "2023-11-16T18:17:03.25Z", "2023-11-16T19:17:03.5+01:00"],
        ["2023-11-16 18:17:03.0000000", "2023-11-16 18:17:03.2500000", "2023-11-16 18:17:03.5000000"],
        ["1700158623", "1700158623.25", "1700158623.5"],
        ["1700158623000", "1700158623250", "1700158623500"],
    ] {
        let [a, b, c] = times;
        let trace = Trace::new("t.csv", format!("id,timestamp\n1,{a}\n2,{a}\n3,{a}\n4,{a}\n5,{b}\n6,{c}\n"));
        assert_eq!(trace.counts(&WORKED), WORKED_COUNTS, "{times:?}");
    }
}

#[test]
fn small_numbers_take_their_unit_from_the_option_or_the_name() {
    let trace = Trace::new("t.csv", "ts\n0\n0\n0\n0\n250\n500\n");
    assert_eq!(trace.counts(&[&WORKED[..], &["--time-unit", "ms"]].concat()), WORKED_COUNTS);
    assert_eq!(trace.counts(&WORKED), [6, 5, 5, 1, 1, 0], "in seconds");
    let named = Trace::new("t.csv", "ts_ms\n0\n0\n0\n0\n250\n500\n");
    assert_eq!(named.counts(&WORKED), WORKED_COUNTS);
}

#[test]
fn cost_is_a_constant_a_column_or_a_sum() {
    let trace = Trace::new("t.csv", "time,in,out\n0,3,4\n1,1,2\n");
    let limit = ["--limit", "1/s burst 8"];
    for (cost, want) in [
        (&[][..], [2, 2, 2, 0, 0, 0]),
        (&["--cost", "5"], [2, 1, 5, 1, 5, 0]),
        (&["--cost", "in"], [2, 2, 4, 0, 0, 0]),
        (&["--cost", "in+out"], [2, 1, 7, 1, 3, 0]),
        (&["--cost", "in + out + 2"], [2, 1, 5, 0, 0, 1]),
    ] {
        assert_eq!(trace.counts(&[&limit, cost].concat()), want, "{cost:?}");
    }
}

#[test]
fn csv_of_every_shape() {
    let text = "\u{feff}\"when, exactly\", tokens ,note\r\n\r\n0, 2 ,\"a \"\"quoted\"\"\r\nnote\"\r\n0,1,x\r\n\r\n0,1.0,\r\n";
    let trace = Trace::new("t.txt", text);
    let args = ["--time", "when, exactly", "--cost", "tokens", "--limit", "1/s burst 3"];
    assert_eq!(trace.counts(&args), [3, 2, 3, 1, 1, 0]);
}

#[test]
fn json_lines() {
    let text = concat!(
        "{\"id\": [1, {\"x\": null}], \"ts\": 1700158623.0, \"usage\": {\"total\": 2}}\n",
        "\n",
        "{\"usage\": {\"total\": \"1\"}, \"ts\": 1700158623.0}\r\n",
        "{\"ts\": 1700158623.499999999, \"usage\": {\"total\": 1}}\n",
        "{\"ts\": \"1700158623.5\", \"usage\": {\"total\": 1}}"
    );
    let args = [&WORKED[..], &["--cost", "usage.total"]].concat();
    assert_eq!(Trace::new("t.jsonl", text).counts(&args), [4, 3, 4, 1, 1, 0]);
    assert_eq!(Trace::new("t.csv", text).counts(&args), [4, 3, 4, 1, 1, 0], "known by its first line");
}

#[test]
fn access_logs_cost_one_or_their_bytes() {
    let trace = Trace::new("access.log", LOG);
    assert_eq!(trace.counts(&["--limit", "1 per 2s burst 2"]), [4, 3, 3, 1, 1, 0]);
    let args = ["--limit", "50/s burst 2400", "--cost", "bytes", "--json", "-"];
    let outcome = &outcomes_of(&trace.replay(&args))[0];
    assert_eq!(counts(outcome), [3, 1, 2326, 1, 100, 1]);
    assert_eq!((&outcome["zero_cost"], &outcome["span_seconds"]), (&1.into(), &2.0.into()));
    assert_eq!(
        Trace::new("odd.csv", LOG).counts(&["--limit", "1 per 2s burst 2"])[1],
        3,
        "known by its first line"
    );
}

#[test]
fn standard_input() {
    let mut child = tollgate()
        .args(["-", "--limit", "2/s burst 3", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"t\n0\n0\n0\n0\n0.25\n0.5\n").unwrap();
    assert_eq!(counts(&outcomes_of(&Run::new(child.wait_with_output().unwrap()))[0]), WORKED_COUNTS);
    // Here it is empty.
    run(&["-", "--limit", "2/s"]).fails_with(&["<stdin>:1: the input ends here without a request"]);
}

#[test]
fn several_limits_side_by_side() {
    let trace = Trace::new("t.csv", "t\n0\n0\n0\n0\n0.25\n0.5\n");
    let limits = ["--limit", "2/s burst 3", "--limit", "1/s burst 1 empty", "--limit", " 10k/min "];
    let outcomes = outcomes_of(&trace.replay(&[&limits[..], &["--json", "-"]].concat()));
    let admitted: Vec<_> = outcomes.iter().map(|o| (o["limit"].as_str().unwrap(), counts(o)[1])).collect();
    assert_eq!(admitted, [("2/s burst 3", 4), ("1/s burst 1 empty", 0), ("10k/min", 6)]);

    let table = trace.replay(&limits);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    for part in [
        "2/s burst 3",
        "1/s burst 1 empty",
        "10k/min",
        "4 (66.7 %)",
        "0 (0.0 %)",
        "6 (100.0 %)",
        "bound violations",
    ] {
        assert!(table.out.contains(part), "{part} in {}", table.out);
    }
}

#[test]
fn the_shape_of_the_json() {
    let trace = Trace::new("t.csv", "t,c\n0,3\n0.125,2\n0.125,0\n0.5,4\n0.5,1\n");
    let args = ["--cost", "c", "--limit", "2/s burst 3", "--json", "-"];
    let run = trace.replay(&args);
    let outcomes = outcomes_of(&run);
    let want = serde_json::json!([{
        "limit": "2/s burst 3", "requests": 4, "offered_cost": 10, "admitted": 2, "admitted_cost": 4, "refused": 1,
        "refused_cost": 2, "never": 1, "never_cost": 4, "zero_cost": 1, "skipped": 0, "bound_violations": 0,
        "span_seconds": 0.5, "longest_wait_seconds": 0.875, "mean_wait_seconds": 0.875, "capacity": 3,
        "least_available": 0,
    }]);
    assert_eq!(Value::from(outcomes), want);
    assert!(run.out.ends_with("]\n"));
    let calm = outcomes_of(&trace.replay(&["--limit", "9/s", "--json", "-"]));
    assert_eq!(
        (&calm[0]["longest_wait_seconds"], &calm[0]["mean_wait_seconds"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn json_to_a_file_leaves_the_table() {
    let trace = Trace::new("t.csv", "t\n0\n");
    let file = trace.folder.path().join("out.json");
    let run = trace.replay(&["--limit", "1/s", "--json", file.to_str().unwrap()]);
    assert!(run.code == Some(0) && run.out.contains("admitted"), "{}{}", run.out, run.err);
    let written: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(counts(&written[0]), [1, 1, 1, 0, 0, 0]);
}

/// Replays each `(name, text)`, which must fail with the message.
fn each_fails(args: &[&str], cases: &[(&str, &str, &str)]) {
    for (name, text, message) in cases {
        Trace::new(name, text).replay(args).fails_with(&[&format!("{name}:{message}")]);
    }
}

#[test]
fn bad_csv_is_told_with_its_line() {
    let cases = [
        ("empty", "", "1: the input ends here without a request"),
        ("blank", "\n \n", "3: the input ends here without a request"),
        ("head", "t,c\n", "2: the input ends here without a request"),
        (
            "order",
            "t,c\n5,1\n\n4.5,1\n",
            "4: time 4.5 is before 5 of line 2; expected arrivals in the order of time",
        ),
        ("time", "time,c\nyesterday,1\n", "2: time is \"yesterday\"; expected RFC 3339"),
        ("text", "t,c\n1,1\n2,many\n", "3: c is \"many\"; expected a whole number"),
        ("sign", "t,c\n1,1\n2,-3\n", "3: c is \"-3\"; expected a whole number"),
        ("width", "t,c\n1,1\n2\n", "3: 1 columns; expected 2 as in the header"),
        (
            "names",
            "a,b\n1,1\n",
            "1: no column has a usual name for a time; the columns are a, b; choose one with --time",
        ),
        ("absent", "t,b\n1,1\n", "1: no column is named \"c\"; the columns are t, b"),
        ("double", "t,c,c\n1,1,1\n", "1: two columns are named \"c\""),
        ("quote", "t,c\n1,1\n2,\"1\n3,1\n", "3: a quote in this record is never closed"),
        (
            "span",
            "t,c\n0,1\n1576000000,1\n1577000000,1\n",
            "4: time 1577000000 is over 50 years after the first, 0",
        ),
    ];
    each_fails(&["--cost", "c", "--limit", "1/s"], &cases);
}

#[test]
fn bad_json_lines_are_told_with_their_line() {
    let cases = [
        ("a.jsonl", "{\"ts\": 1}\n", "1: no column is named \"c\"; the columns are ts"),
        (
            "b.jsonl",
            "{\"ts\": 1, \"c\": 1}\n{\"ts\": 2, \"c\"\n",
            "2: EOF while parsing an object at column 13; expected a JSON",
        ),
        ("c.jsonl", "{\"ts\": true, \"c\": 1}\n", "1: ts is \"true\"; expected RFC 3339"),
        (
            "d.jsonl",
            "{\"when\": 1, \"c\": 1}\n",
            "1: no column has a usual name for a time; the columns are c, when",
        ),
        ("e.jsonl", "[{\"ts\": 1}]\n", "1: invalid type: sequence"),
        ("f.jsonl", "{\"ts\": 2, \"c\": 1}\n{\"ts\": 1, \"c\": 1}\n", "2: time 1 is before 2 of line 1"),
        ("g.jsonl", "{\"ts\": 2, \"c\": 1.5}\n", "1: c is \"1.5\"; expected a whole number"),
    ];
    each_fails(&["--cost", "c", "--limit", "1/s"], &cases);
}

#[test]
fn bad_access_logs_are_told_with_their_line() {
    let first = LOG.lines().next().unwrap();
    for (line, message) in [
        ("garbage", "not an access log line at \"garbage\"; expected a client address"),
        (
            r#"h - - [10/Okt/2000:13:55:36 -0700] "-" 200 5"#,
            "time is \"10/Okt/2000:13:55:36 -0700\"; expected a time",
        ),
        (
            r#"h - - [10/Oct/2000:13:55:35 -0700] "-" 200 5"#,
            "time 2000-10-10T20:55:35Z is before 2000-10-10T20:55:36Z",
        ),
        (
            r#"h - - [10/Oct/2000:13:55:36 -0700] "-" 200"#,
            "not an access log line at \"\"; expected a number of bytes",
        ),
    ] {
        each_fails(
            &["--limit", "1/s"],
            &[("a.log", &format!("{first}\n{line}\n"), &format!("2: {message}"))],
        );
    }
}

#[test]
fn endless_lines_and_records_are_told_with_their_line() {
    let line = format!("t\n{}", "1".repeat(3 << 20));
    let record = format!("t\n\"{}", "0\n".repeat(1 << 20));
    let cases = [
        ("line.csv", line.as_str(), "2: longer than 1 MiB"),
        ("record.csv", &record, "2: this record is longer than 1 MiB: is a quote left open?"),
    ];
    each_fails(&["--limit", "1/s"], &cases);
}

#[test]
fn bad_lines_are_skipped_counted_and_shown() {
    let text = "t,c\n1,1\nx,1\n2,1\n1.5,1\n2\n3,-1\n3,1\n";
    let trace = Trace::new("t.csv", text);
    let args = ["--cost", "c", "--limit", "1/s burst 1", "--skip-bad"];
    let outcome = &outcomes_of(&trace.replay(&[&args[..], &["--json", "-"]].concat()))[0];
    assert_eq!((counts(outcome), &outcome["skipped"]), ([3, 3, 3, 0, 0, 0], &4.into()));
    let table = trace.replay(&args).out;
    assert!(table.contains("bad lines skipped") && table.contains("t.csv:3: t is \"x\""), "{table}");

    let json = Trace::new("t.jsonl", "{\"t\": 1}\nnonsense\n{\"u\": 2}\n{\"t\": 3}\n");
    let outcome = &outcomes_of(&json.replay(&["--limit", "1/s", "--skip-bad", "--json", "-"]))[0];
    assert_eq!((counts(outcome)[0], &outcome["skipped"]), (2, &2.into()));

    let log = Trace::new("a.log", format!("{LOG}nonsense\n{}\n", LOG.lines().last().unwrap()));
    let outcome = &outcomes_of(&log.replay(&["--limit", "1/s", "--skip-bad", "--json", "-"]))[0];
    assert_eq!((counts(outcome)[0], &outcome["skipped"]), (5, &1.into()));
}

#[test]
fn when_nothing_is_left_skipping_does_not_help() {
    let trace = Trace::new("t.csv", "t\nx\ny\n");
    trace.replay(&["--limit", "1/s", "--skip-bad"]).fails_with(&[
        "t.csv:4:",
        "2 bad lines, the first:",
        "t.csv:2: t is \"x\"",
    ]);
}

#[test]
fn wrong_usage_is_told() {
    let trace = Trace::new("t.csv", "t\n0\n");
    let file = trace.path();
    run(&[file]).fails_with(&["--limit"]);
    run(&["no-such-file.csv", "--limit", "1/s"]).fails_with(&["no-such-file.csv: "]);
    run(&[file, "--limit", "1/s", "--format", "xml"]).fails_with(&["xml", "jsonl"]);
    run(&[file, "--limit", "1/s", "--time-unit", "weeks"])
        .fails_with(&["weeks", "expected auto, s, ms, us or ns"]);
    run(&[file, "--limit", "1/s", "--cost", "a++b"]).fails_with(&["a++b", "a sum of them"]);
    run(&[file, "--limit", "1/s", "--plot", "-"]).fails_with(&["--plot", "name of a file"]);
    run(&[file, "--limit", "1/s", "--format", "combined", "--time", "x"]).fails_with(&["\"x\""]);
    run(&[file, "--limit", "1/s", "--format", "combined", "--cost", "x"])
        .fails_with(&["\"x\"", "client", "bytes"]);
    run(&["--cost", "x"]).fails_with(&["\"x\"", "tokens"]);
    let wrong = "0/s".parse::<tollgate::Quota>().unwrap_err().to_string();
    run(&[file, "--limit", "0/s"]).fails_with(&["0/s", &wrong]);
    let wrong = "12 parsecs".parse::<tollgate::Quota>().unwrap_err().to_string();
    run(&[file, "--limit", "12 parsecs"]).fails_with(&["12 parsecs", &wrong]);
}

#[test]
fn help_has_examples() {
    let help = run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for part in
        ["Examples:", "ContextTokens+GeneratedTokens", "Exit codes:", "--skip-bad", "zcat access.log.gz"]
    {
        assert!(help.out.contains(part), "{part}");
    }
}

#[test]
fn the_builtin_trace_is_the_same_everywhere() {
    let table = run(&[]);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    for part in ["built-in trace", "refused", "longest wait", "450k/min burst 40k", "--plot replay.svg"] {
        assert!(table.out.contains(part), "{part} in {}", table.out);
    }
    let outcomes = outcomes_of(&run(&["--json", "-"]));
    assert_eq!(outcomes.len(), 1);
    assert_eq!(counts(&outcomes[0]), [6_177, 5_398, 2_158_160, 774, 1_846_434, 5]);
    let single = outcomes_of(&run(&["--cost", "1", "--limit", "20/s burst 40", "--json", "-"]));
    assert_eq!(counts(&single[0])[0], 6_177);
}

#[test]
fn a_picture_is_well_formed() {
    let trace = Trace::new("a<b&c.csv", "t,c\n0,3\n0.125,2\n0.5,4\n7,1\n");
    let file = trace.folder.path().join("out.svg");
    let limits =
        ["--limit", "2/s burst 3", "--limit", "1/day", "--limit", "1000000000/s burst 1000000000000"];
    let run = trace.replay(&[&limits[..], &["--cost", "c", "--plot", file.to_str().unwrap()]].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let svg = std::fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    let texts = texts_of_well_formed(&svg);
    for part in ["a&lt;b&amp;c.csv, cost c", "2/s burst 3", "1/day", "offered", "admitted", "capacity B = 3"]
    {
        assert!(texts.iter().any(|text| text == part), "{part} in {texts:?}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn a_result_that_cannot_be_written_is_told() {
    let trace = Trace::new("t.csv", "t\n0\n");
    let nowhere = trace.folder.path().join("no/such/folder/out");
    for option in ["--plot", "--json"] {
        let run = trace.replay(&["--limit", "1/s", option, nowhere.to_str().unwrap()]);
        assert_eq!(run.code, Some(1));
        assert!(run.err.contains("no/such/folder/out"), "{}", run.err);
        assert!(run.out.contains("admitted"), "the figures are not lost");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = tollgate().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = Run::new(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn the_conversation_trace() {
    let Some(file) = real("azure_llm_2023_conv.csv") else { return };
    let limit = "300000/min burst 450000";
    let file = file.to_str().unwrap();
    let args = [file, "--cost", "ContextTokens+GeneratedTokens", "--limit", limit, "--json", "-"];
    let outcomes = outcomes_of(&run(&args));
    assert_eq!((outcomes.len(), outcomes[0]["limit"].as_str()), (1, Some(limit)));
    assert_eq!(counts(&outcomes[0]), [19_366, 16_106, 17_728_305, 3_260, 8_722_230, 0]);
    assert_eq!(outcomes[0]["span_seconds"], 3501.721937);
}

#[test]
fn the_code_trace() {
    let Some(file) = real("azure_llm_2023_code.csv") else { return };
    let args = [file.to_str().unwrap(), "--cost", "1", "--limit", "300/min burst 30", "--json", "-"];
    assert_eq!(counts(&outcomes_of(&run(&args))[0]), [8_819, 5_885, 5_885, 2_934, 2_934, 0]);
}

#[test]
#[cfg(not(feature = "redis"))]
fn a_program_without_redis_says_how_to_get_it() {
    run(&["--redis"]).fails_with(&["--redis", "--features redis"]);
}
