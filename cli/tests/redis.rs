//! `tollgate replay --redis` and `tollgate compare --redis` as a user runs them, with a server that they start and with one that is
//! there.

mod support;
#[path = "support/trace.rs"]
mod trace;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use support::{Run, tollgate};
use trace::{Trace, real};

fn replay(args: &[&str]) -> Run {
    Run::of(&mut tollgate("replay"), args)
}

fn compare(args: &[&str]) -> Run {
    Run::of(&mut tollgate("compare"), &[&["--seconds", "0.1"], args].concat())
}

/// The objects of `--json -`, in memory and in the store by turns.
fn pairs(run: &Run) -> Vec<[Value; 2]> {
    let outcomes: Vec<Value> = serde_json::from_value(run.json()).unwrap();
    outcomes.chunks(2).map(|pair| <[Value; 2]>::try_from(pair.to_vec()).unwrap()).collect()
}

/// All figures are the same; waits are told in whole microseconds by the store.
fn are_the_same([memory, store]: &[Value; 2]) {
    assert_eq!((&store["store"], &store["decided_otherwise"]), (&"redis".into(), &0.into()), "{store}");
    assert!(memory.get("store").is_none(), "{memory}");
    for (figure, value) in memory.as_object().unwrap() {
        match (value.as_f64(), figure.ends_with("_seconds")) {
            (Some(seconds), true) => {
                let longer = store[figure].as_f64().unwrap() - seconds;
                assert!((-1e-9..1.001e-6).contains(&longer), "{figure}: {memory} {store}");
            }
            _ => assert_eq!(value, &store[figure], "{figure}"),
        }
    }
}

/// A server that was there before, and what is left on it.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]);
        let process = command.stdout(Stdio::null()).spawn().expect("redis-server is to be installed");
        let server = Self { process, url: format!("redis://127.0.0.1:{port}/") };
        let begin = Instant::now();
        while server.client().get_connection().is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "the server does not answer");
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    fn client(&self) -> redis::Client {
        redis::Client::open(self.url.as_str()).unwrap()
    }

    /// How many keys it has, and how many scripts it has run.
    fn left(&self) -> (u64, bool) {
        let mut connection = self.client().get_connection().unwrap();
        let keys = redis::cmd("DBSIZE").query(&mut connection).unwrap();
        let calls: String = redis::cmd("INFO").arg("commandstats").query(&mut connection).unwrap();
        (keys, calls.contains("cmdstat_evalsha"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn a_replay_in_a_store_has_the_figures_of_one_in_memory() {
    let limits = ["450k/min burst 40k", "7 per 3s burst 20000", "1M/s burst 30k"];
    let args = limits.map(|limit| ["--limit", limit]).concat();
    let run = replay(&[&args[..], &["--redis", "--json", "-"]].concat());
    let pairs = pairs(&run);
    assert_eq!(pairs.len(), limits.len());
    pairs.iter().for_each(are_the_same);
    assert!(
        pairs
            .iter()
            .all(|[memory, _]| memory["refused"].as_u64() > Some(0) || memory["admitted"].as_u64() > Some(0))
    );
    assert!(pairs[1][0]["refused"].as_u64() > Some(1_000), "{:?}", pairs[1][0]);
}

#[test]
fn a_replay_uses_the_server_that_is_named_and_leaves_nothing_there() {
    let server = Server::start();
    let trace = Trace::new("t.csv", "time,cost\n0,3\n0,0\n0.25,1\n0.5,1\n0.5000005,9\n2.0000009,2\n");
    let args = [trace.path(), "--cost", "cost", "--limit", "2/s burst 3", "--redis", &server.url];
    let run = replay(&[&args[..], &["--json", "-"]].concat());
    let [pair] = &pairs(&run)[..] else { panic!("{}", run.out) };
    are_the_same(pair);
    let figures = ["requests", "admitted", "refused", "never", "zero_cost", "bound_violations"];
    assert_eq!(figures.map(|figure| pair[1][figure].as_u64().unwrap()), [5, 3, 1, 1, 1, 0]);
    assert_eq!(server.left(), (0, true));
    let table =
        Run::of(tollgate("replay").current_dir(trace.folder.path()), &[&["t.csv"], &args[1..]].concat());
    assert!(
        table.out.contains("2/s burst 3, redis") && table.out.contains("decided otherwise"),
        "{}",
        table.out
    );
    assert!(table.out.contains(&format!("in memory and in {}", server.url)), "{}", table.out);
}

#[test]
fn a_real_trace_has_the_same_figures_in_a_store() {
    let Some(trace) = real("azure_llm_2023_code.csv") else { return };
    let cost = ["--cost", "ContextTokens+GeneratedTokens"];
    let limit = ["--limit", "300000/min burst 450000", "--redis", "--json", "-"];
    let run = replay(&[&[trace.to_str().unwrap()], &cost[..], &limit].concat());
    pairs(&run).iter().for_each(are_the_same);
}

/// In the server's own time decisions are those of the moment, so only what must be is looked at.
#[test]
fn a_replay_in_the_servers_own_time_keeps_the_bound() {
    let server = Server::start();
    let modes: [&[&str]; 2] = [&["--mode", "direct"], &["--mode", "leased", "--instances", "2"]];
    for mode in modes {
        let args =
            ["--limit", "450k/min burst 40k", "--speed", "1000", "--json", "-", "--redis", &server.url];
        let run = replay(&[&args[..], mode].concat());
        let [[memory, store]] = &pairs(&run)[..] else { panic!("{}", run.out) };
        for figure in ["requests", "offered_cost", "zero_cost", "capacity"] {
            assert_eq!(memory[figure], store[figure], "{figure}");
        }
        let count = |figure: &str| store[figure].as_u64().unwrap();
        assert_eq!((count("bound_violations"), &store["least_available"]), (0, &Value::Null));
        assert!(count("admitted") > 0 && count("decided_otherwise") <= count("requests"), "{store}");
        assert_eq!(server.left(), (0, true), "{mode:?}");
    }
}

/// Even if it is killed, and so cannot end what it has started.
#[test]
#[cfg(target_os = "linux")]
fn a_server_that_was_started_is_gone_with_the_command() {
    let mut command = tollgate("replay");
    let args = ["--redis", "--mode", "direct", "--speed", "1"];
    let mut replay = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let soon = |what: &str| {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(5));
    };
    let server = loop {
        match descendant(replay.id(), "redis-server") {
            Some(server) => break server,
            None => soon("no server is started"),
        }
    };
    replay.kill().unwrap();
    replay.wait().unwrap();
    while name(server).is_some() {
        soon("the server is left behind");
    }
}

/// The process of that name among those that a process has started, and those that these have.
#[cfg(target_os = "linux")]
fn descendant(of: u32, wanted: &str) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).ok()?;
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children
        .into_iter()
        .find_map(|child| (name(child)? == wanted).then_some(child).or_else(|| descendant(child, wanted)))
}

#[cfg(target_os = "linux")]
fn name(process: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[test]
fn what_cannot_be_asked_of_a_store_is_told() {
    replay(&["--redis", "trace.csv"]).fails_with(&["--redis", "a trace goes before --redis"]);
    replay(&["--redis", "redis://127.0.0.1:1/"]).fails_with(&["--redis: redis://127.0.0.1:1/: "]);
    replay(&["--limit", "1/s empty", "--redis"]).fails_with(&["1/s empty", "with --redis", "begin full"]);
    for other in [["--algorithm", "fixed"], ["--plot", "x.svg"]] {
        replay(&[&other[..], &["--redis"]].concat()).fails_with(&["--redis", other[0]]);
    }
    replay(&["--redis", "--mode", "leased", "--instances", "40000"]).fails_with(&["--instances"]);
    replay(&["--limit", "1/s burst 4", "--redis", "--mode", "leased"]).fails_with(&["4 leases of 1 tokens"]);
    replay(&["--limit", "1G/s", "--redis", "--mode", "direct"]).fails_with(&["1G/s", "--speed 60"]);
    replay(&["--speed", "2"]).fails_with(&["--redis"]);
    let missing = Run::of(tollgate("replay").env("PATH", "/nowhere"), &["--redis"]);
    missing.fails_with(&["no redis-server", "apt-get install redis-server"]);
    compare(&["--redis", "--keyed"]).fails_with(&["--redis", "--keyed"]);
    compare(&["--redis", "--scenario", "burst"]).fails_with(&[
        "burst",
        "with --redis",
        "admit, boundary, deny",
    ]);
    compare(&["--redis", "--limiter", "spin"]).fails_with(&["spin", "with --redis", "redis/direct"]);
    compare(&["--limiter", "redis/direct"]).fails_with(&["redis/direct", "without --keyed or --redis"]);
}

#[test]
fn a_comparison_with_a_store_tells_what_it_admitted() {
    let server = Server::start();
    let report = compare(&["--redis", &server.url, "--threads", "1,4", "--json", "-"]).json();
    assert_eq!(report["store"], server.url);
    let rows = report["results"].as_array().unwrap();
    let told = |key: &str| rows.iter().map(|row| row[key].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(told("limiter"), BTreeSet::from(["redis/direct", "redis/leased", "tollgate/bucket"]));
    assert_eq!(told("scenario"), BTreeSet::from(["admit", "boundary", "deny"]));
    assert_eq!(rows.len(), 3 * 2 * 3);
    for row in rows {
        let count = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(["p50_ns", "p90_ns", "p99_ns", "max_ns"].map(count).is_sorted(), "{row}");
        assert!(count("admitted") <= count("bound") && count("violations") == 0, "{row}");
        match row["scenario"].as_str().unwrap() {
            "admit" if row["limiter"] != "redis/leased" => {
                assert_eq!(count("admitted"), count("offered"), "{row}");
            }
            "deny" => assert!(count("admitted") <= 2, "{row}"),
            // Leases begin empty.
            _ => assert!((1..=count("offered")).contains(&count("admitted")), "{row}"),
        }
    }
    assert_eq!(server.left(), (0, true));
    let table = compare(&["--redis", &server.url, "--scenario", "deny", "--threads", "2"]);
    assert!(table.out.contains("redis/direct") && table.out.contains("x bucket"), "{}", table.out);
}
