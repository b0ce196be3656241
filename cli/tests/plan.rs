//! `tollgate plan` as a user runs it: figures worked out by hand, each recommendation tried again by `replay`, every error.

#[path = "support/markup.rs"]
mod markup;
mod support;
#[path = "support/trace.rs"]
mod trace;

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate::{Bucket, Manual, Quota};

use markup::texts_of_well_formed;
use support::{Run, tollgate};
use trace::{Trace, real};

fn run(args: &[&str]) -> Run {
    Run::of(&mut tollgate("plan"), args)
}

fn plan(trace: &Trace, args: &[&str]) -> Value {
    run(&[&[trace.path()], args, &["--json", "-"]].concat()).json()
}

/// `[limit, admitted, smaller limit, admitted by it]`.
fn chosen(report: &Value) -> Value {
    let (told, check) = (&report["recommended"], &report["recommended"]["check"]);
    json!([told["limit"], check["admitted"], check["smaller_limit"], check["smaller_admitted"]])
}

/// Costs 4, 3, 2 and 6 at 0, 1, 1.5 and 4 s. Served at 2/s what is there after each is 4, 2+3 = 5, 4+2 = 6 and
/// 1+6 = 7; at 3/s 4, 1+3 = 4, 2.5+2 = 4.5 and 6.
fn four() -> Trace {
    Trace::new("four.csv", "t,c\n0,4\n1,3\n1.5,2\n4,6\n")
}

const COST: [&str; 2] = ["--cost", "c"];

#[test]
fn the_least_capacity_for_a_rate() {
    for (rate, admit, want) in [
        ("2/s", "100%", json!(["2/s burst 7", 4, "2/s burst 6", 3])),
        ("3/s", "100%", json!(["3/s burst 6", 4, "3/s burst 5", 3])),
        ("1/s", "100%", json!(["1/s burst 11", 4, "1/s burst 10", 3])),
        ("2/s", "75%", json!(["2/s burst 6", 3, "2/s burst 5", 2])),
        ("3/s", "75%", json!(["3/s burst 5", 3, "3/s burst 4", 2])),
    ] {
        let args = [&COST[..], &["--rate", rate, "--admit", admit]].concat();
        assert_eq!(chosen(&plan(&four(), &args)), want, "{rate} {admit}");
    }
}

#[test]
fn the_least_rate_for_a_capacity() {
    for (capacity, per, admit, want) in [
        // From the first to the last it takes 15 - 4r <= 7, so 120 a minute to the token.
        ("7", "min", "100%", json!(["120/min burst 7", 4, "119/min burst 7", 3])),
        ("6", "s", "100%", json!(["3/s burst 6", 4, "2/s burst 6", 3])),
        ("15", "day", "100%", json!(["1/day burst 15", 4, null, null])),
    ] {
        let args = [&COST[..], &["--capacity", capacity, "--per", per, "--admit", admit]].concat();
        let report = plan(&four(), &args);
        assert_eq!(chosen(&report), want, "{capacity}");
        assert_eq!(report["recommended"]["chosen_by"], "capacity");
    }
    let trace = four();
    let args = [&[trace.path()], &COST[..], &["--capacity", "5", "--admit", "100%"]].concat();
    run(&args).fails_with(&["--capacity 5: no rate is found that admits 100 %", "3 (75.0 %) cost no more"]);
}

/// Cost 5 and three of 1 at once, three of five wanted: 7 and all above admit three, and 6 does not (5 and one more). 3
/// would again, for it never admits the large one.
#[test]
fn a_smaller_capacity_that_never_admits_the_large_is_not_taken() {
    let trace = Trace::new("t.csv", "t,c\n0,5\n0,1\n0,1\n0,1\n1,1\n");
    let args = ["--cost", "c", "--rate", "1/day", "--admit", "60%"];
    assert_eq!(chosen(&plan(&trace, &args)), json!(["1/day burst 7", 3, "1/day burst 6", 2]));
    let replayed = ["--cost", "c", "--limit", "1/day burst 3", "--json", "-"];
    assert_eq!(replay(trace.path(), &replayed)[0]["admitted"], 3);
}

fn replay(file: &str, args: &[&str]) -> Value {
    Run::of(&mut tollgate("replay"), &[&[file], args].concat()).json()
}

/// 15 tokens in 4 s are 3.75/s; the busiest second has 6.
#[test]
fn the_offered_load_and_the_curve() {
    let report = plan(&four(), &[&COST[..], &["--per", "s", "--admit", "100%"]].concat());
    let windows = json!([
        {"seconds": 1, "count": 5, "mean_cost": 3.75, "p50_cost": 4, "p95_cost": 6, "p99_cost": 6, "max_cost": 6},
        {"seconds": 60, "count": 1, "mean_cost": 15.0, "p50_cost": 15, "p95_cost": 15, "p99_cost": 15, "max_cost": 15},
    ]);
    assert_eq!(report["trace"]["windows"], windows);
    let [requests, cost, largest] =
        ["requests", "offered_cost", "largest_cost"].map(|key| &report["trace"][key]);
    assert_eq!((requests, cost, largest), (&4.into(), &15.into(), &6.into()));
    let free = Trace::new("t.csv", "t,c\n0,4\n0.5,0\n1,3\n1.5,2\n4,6\n");
    let with_free = plan(&free, &[&COST[..], &["--per", "s", "--admit", "100%"]].concat());
    assert_eq!((&with_free["trace"]["requests"], &with_free["trace"]["zero_cost"]), (&4.into(), &1.into()));
    assert_eq!(with_free["recommended"], report["recommended"]);
    let fit = |tokens: u64, knee: bool| {
        json!({"rate_tokens": tokens, "rate_period_seconds": 1.0, "capacity_for_all": 6, "capacity_for_target": 6,
               "knee": knee})
    };
    assert_eq!(report["curve"], json!([fit(4, true), fit(5, false), fit(6, false)]));
    assert_eq!(chosen(&report), json!(["4/s burst 6", 4, "4/s burst 5", 3]));
    assert_eq!(report["recommended"]["chosen_by"], "knee");
}

/// Three at the start of each of 10 s and, at 5 s, twenty at once. 49 in 9 s; at 6/s the twenty and the three before
/// them need 23, at 20/s 23 too, so all rates of the curve need 23 and only the target tells them apart.
#[test]
fn the_knee_and_the_headroom() {
    let mut text = "t\n".to_owned();
    for second in 0..10 {
        text += &format!("{second}\n").repeat(if second == 5 { 23 } else { 3 });
    }
    let trace = Trace::new("t.csv", text);
    let all = plan(&trace, &["--per", "s", "--admit", "100%"]);
    assert_eq!(chosen(&all), json!(["6/s burst 23", 50, "6/s burst 22", 49]));
    // 25 % more than 50 in 9 s is 6.94/s.
    let headroom = plan(&trace, &["--per", "s", "--admit", "100%", "--headroom", "25%"]);
    assert_eq!(chosen(&headroom)[0], "7/s burst 23");
    assert_eq!(headroom["recommended"]["chosen_by"], "headroom");
    assert_eq!(headroom["recommended"]["formulas"][0]["numbers"], "50 / 9 s x 1.25 = 6.944/s");
}

/// Two at 0 s and one at 1 and at 2 s. For 1.5 s each, three are there at 1 s; for 1 s each, two.
#[test]
fn work_in_flight_and_the_queue() {
    let trace = Trace::new("t.csv", "t,took_ms\n0,1500\n0,1500\n1,1500\n2,500\n");
    let rate = ["--rate", "2/s", "--admit", "100%"];
    let told = |args: &[&str]| {
        let report = plan(&trace, &[&rate, args].concat());
        let told = &report["recommended"];
        json!(["limit", "in_flight_mean", "in_flight_limit", "queue_depth"].map(|key| told[key].clone()))
    };
    let limit = "2/s";
    assert_eq!(told(&[]), json!([limit, null, null, null]));
    assert_eq!(told(&["--latency", "1.5s"]), json!([limit, 3.0, 3, null]));
    assert_eq!(told(&["--latency", "1s"]), json!([limit, 2.0, 2, null]));
    // 5 s of work in 2 s; a request of cost 1 leaves each half second, so 4 within 1.6 s, rounded up.
    let recorded = told(&["--latency-column", "took_ms", "--accept-wait", "1600ms"]);
    assert_eq!(recorded, json!([limit, 2.5, 3, 4]));
    let seconds = told(&["--latency-column", "took_ms", "--latency-unit", "s"]);
    assert_eq!(seconds, json!([limit, 2500.0, 4, null]));

    let report = plan(&trace, &[&rate[..], &["--latency", "1.5s", "--accept-wait", "1s"]].concat());
    let numbers: Vec<_> = report["recommended"]["formulas"].as_array().unwrap().iter().collect();
    assert_eq!(numbers[2]["numbers"], "2.000/s x 1.5 s = 3.000");
    assert_eq!(numbers[3]["numbers"], "3 refuses none, 2 refuses 1; mean latency 1.50 s");
    assert_eq!(numbers[4]["numbers"], "2.000/s / 1.000 x 1 s = 2.000");
}

/// Ten at once at 2/s: within 3 s 6 more than the bucket holds, which is also how many stand in the queue.
#[test]
fn with_a_queue_less_capacity_will_do() {
    let trace = Trace::new("t.csv", format!("t\n{}", "0\n".repeat(10)));
    let args = ["--rate", "2/s", "--admit", "100%", "--accept-wait", "3s"];
    let told = &plan(&trace, &args)["recommended"];
    assert_eq!((&told["capacity"], &told["queue_depth"]), (&10.into(), &6.into()));
    let want = json!({"limit": "2/s burst 4", "capacity": 4, "wait_seconds": 3.0, "admitted": 10, "smaller_admitted": 9});
    assert_eq!(told["with_queue"], want);
    // A cost above the capacity is never admitted, however long the wait.
    let told = &plan(
        &four(),
        &[&COST[..], &["--rate", "2/s", "--admit", "100%", "--accept-wait", "1h"]].concat(),
    )["recommended"];
    let want = json!({"limit": "2/s burst 6", "capacity": 6, "wait_seconds": 3600.0, "admitted": 4, "smaller_admitted": 3});
    assert_eq!(told["with_queue"], want);
}

#[test]
fn latencies_of_every_format() {
    let lines = "{\"ts\": 0, \"use\": {\"ms\": 1500}}\n{\"ts\": 1, \"use\": {\"ms\": \"500.5\"}}\n";
    let trace = Trace::new("t.jsonl", lines);
    let report = plan(&trace, &["--rate", "1/s", "--latency-column", "use.ms", "--admit", "100%"]);
    assert_eq!(report["recommended"]["in_flight_mean"], 2.0005);
    assert_eq!(report["recommended"]["in_flight_limit"], 2);

    let each_fails = |trace: &Trace, args: &[&str], parts: &[&str]| {
        run(&[&[trace.path(), "--rate", "1/s"], args].concat()).fails_with(parts);
    };
    each_fails(&trace, &["--latency-column", "use.s"], &["t.jsonl:1: ", "no column is named \"use.s\""]);
    let csv = Trace::new("t.csv", "t,took,ms\n0,1,2\n1,soon,-2\n");
    each_fails(&csv, &["--latency-column", "took"], &["\"took\"", "--latency-unit", "s, ms, us or ns"]);
    let unit = ["--latency-column", "took", "--latency-unit", "s"];
    each_fails(&csv, &unit, &["t.csv:3: took is \"soon\"; expected a latency"]);
    let skipped = plan(&csv, &[&["--rate", "1/s", "--skip-bad"], &unit[..]].concat());
    assert_eq!(skipped["trace"]["skipped"], 1);
    let log = Trace::new("a.log", "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5\n");
    each_fails(&log, &["--latency-column", "took_ms"], &["no column is named \"took_ms\"", "agent"]);
}

#[test]
fn from_figures_alone() {
    let figures = ["--latency", "2s", "--concurrency", "16", "--accept-wait", "5s", "--cost", "1500"];
    let report = run(&[&figures[..], &["--largest", "8000", "--json", "-"]].concat()).json();
    let told = &report["recommended"];
    assert_eq!(told["limit"], "12k/s burst 24k");
    assert_eq!((&told["rate_tokens"], &told["capacity"]), (&12_000.into(), &24_000.into()));
    assert_eq!((&told["in_flight_limit"], &told["queue_depth"]), (&16.into(), &40.into()));
    assert_eq!((&told["warnings"], &told["check"]), (&json!([]), &Value::Null));
    let limit =
        |args: &[&str]| run(&[&figures[..], args, &["--json", "-"]].concat()).json()["recommended"].clone();
    assert_eq!(limit(&["--largest", "20000"])["limit"], "12k/s burst 40k", "two of the largest");
    let small = limit(&["--largest", "20000", "--capacity", "30000"]);
    assert_eq!(small["warnings"][0]["kind"], "capacity_below_two_largest");

    let lone = run(&["--latency", "1.5s", "--concurrency", "1", "--json", "-"]).json();
    assert_eq!(lone["recommended"]["limit"], "40/min burst 2", "exact, though 1 / 1.5 s is no whole number");
    assert_eq!(lone["recommended"]["queue_depth"], Value::Null);

    let table = run(&figures).out;
    for part in
        ["12k/s", "16 / 2 s x 1500 = 12,000/s", "max(16 x 1500, 2 x 1500)", "12,000/s / 1,500 x 5 s = 40.00"]
    {
        assert!(table.contains(part), "{part} in {table}");
    }
}

/// Sixteen workers that start again whenever they are done are never refused, and with one token less they are.
#[test]
fn figures_hold_for_workers_without_a_pause() {
    let refused = |tokens: u64, capacity: u64| {
        let quota = Quota::with_burst(tokens, Duration::from_secs(1), capacity).unwrap();
        let bucket = Bucket::with_clock(quota, Manual::new());
        let mut refused = 0;
        for _ in 0..20 {
            refused += (0..16).filter(|_| bucket.try_acquire_n(1_500).is_err()).count();
            bucket.clock().advance(Duration::from_secs(2));
        }
        refused
    };
    assert_eq!(refused(12_000, 24_000), 0);
    assert!(refused(11_999, 24_000) > 0 && refused(12_000, 23_999) > 0);
}

#[test]
fn a_capacity_below_two_of_the_largest_is_warned_of() {
    let told = |args: &[&str]| {
        let report = plan(&four(), &[&COST[..], &["--rate", "4/s"], args].concat());
        let warnings = report["recommended"]["warnings"].as_array().unwrap().clone();
        warnings.iter().map(|told| told["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&["--capacity", "12"]), [""; 0]);
    assert_eq!(told(&["--capacity", "11"]), ["capacity_below_two_largest"]);
    assert_eq!(told(&["--capacity", "11", "--largest", "5"]), [""; 0]);
    assert_eq!(told(&["--capacity", "6"]), ["capacity_below_two_largest"]);
    assert_eq!(told(&["--capacity", "5"]), ["target_missed", "largest_never_admitted"]);
    let below = plan(&four(), &[&COST[..], &["--rate", "224/min", "--capacity", "12"]].concat());
    let warnings = &below["recommended"]["warnings"];
    assert_eq!((&warnings[0]["kind"], &warnings[1]), (&"rate_below_mean".into(), &Value::Null));
    assert!(
        warnings[0]["message"]
            .as_str()
            .unwrap()
            .contains("224/min is below the mean of what is offered, 225/min")
    );
    let at = plan(&four(), &[&COST[..], &["--rate", "225/min", "--capacity", "12"]].concat());
    assert_eq!(at["recommended"]["warnings"], json!([]));
    let trace = four();
    let table = run(&[&[trace.path()], &COST[..], &["--rate", "2/s", "--admit", "100%"]].concat()).out;
    assert!(
        table.contains("warning: the capacity 7 holds fewer than two of the largest requests"),
        "{table}"
    );
    assert!(table.contains("--capacity 12 holds two"), "{table}");
}

/// At 2/s and 7 all is admitted: 15 of 7 + 2 * 4 tokens. At 1/s and 4 only the first is: the second lacks 2 of 3, the third
/// half a token of 2, the last is too large.
#[test]
fn the_sweep_by_hand() {
    let report = plan(&four(), &[&COST[..], &["--rate", "2/s", "--admit", "100%"]].concat());
    let cells = report["sweep"].as_array().unwrap();
    let limits: Vec<_> = cells.iter().map(|cell| cell["limit"].as_str().unwrap()).collect();
    let row = [2, 4, 6, 7, 10, 14, 28].map(|capacity| format!("1/s burst {capacity}"));
    assert_eq!(limits[..7], row);
    assert_eq!(limits.len(), 4 * 7, "of 1, 1.5, 2, 2.7 and 4 a second, rounded up, two are the same");
    let cell = |limit: &str| cells.iter().find(|cell| cell["limit"] == limit).unwrap();
    let want = json!({"limit": "2/s burst 7", "rate_tokens": 2, "rate_period_seconds": 1.0, "capacity": 7,
        "admitted": 4, "admitted_cost": 15, "refused": 0, "never": 0, "longest_wait_seconds": null, "utilisation": 1.0});
    assert_eq!(cell("2/s burst 7"), &want);
    let want = json!({"limit": "1/s burst 4", "rate_tokens": 1, "rate_period_seconds": 1.0, "capacity": 4,
        "admitted": 1, "admitted_cost": 4, "refused": 2, "never": 1, "longest_wait_seconds": 2.0, "utilisation": 0.5});
    assert_eq!(cell("1/s burst 4"), &want);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let trace = four();
    let results = ["1", "2", "5"].map(|threads| {
        let picture = trace.folder.path().join(format!("{threads}.svg"));
        let (picture_name, json) =
            (picture.to_str().unwrap(), trace.folder.path().join(format!("{threads}.json")));
        let args = ["--threads", threads, "--plot", picture_name, "--json", json.to_str().unwrap()];
        let table = run(&args);
        assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
        [table.out, std::fs::read_to_string(&json).unwrap(), std::fs::read_to_string(picture).unwrap()]
    });
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn the_builtin_trace_is_planned_for() {
    let table = run(&[]);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    for part in
        ["built-in trace: 6,177 requests", "knee", "23800/s burst 20723", "x_k", "tollgate replay --limit"]
    {
        assert!(table.out.contains(part), "{part} in {}", table.out);
    }
}

#[test]
fn a_picture_is_well_formed() {
    let trace = Trace::new("a<b&c.csv", "t,c\n0,4\n1,3\n1.5,2\n4,6\n");
    let draw = |args: &[&str]| {
        let file = trace.folder.path().join("out.svg");
        let run = run(&[&[trace.path(), "--cost", "c", "--plot", file.to_str().unwrap()], args].concat());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let svg = std::fs::read_to_string(file).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        texts_of_well_formed(&svg)
    };
    let texts = draw(&["--rate", "2/s", "--admit", "100%"]);
    for part in [
        "a&lt;b&amp;c.csv, cost c: 2/s burst 7",
        "admits all",
        "recommended",
        "100.00 %",
        "28",
        "no wait; 100 %",
    ] {
        assert!(texts.iter().any(|text| text == part), "{part} in {texts:?}");
    }
}

#[test]
fn a_trace_without_a_span_needs_a_rate() {
    let trace = Trace::new("t.csv", "t\n5\n5\n5\n");
    run(&[trace.path()]).fails_with(&["t.csv: all requests are at one moment", "--rate"]);
    let report = plan(&trace, &["--rate", "1/s", "--latency", "1s"]);
    assert_eq!(report["recommended"]["limit"], "1/s burst 3");
    assert_eq!((&report["recommended"]["in_flight_mean"], &report["curve"]), (&Value::Null, &json!([])));
    assert_eq!(report["recommended"]["in_flight_limit"], 3);
    let file = trace.folder.path().join("out.svg");
    let drawn = run(&[trace.path(), "--rate", "1/s", "--plot", file.to_str().unwrap()]);
    assert_eq!((drawn.code, std::fs::read_to_string(file).unwrap().contains("NaN")), (Some(0), false));
    assert_eq!(plan(&trace, &["--capacity", "3"])["recommended"]["limit"], "1/s burst 3");
    run(&[trace.path(), "--capacity", "2"])
        .fails_with(&["--capacity 2: no rate is found that admits 99 %", "3 (100.0 %)"]);
}

#[test]
fn wrong_usage_is_told() {
    let trace = four();
    let file = trace.path();
    let each: [(&[&str], &[&str]); 19] = [
        (&[file, "--admit", "0"], &["--admit", "'0'", "above 0 and up to 100"]),
        (&[file, "--admit", "101%"], &["101%", "above 0 and up to 100"]),
        (&[file, "--headroom", "1001"], &["1001", "from 0 to 1000"]),
        (&[file, "--rate", "5/s burst 7"], &["5/s burst 7", "--capacity"]),
        (&[file, "--rate", "0/s"], &["0/s", "at least 1 token"]),
        (&[file, "--rate", "1/s", "--headroom", "5"], &["--rate", "--headroom"]),
        (&[file, "--capacity", "0"], &["--capacity", "'0'", "1.."]),
        (&[file, "--per", "fortnight"], &["fortnight", "s, min, h"]),
        (&[file, "--latency", "0s"], &["0s", "above 0 and up to 24h"]),
        (&[file, "--latency", "25h"], &["25h", "above 0 and up to 24h"]),
        (&[file, "--latency", "2"], &["--latency", "'2'", "such as 250ms"]),
        (&[file, "--latency", "1s", "--latency-column", "c"], &["--latency", "--latency-column"]),
        (&[file, "--latency-unit", "ms"], &["--latency-column"]),
        (&[file, "--concurrency", "4", "--latency", "1s"], &["--concurrency", "[FILE]"]),
        (&["--concurrency", "4"], &["--latency"]),
        (&["--latency", "1s"], &["--latency without a trace", "--concurrency"]),
        (&["--largest", "7"], &["--largest without a trace", "FILE"]),
        (
            &["--concurrency", "4", "--latency", "1s", "--cost", "c"],
            &["--cost", "number of tokens, at least 1"],
        ),
        (
            &["--concurrency", "4", "--latency", "1s", "--cost", "9", "--largest", "8"],
            &["--largest 8", "--cost 9"],
        ),
    ];
    for (args, parts) in each {
        run(args).fails_with(parts);
    }
    let free = Trace::new("free.csv", "t,c\n0,0\n1,0\n");
    run(&[free.path(), "--cost", "c"]).fails_with(&["free.csv: every request costs 0 with --cost c"]);
    run(&["--concurrency", "2000000000", "--latency", "1ns"])
        .fails_with(&["--concurrency 2000000000", "10 a nanosecond"]);
    let huge = Trace::new("huge.csv", "t,c\n0,2305843009213693952\n1,1\n");
    run(&[huge.path(), "--cost", "c", "--rate", "1/s"])
        .fails_with(&["rate 1/s: no capacity below 2^61 admits 99 %"]);
    let nowhere = trace.folder.path().join("no/such/folder/out");
    let lost = run(&[file, "--json", nowhere.to_str().unwrap()]);
    assert!(lost.code == Some(1) && lost.err.contains("no/such/folder"), "{}", lost.err);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = tollgate("plan").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = Run::new(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

/// Plans for a real trace; what is recommended and the next smaller limit are tried again by `replay`.
fn real_plan(name: &str, args: &[&str], want: [&str; 2]) {
    let Some(file) = real(name) else { return };
    let file = file.to_str().unwrap();
    let report = run(&[&[file], args, &["--json", "-"]].concat()).json();
    let chosen = chosen(&report);
    let [limit, admitted, smaller, fewer] = [0, 1, 2, 3].map(|index| &chosen[index]);
    assert_eq!([limit.as_str().unwrap(), smaller.as_str().unwrap()], want);
    let cost = [args[0], args[1], "--limit", want[0], "--limit", want[1], "--json", "-"];
    let replayed = replay(file, &cost);
    assert_eq!([&replayed[0]["admitted"], &replayed[1]["admitted"]], [admitted, fewer]);
    let wanted = report["recommended"]["check"]["target_requests"].as_u64().unwrap();
    assert!(admitted.as_u64() >= Some(wanted) && fewer.as_u64() < Some(wanted));
}

const TOKENS: [&str; 2] = ["--cost", "ContextTokens+GeneratedTokens"];

#[test]
fn the_conversation_trace() {
    let plan = |args: &[&str], want| real_plan("azure_llm_2023_conv.csv", &[&TOKENS, args].concat(), want);
    plan(&[], ["10800/s burst 28620", "10800/s burst 28619"]);
    plan(&["--admit", "100%", "--capacity", "450000"], ["11078/s burst 450k", "11077/s burst 450k"]);
}

#[test]
fn the_code_trace() {
    let plan = |args: &[&str], want| real_plan("azure_llm_2023_code.csv", &[&TOKENS, args].concat(), want);
    plan(&[], ["13200/s burst 587939", "13200/s burst 587938"]);
    plan(&["--admit", "100%"], ["13200/s burst 840489", "13200/s burst 840488"]);
}
