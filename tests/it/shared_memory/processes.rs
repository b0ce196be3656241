//! Several processes on one bucket, some of them killed in the middle of it.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::shared_memory::{Region, SharedBucket};
use tollgate::{Clock, Nanos, quota};

use super::Place;
use crate::support::S;

const PROCESSES: u64 = 4;
/// Little beside what four processes ask for, also where others want the processor.
const RATE: u64 = 20_000;
/// The folder with the file of limits; the place of a process's own count.
const FOLDER: &str = "TOLLGATE_SHARED_FOLDER";
const PLACE: &str = "TOLLGATE_SHARED_PLACE";

fn bucket(folder: &Path) -> SharedBucket {
    let region = Region::open(folder.join("limits")).unwrap();
    // Half a second's worth: so long all processes may be kept from the processor without a loss.
    region.bucket("requests", quota!("20k/s burst 10k")).unwrap()
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

fn hammered(span: Duration, mut kills: u64) {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_path_buf();
    let bucket = bucket(&folder);
    let mut members: Vec<_> = (0..PROCESSES).map(|place| start(&folder, place)).collect();
    wait_for(|| (0..PROCESSES).all(|place| has_begun(&folder, place)));
    let before = Look::at(&bucket, &folder);
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
    let after = Look::at(&bucket, &folder);
    bucket.pause_until(Nanos::MAX);
    members.iter_mut().for_each(|member| assert!(member.wait().unwrap().success()));
    check(&before, &after, killed);
}

/// What was counted, what the bucket held right before and right after, and when.
#[derive(Debug)]
struct Look {
    begin: Nanos,
    held_before: u64,
    counted: u64,
    held_after: u64,
    end: Nanos,
}

impl Look {
    fn at(bucket: &SharedBucket, folder: &Path) -> Self {
        let begin = bucket.clock().now();
        let (held_before, counted) = (bucket.peek_at(begin).available(), total(folder));
        let end = bucket.clock().now();
        Self { begin, held_before, counted, held_after: bucket.peek_at(end).available(), end }
    }
}

/// What was admitted is what the bucket held and what was issued, less what it holds at the end: not one token more, but for one
/// of each process that was not written yet at the first look, and not one less, but for those that were killed before
/// they were written, and for what was admitted while the looks were taken.
fn check(before: &Look, after: &Look, killed: u64) {
    let issued = |begin: Nanos, end: Nanos| {
        let nanos = u128::from(end.saturating_sub(begin).as_u64());
        (nanos * u128::from(RATE)).div_ceil(u128::from(S)) as u64
    };
    let admitted = after.counted - before.counted;
    let most = before.held_before + issued(before.begin, after.end) + PROCESSES;
    assert!(admitted + after.held_after <= most, "{admitted} of {most}: {before:?} {after:?}");
    let within_looks = issued(before.begin, before.end) + issued(after.begin, after.end) + before.held_before;
    let missing = killed + PROCESSES + within_looks;
    let least = (before.held_after + issued(before.end, after.begin)) * 999 / 1_000;
    assert!(admitted + after.held_before + missing >= least, "{admitted} of {least}: {before:?} {after:?}");
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
