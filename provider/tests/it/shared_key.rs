//! Must show: processes that share one key keep to its limit together because their mirrors hear what is
//! left.
//!
//! A short run with bars that any machine passes; `docs/upstream.md` has the long one. The clients are
//! processes of this test's own program.

#[path = "../../examples/shared_key/client.rs"]
mod client;
#[path = "../../examples/shared_key/harness.rs"]
#[expect(dead_code, reason = "the program prints more than a test asks")]
mod harness;

use std::env;
use std::process::Command;
use std::thread;

use client::{Plan, Way};
use harness::{Outcome, Programs, Scenario};

const PLAN: &str = "TOLLGATE_SHARED_KEY_PLAN";

/// Not a test: one client process, started by the test below.
#[test]
#[ignore = "it is a client process of the test beside it"]
fn a_client_process() {
    let plan = env::var(PLAN).expect("the plan of a client");
    println!("\n{}", client::run(&Plan::parse(&plan)));
}

fn run(way: Way) -> Outcome {
    let scenario = "seconds=4 limit=40 latency_ms=20".split(' ').map(str::to_owned).collect::<Vec<_>>();
    let scenario = Scenario::parse(&scenario).unwrap();
    let programs = Programs {
        provider: &|settings| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate-provider"));
            command.arg(settings);
            command
        },
        client: &|plan| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--exact", "shared_key::a_client_process", "--ignored", "--nocapture"]);
            command.env(PLAN, plan);
            command
        },
    };
    harness::run(&scenario, way, &programs)
}

#[test]
fn three_processes_with_one_key_are_hardly_refused_where_mirrors_listen() {
    let ways = [Way::Mirror, Way::Obey, Way::Limit].map(|way| thread::spawn(move || run(way)));
    let [mirror, obey, limit] = ways.map(|way| way.join().unwrap());
    assert!(mirror.refused() < 0.05 && mirror.used() > 0.8, "{mirror}");
    // The same bars without the mirror.
    for without in [&obey, &limit] {
        assert!(without.refused() > 0.2, "{without}");
    }
    assert_eq!([mirror.failed(), obey.failed(), limit.failed()], [0; 3]);
}
