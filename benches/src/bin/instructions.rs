//! Instructions per decision, counted by callgrind: `instructions [--json]`.
//!
//! A count needs no calm machine, so it serves as the regression check of the deciding path. The clocks stand still,
//! because callgrind hides the invariant time-stamp counter from the program. Each figure includes the loop around the
//! call. Exit code 1 if a bar is missed, 3 if valgrind is not there.

use serde_json::json;
use std::fs;
use std::hint::black_box;
use std::io::ErrorKind;
use std::process::{Command, ExitCode};
use tollgate::{Bucket, Manual, Quota};
use tollgate_bench::loops::COSTS;
use tollgate_bench::peers::StillGovernor;
use tollgate_bench::scenario::{Scenario, admit_binary, deny_binary};
use tollgate_bench::{Contender, Decide, floors, opaque, pin};

/// Calls under callgrind: enough that entering and leaving the counted function disappears.
const CALLS: u64 = 100_000;

const NO_VALGRIND: u8 = 3;

/// One figure: its name, what is called, and the most instructions it may take.
///
/// The bars of the exact scale are the project's; those of the binary scale, which pays for a multiplication of 128 bits,
/// and of the weighted call are where the code stands, against regressions. governor has no bar: it stands beside.
struct Case {
    name: &'static str,
    most: Option<f64>,
    run: fn(),
}

const CASES: [Case; 11] = [
    Case { name: "empty loop", most: None, run: || count_single(&floors::Nothing, true) },
    Case { name: "admission", most: Some(26.0), run: || count_single(&bucket(admit()), true) },
    Case {
        name: "admission, binary scale",
        most: Some(30.0),
        run: || count_single(&bucket(admit_binary()), true),
    },
    Case { name: "refusal", most: Some(20.0), run: || count_single(&bucket(deny()), false) },
    Case {
        name: "refusal, binary scale",
        most: Some(24.0),
        run: || count_single(&bucket(deny_binary()), false),
    },
    Case { name: "weighted admission", most: Some(35.0), run: || count_weighted(&bucket(admit())) },
    Case {
        name: "weighted admission, binary scale",
        most: Some(39.0),
        run: || count_weighted(&bucket(admit_binary())),
    },
    Case { name: "governor: admission", most: None, run: || count_single(&governor(admit()), true) },
    Case { name: "governor: refusal", most: None, run: || count_single(&governor(deny()), false) },
    Case { name: "governor: weighted admission", most: None, run: || count_weighted(&governor(admit())) },
    Case { name: "weighted empty loop", most: None, run: || count_weighted(&floors::Nothing) },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--count", name] => {
            count(name);
            ExitCode::SUCCESS
        }
        [] => report(false),
        ["--json"] => report(true),
        _ => {
            eprintln!("usage: instructions [--json]");
            ExitCode::from(2)
        }
    }
}

fn admit() -> Quota {
    Scenario::Admit.quota(0.0, 0)
}

fn deny() -> Quota {
    Scenario::Deny.quota(0.0, 0)
}

fn bucket(quota: Quota) -> Bucket<Manual> {
    Contender::build(quota)
}

fn governor(quota: Quota) -> StillGovernor {
    StillGovernor::with_clock(quota, Default::default())
}

/// The child's part: one case, the counted function called once.
fn count(name: &str) {
    let case = CASES.iter().find(|case| case.name == name).expect("a known case");
    (case.run)();
}

fn count_single<D: Decide>(limiter: &D, admits: bool) {
    assert_eq!(limiter.decide(), admits);
    counted_single(limiter, black_box(CALLS));
    assert_eq!(limiter.decide(), admits, "the counted calls must not have changed the answer");
}

fn count_weighted<D: Decide>(limiter: &D) {
    assert!(limiter.decide_n(COSTS[0]));
    counted_weighted(limiter, black_box(CALLS));
    assert!(limiter.decide_n(COSTS[0]), "the counted calls must not have changed the answer");
}

/// What callgrind counts: the call, the decision in a register, and nothing else.
#[inline(never)]
fn counted_single<D: Decide>(limiter: &D, calls: u64) {
    for _ in 0..calls {
        pin(opaque(limiter).decide());
    }
}

/// As [`counted_single`], with costs from the table.
#[inline(never)]
fn counted_weighted<D: Decide>(limiter: &D, calls: u64) {
    for turn in 0..calls {
        pin(opaque(limiter).decide_n(COSTS[turn as usize % COSTS.len()]));
    }
}

fn report(as_json: bool) -> ExitCode {
    let mut figures = Vec::new();
    for case in &CASES {
        match instructions(case.name) {
            Ok(figure) => figures.push((case, figure)),
            Err(Failure::NoValgrind) => {
                eprintln!("valgrind is not installed: on Debian, apt-get install valgrind");
                return ExitCode::from(NO_VALGRIND);
            }
            Err(Failure::Broken(why)) => {
                eprintln!("{}: {why}", case.name);
                return ExitCode::FAILURE;
            }
        }
    }
    if as_json {
        print_json(&figures)
    } else {
        print_table(&figures)
    }
    let holds = figures.iter().all(|(case, figure)| case.most.is_none_or(|most| *figure <= most));
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_table(figures: &[(&Case, f64)]) {
    println!("{:<36}{:>14}{:>8}", "instructions per call, with its loop", "figure", "at most");
    for (case, figure) in figures {
        let bar = case.most.map_or(String::new(), |most| {
            format!("{most:>8}  {}", if *figure <= most { "PASS" } else { "FAIL" })
        });
        println!("{:<36}{figure:>14.2}{bar}", case.name);
    }
}

fn print_json(figures: &[(&Case, f64)]) {
    let rows = figures
        .iter()
        .map(|(case, figure)| json!({"row": case.name, "instructions": figure, "most": case.most}));
    println!("{:#}", json!(rows.collect::<Vec<_>>()));
}

enum Failure {
    NoValgrind,
    Broken(String),
}

/// Runs one case of this program under callgrind, collecting only inside the counted function.
fn instructions(name: &str) -> Result<f64, Failure> {
    let broken = |what: &str, error: &dyn std::fmt::Display| Failure::Broken(format!("{what}: {error}"));
    let program = std::env::current_exe().map_err(|error| broken("this program's path", &error))?;
    let file = std::env::temp_dir().join(format!("tollgate-instructions.{}", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*counted_*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["--count", name])
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::NoValgrind,
            _ => broken("valgrind", &error),
        })?;
    let profile = fs::read_to_string(&file);
    let _ = fs::remove_file(&file);
    if !output.status.success() {
        return Err(broken("the counted run failed", &String::from_utf8_lossy(&output.stderr)));
    }
    let profile = profile.map_err(|error| broken("the profile", &error))?;
    let total = total(&profile).ok_or_else(|| broken("the profile", &"has no total"))?;
    if total == 0 {
        return Err(broken("the profile", &"counted nothing: was the program stripped of its symbols?"));
    }
    // Entering and leaving the counted function is worth less than a thousandth of an instruction a call.
    Ok((total as f64 / CALLS as f64 * 1e3).floor() / 1e3)
}

/// The line `summary: N` (or `totals: N`) of a callgrind profile.
fn total(profile: &str) -> Option<u64> {
    let figure = |key: &str| profile.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    figure("summary:").or_else(|| figure("totals:"))
}
