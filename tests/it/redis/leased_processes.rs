//! Four processes with leases of one limit, one of them killed.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::quota;
use tollgate::redis::{LeasePlan, Leased, RedisBucket};

use super::PATIENCE;
use super::server::{Server, client};

const PROCESSES: u64 = 4;
const KEY: &str = "{limits}:leased";
/// The folder with the counts, the place of a process's own, the server's address, and which plan it is.
const FOLDER: &str = "TOLLGATE_LEASED_FOLDER";
const PLACE: &str = "TOLLGATE_LEASED_PLACE";
const SERVER: &str = "TOLLGATE_LEASED_SERVER";
const PLAN: &str = "TOLLGATE_LEASED_PLAN";

/// Refilled fast, and with a second's worth of room: so long all processes may be kept from the processor
/// without a loss.
const FAST: &str = "fast";
/// Never refilled while a test lasts, so that every token is accounted for.
const STILL: &str = "still";
const RATE: u64 = 20_000;

fn plan(name: &str) -> LeasePlan {
    let (quota, ceiling) =
        if name == FAST { (quota!("20k/s burst 20k"), 50) } else { (quota!("1/day burst 20k"), 500) };
    LeasePlan::with_ceiling(&quota, PROCESSES as u32, ceiling).unwrap()
}

/// What each of the processes does: it waits for the gate, and then counts each admission in a file after it,
/// until it is told to stop and gives its lease back.
#[test]
#[ignore = "run by the tests below, as a process of its own"]
fn member() {
    let (Ok(folder), Ok(place)) = (env::var(FOLDER), env::var(PLACE)) else { return };
    let (folder, place) = (Path::new(&folder), place.parse::<u64>().unwrap());
    let (server, name) = (env::var(SERVER).unwrap(), env::var(PLAN).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = client(server.parse().unwrap());
    let connection = runtime.block_on(client.get_multiplexed_async_connection()).unwrap();
    let limit = Leased::builder(connection, KEY, plan(&name)).deadline(PATIENCE);
    let (limit, supply) = limit.build().unwrap();
    runtime.spawn(supply.run());
    let counts = counts(folder);
    let mut admitted = 0_u64;
    counts.write_all_at(&[1], READY + place).unwrap();
    while is_told(&counts, GO) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    while is_told(&counts, STOP) == 0 {
        match limit.try_acquire() {
            Ok(_) => {
                admitted += 1;
                counts.write_all_at(&admitted.to_ne_bytes(), place * 8).unwrap();
                if name == STILL {
                    thread::sleep(Duration::from_micros(50));
                }
            }
            Err(denied) => thread::sleep(denied.wait().unwrap().min(Duration::from_millis(2))),
        }
    }
    runtime.block_on(limit.close()).unwrap();
}

/// Behind the counts: bytes by which the processes and the test talk.
const READY: u64 = 100;
const GO: u64 = 200;
const STOP: u64 = 201;

fn is_told(counts: &File, place: u64) -> u8 {
    let mut told = [0];
    counts.read_exact_at(&mut told, place).unwrap();
    told[0]
}

fn counts(folder: &Path) -> File {
    let place = folder.join("counts");
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place).unwrap()
}

/// The processes, gone with the test.
struct Members {
    folder: tempfile::TempDir,
    server: Server,
    plan: LeasePlan,
    members: Vec<Child>,
}

impl Members {
    /// All of them wait at the gate.
    fn start(name: &str) -> Self {
        let (folder, server) = (tempfile::tempdir().unwrap(), Server::start());
        counts(folder.path()).write_all_at(&[0; 300], 0).unwrap();
        let member = |place: u64| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--exact", "redis::leased_processes::member", "--ignored"]);
            command.env(FOLDER, folder.path()).env(PLACE, place.to_string()).env(PLAN, name);
            command.env(SERVER, server.address().to_string()).stdout(Stdio::null()).spawn().unwrap()
        };
        let members = (0..PROCESSES).map(member).collect();
        let members = Self { folder, server, plan: plan(name), members };
        wait_for(|| (0..PROCESSES).all(|place| is_told(&members.counts(), READY + place) == 1));
        members
    }

    fn counts(&self) -> File {
        counts(self.folder.path())
    }

    fn tell(&self, place: u64) {
        self.counts().write_all_at(&[1], place).unwrap();
    }

    fn total(&self) -> u64 {
        let bytes = fs::read(self.folder.path().join("counts")).unwrap();
        let (counts, _) = bytes.as_chunks::<8>();
        counts[..PROCESSES as usize].iter().map(|count| u64::from_ne_bytes(*count)).sum()
    }

    /// The server's time, in microseconds.
    fn time(&self) -> u64 {
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut self.server.connection()).unwrap();
        seconds * 1_000_000 + micros
    }

    /// How often the script was run.
    fn scripts(&self) -> String {
        let told: String =
            redis::cmd("INFO").arg("commandstats").query(&mut self.server.connection()).unwrap();
        let line = told.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        line.and_then(|line| line.split(',').next()).unwrap_or("no").to_owned()
    }

    fn available(&self) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let quota = self.plan.quota().burst(self.plan.root_capacity()).unwrap();
            let root = RedisBucket::new(self.server.connect().await, KEY, quota).unwrap();
            root.with_deadline(PATIENCE).peek().await.unwrap().available
        })
    }

    /// At once, in the middle of what it does.
    fn kill(&mut self, place: usize) {
        let mut victim = self.members.swap_remove(place);
        victim.kill().unwrap();
        victim.wait().unwrap();
    }

    fn stop(&mut self) {
        self.tell(STOP);
        for member in &mut self.members {
            assert!(member.wait().unwrap().success());
        }
        self.members.clear();
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.kill().ok();
            member.wait().ok();
        }
    }
}

fn wait_for(holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
        thread::sleep(Duration::from_millis(1));
    }
}

/// What was counted at some time of the server's. Each is read right after the other.
#[derive(Clone, Copy, Debug)]
struct Look {
    before: u64,
    counted: u64,
    after: u64,
}

impl Look {
    fn at(members: &Members) -> Self {
        Self { before: members.time(), counted: members.total(), after: members.time() }
    }
}

/// In every interval between two looks no more is admitted than `B + r*t`, but for one token of each process
/// that was admitted and not counted yet at the first; and in the whole at least 99 % of it where that is
/// asked for.
fn hammered(span: Duration, least_percent: u64, kill: bool) {
    let mut members = Members::start(FAST);
    // Whole, with what the leases hold.
    thread::sleep(Duration::from_millis(300));
    let begin = Look::at(&members);
    members.tell(GO);
    let mut looks = vec![begin];
    let started = Instant::now();
    while started.elapsed() < span {
        if kill && started.elapsed() > span / 2 && members.members.len() == PROCESSES as usize {
            members.kill(2);
        }
        thread::sleep(Duration::from_millis(20));
        looks.push(Look::at(&members));
    }
    members.stop();
    let capacity = members.plan.quota().capacity();
    let bound = |from: &Look, to: &Look| capacity + ((to.after - from.before) * RATE).div_ceil(1_000_000);
    for (at, to) in looks.iter().enumerate() {
        for from in &looks[..at] {
            let admitted = to.counted - from.counted;
            assert!(admitted <= bound(from, to) + PROCESSES, "{admitted}: {from:?} {to:?}");
        }
    }
    let end = looks.last().unwrap();
    let all = bound(&begin, end);
    println!("{} of {all} in {} us, {} draws", end.counted, end.after - begin.before, members.scripts());
    assert!(end.counted * 100 >= all * least_percent, "{} of {all}", end.counted);
}

#[test]
fn four_processes_have_the_bound_of_one() {
    // How near they come depends on the machine.
    hammered(Duration::from_secs(1), 1, false);
}

#[test]
#[ignore = "ten seconds, and a figure"]
fn four_processes_have_the_bound_of_one_and_nearly_all_of_it() {
    hammered(Duration::from_secs(10), 99, false);
}

#[test]
fn the_others_admit_no_more_when_one_is_killed() {
    hammered(Duration::from_secs(1), 1, true);
}

#[test]
#[ignore = "ten seconds, and a figure"]
fn the_others_have_nearly_all_of_it_when_one_is_killed() {
    hammered(Duration::from_secs(10), 99, true);
}

/// All that the store has lent was admitted, or was given back; but for the lease of the one that was killed,
/// which is lost and not doubled.
#[test]
fn a_process_that_is_killed_loses_at_most_its_lease() {
    for kill in [false, true] {
        let mut members = Members::start(STILL);
        members.tell(GO);
        wait_for(|| members.total() >= 2_000);
        if kill {
            members.kill(1);
        }
        wait_for(|| members.total() >= 8_000);
        members.stop();
        let (capacity, ceiling) = (members.plan.root_capacity(), members.plan.ceiling());
        let found = members.total() + members.available();
        // One may be admitted and not counted when the kill comes.
        let lost = if kill { 0..=ceiling + 1 } else { 0..=0 };
        assert!(found <= capacity && lost.contains(&(capacity - found)), "{found} of {capacity}");
        println!("{} of at most {ceiling} lost", capacity - found);
    }
}
