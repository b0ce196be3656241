//! Several processes on one bucket, some of them killed in the middle of it.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Clock, Nanos, quota};

use super::Place;
use crate::support::S;

const PROCESSES: u64 = 4;
const RATE: u64 = 200_000;
/// A tenth of a second's worth: so long all processes may be kept from the processor without a loss.
const BURST: u64 = 20_000;
/// The folder with the file of limits; the place of a process's own count.
const FOLDER: &str = "TOLLGATE_SHARED_FOLDER";
const PLACE: &str = "TOLLGATE_SHARED_PLACE";

fn bucket(folder: &Path) -> tollgate::shared_memory::SharedBucket {
    let region = tollgate::shared_memory::Region::open(folder.join("limits")).unwrap();
    region.bucket("requests", quota!("200k/s burst 20k")).unwrap()
}

/// What each of the processes does: it counts each admission in a file after it, until the bucket is paused for good.
#[test]
#[ignore = "run by the tests below, as a process of its own"]
fn member() {
    let (Ok(folder), Ok(place)) = (env::var(FOLDER), env::var(PLACE)) else { return };
    let (folder, place) = (Path::new(&folder), place.parse::<u64>().unwrap());
    let (bucket, counts) = (bucket(folder), counts(folder));
    let mut admitted = 0_u64;
    loop {
        match bucket.try_acquire() {
            Ok(()) => {
                admitted += 1;
                counts.write_all_at(&admitted.to_ne_bytes(), place * 8).unwrap();
            }
            Err(denied) if denied.wait().is_some_and(|wait| wait > Duration::from_secs(60)) => return,
            Err(_) => {}
        }
    }
}

fn counts(folder: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("counts"))
        .unwrap()
}

fn start(folder: &Path, place: u64) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "shared_memory::processes::member", "--ignored"]);
    command.env(FOLDER, folder).env(PLACE, place.to_string()).stdout(Stdio::null()).spawn().unwrap()
}

fn total(folder: &Path) -> u64 {
    let bytes = fs::read(folder.join("counts")).unwrap();
    bytes.as_chunks::<8>().0.iter().map(|count| u64::from_ne_bytes(*count)).sum()
}

fn has_begun(folder: &Path, place: u64) -> bool {
    let mut count = [0; 8];
    counts(folder).read_exact_at(&mut count, place * 8).is_ok() && u64::from_ne_bytes(count) > 0
}

fn wait_for(begun: impl Fn() -> bool) {
    let begin = Instant::now();
    while !begun() {
        assert!(begin.elapsed() < Duration::from_secs(30), "a process does not begin");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Admissions in an interval between two looks are at most what the law allows and at least 99.9 % of what is issued, but
/// for one that a killed process had no time to count, and one of each that was not written at a look.
fn hammered(span: Duration, mut kills: u64) {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_path_buf();
    let bucket = bucket(&folder);
    let mut members: Vec<_> = (0..PROCESSES).map(|place| start(&folder, place)).collect();
    wait_for(|| (0..PROCESSES).all(|place| has_begun(&folder, place)));
    let (begin, before) = (bucket.clock().now(), total(&folder));
    let (pause, killed) = (span / (kills as u32 + 1), kills);
    let mut next = PROCESSES;
    while kills > 0 {
        thread::sleep(pause);
        let victim = next as usize % members.len();
        members[victim].kill().unwrap();
        members[victim].wait().unwrap();
        members[victim] = start(&folder, next);
        (next, kills) = (next + 1, kills - 1);
    }
    thread::sleep(pause);
    let (after, end) = (total(&folder), bucket.clock().now());
    bucket.pause_until(Nanos::MAX);
    members.iter_mut().for_each(|member| assert!(member.wait().unwrap().success()));

    let (admitted, issued) =
        (after - before, u128::from(end.saturating_sub(begin).as_u64()) * u128::from(RATE) / u128::from(S));
    let issued = issued as u64;
    assert!(admitted <= BURST + issued + PROCESSES, "{admitted} of {issued} and {BURST}");
    let uncounted = killed + PROCESSES;
    assert!(admitted + uncounted >= issued - issued / 1_000, "{admitted} of {issued}");
}

mod stress {
    use super::*;

    #[test]
    fn four_processes_have_the_allowance_of_one() {
        hammered(Duration::from_secs(1), 0);
    }

    #[test]
    fn processes_that_are_killed_change_nothing() {
        hammered(Duration::from_secs(2), 20);
    }

    /// As long as it takes to be sure.
    #[test]
    #[ignore = "ten seconds"]
    fn a_hundred_kills_in_ten_seconds_change_nothing() {
        hammered(Duration::from_secs(10), 100);
    }
}
