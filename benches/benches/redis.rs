//! What a decision costs that is spent out of a lease: `cargo bench -p tollgate-bench --bench redis`.
//!
//! Out of a lease from Redis, out of a `Sharded` allowance, and by a round trip to a server on the same
//! machine, in the same rounds. A decision out of a lease may cost at most 1.5 times that out of the
//! allowance, by a handle and looked up, and must cost at most a thousandth of the round trip. Every call of
//! every row is admitted, or the sample does not count. Exit code 1 if one does not hold, 0 otherwise. It
//! starts a `redis-server` of its own.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;
use tollgate::redis::{LeasePlan, LeaseShard, Leased, RedisBucket};
use tollgate::sharded::{Shard, Sharded};
use tollgate::{Quota, quota};
use tollgate_bench::loops::{back_to_back, weighted_cost};
use tollgate_bench::machine::Machine;
use tollgate_bench::ours::Asked;
use tollgate_bench::rounds::{Lap, Passes, Plan, Row, measure};
use tollgate_bench::rows::lap_with_costs;
use tollgate_bench::scenario::Audit;
use tollgate_bench::{Decide, start, thread};

const PASSES: usize = 5;
const SMOKE: Plan = Plan { blocks: 1, rounds: 3, sample_nanos: 20_000 };
const MOST_OF_SHARDED: f64 = 1.5;
const LEAST_OF_DIRECT: f64 = 1_000.0;

/// More than is asked for; the lease is a quarter.
const QUOTA: Quota = quota!("5G/s burst 8G");
const LEASE: u64 = 2_000_000_000;

/// Round trips in a sample.
const TRIPS: u64 = 20;

struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        // Between choosing a port and listening on it somebody else may take it.
        (0..5).find_map(|_| Self::at_a_free_port()).expect("no server could be started")
    }

    fn at_a_free_port() -> Option<Self> {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port").local_addr().expect("a port").port();
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        let process = command.stdout(Stdio::null()).spawn().expect("redis-server is to be installed");
        let mut server = Self { process, url: format!("redis://127.0.0.1:{port}/") };
        server.answers().then_some(server)
    }

    /// Waits until it does, and not another one in its place; false if it ended, as it does when the port is
    /// another's.
    fn answers(&mut self) -> bool {
        let (begin, own) = (Instant::now(), format!("process_id:{}\r", self.process.id()));
        while self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            assert!(begin.elapsed() < Duration::from_secs(20), "the server does not answer");
            if self.says_of_itself().is_ok_and(|text| text.contains(&own)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    fn says_of_itself(&self) -> redis::RedisResult<String> {
        redis::cmd("INFO").arg("server").query(&mut self.client().get_connection()?)
    }

    fn client(&self) -> redis::Client {
        redis::Client::open(self.url.as_str()).expect("a URL")
    }

    fn connect(&self, runtime: &Runtime) -> MultiplexedConnection {
        runtime.block_on(self.client().get_multiplexed_async_connection()).expect("a connection")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

struct Field {
    sharded: Sharded,
    shard: Shard,
    /// Filled beside.
    lease: Asked<Leased<MultiplexedConnection>>,
    lease_shard: Asked<LeaseShard<MultiplexedConnection>>,
    direct: RedisBucket<MultiplexedConnection>,
    /// Where round trips are made: on the measuring thread.
    here: Runtime,
}

impl Field {
    fn new(server: &Server, beside: &Runtime, number: usize) -> Self {
        let plan = LeasePlan::with_ceiling(&QUOTA, 1, LEASE).expect("a plan");
        let leased = Leased::builder(server.connect(beside), format!("leased:{number}"), plan);
        let (lease, supply) = leased.deadline(Duration::from_secs(5)).build().expect("a lease");
        beside.spawn(supply.run());
        let here = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let direct =
            RedisBucket::new(server.connect(&here), format!("direct:{number}"), QUOTA).expect("a bucket");
        let sharded = Sharded::new(QUOTA);
        let begin = Instant::now();
        while lease.held() < LEASE / 8 {
            assert!(begin.elapsed() < Duration::from_secs(20), "nothing is lent");
            std::thread::sleep(Duration::from_millis(1));
        }
        Self {
            shard: sharded.shard(),
            sharded,
            lease_shard: Asked(lease.shard()),
            lease: Asked(lease),
            direct: direct.with_deadline(Duration::from_secs(5)),
            here,
        }
    }

    /// Waits until the lease has some times more than so many tokens. It follows what is spent, and on a
    /// machine with other things to do it may have been empty for long; so more is spent meanwhile.
    fn fill(&self, tokens: u64) {
        let enough = tokens.saturating_mul(32).min(LEASE / 4);
        while self.lease.0.held() < enough {
            self.lease.0.try_acquire_n(self.lease.0.held() / 2 + 1).ok();
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let (nothing, fill) = (|_| (), |calls| self.fill(calls));
        let mut rows = Vec::new();
        rows.extend(calls("sharded, by a handle", &self.shard, nothing));
        rows.extend(calls("lease, by a handle", &self.lease_shard, fill));
        rows.extend(calls("sharded, looked up", &self.sharded, nothing));
        rows.extend(calls("lease, looked up", &self.lease, fill));
        let direct = move |calls| {
            Lap::of(calls, || {
                let trip = |_: &u64| self.here.block_on(self.direct.try_acquire()).is_ok();
                (0..calls).filter(trip).count() as u64
            })
        };
        rows.push(Row::new("direct", Audit::All, direct).of_calls(TRIPS));
        rows
    }
}

/// Single calls, and calls with other costs.
fn calls<'a>(name: &str, limiter: &'a impl Decide, before: impl Fn(u64) + Copy + 'a) -> [Row<'a>; 2] {
    let single = move |calls| {
        before(calls);
        Lap::of(calls, || back_to_back(limiter, calls))
    };
    let all_or_none = move |calls| {
        before(weighted_cost(calls));
        lap_with_costs(limiter, calls)
    };
    [Row::new(name, Audit::All, single), Row::new(format!("{name}, weighted"), Audit::All, all_or_none)]
}

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    let machine = Machine::here();
    let server = Server::start();
    // Its thread begins before this one is bound to a core, and is not.
    let beside = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let beside = beside.expect("a runtime");
    let fields: Vec<Field> = (0..PASSES).map(|number| Field::new(&server, &beside, number)).collect();
    thread::pin_to(0);
    let plan = if smoke { SMOKE } else { Plan::PASS };
    let table = Passes::taken(PASSES, |pass| measure(&mut fields[pass].rows(), plan));
    println!("{machine}\n\n{:<34}{:>11}{:>12}{:>12}", "row", "ns", "to sharded", "of direct");
    let mut holds = true;
    for name in table.names() {
        print!("{name:<34}{:>11.2}", table.nanos(name));
        if let Some(rest) = name.strip_prefix("lease") {
            let (ratio, part) = (table.ratio(name, &format!("sharded{rest}")), table.ratio("direct", name));
            holds &= ratio <= MOST_OF_SHARDED && part >= LEAST_OF_DIRECT;
            print!("{ratio:>12.3}{:>12}", format!("1/{part:.0}"));
        }
        println!();
    }
    println!("\n{} samples taken again", table.retaken());
    let bars =
        format!("at most {MOST_OF_SHARDED} of sharded, at least {LEAST_OF_DIRECT} times less than direct");
    println!("{bars}: {}", if holds { "PASS" } else { "FAIL" });
    if holds || smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
