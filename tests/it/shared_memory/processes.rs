//! Several processes on one bucket, some of them killed in the middle of it.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::shared_memory::{Region, SharedBucket, SharedCharge};
use tollgate::{Clock, Denied, Nanos, quota};

use super::Place;
use crate::support::S;

/// Little beside what four processes ask for, also where others want the processor.
const RATE: u64 = 20_000;
/// The folder with the file of limits; the place of the first count of a process, how many threads it has, and what
/// they do.
const FOLDER: &str = "TOLLGATE_SHARED_FOLDER";
const PLACE: &str = "TOLLGATE_SHARED_PLACE";
const THREADS: &str = "TOLLGATE_SHARED_THREADS";
const GIVES_BACK: &str = "TOLLGATE_SHARED_GIVES_BACK";

/// What becomes of every second token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Back {
    Kept,
    Undone,
    Refunded,
}

impl Back {
    const ALL: [Self; 3] = [Self::Kept, Self::Undone, Self::Refunded];

    /// Takes a token and gives it back.
    fn take(self, bucket: &SharedBucket) -> Result<(), Denied> {
        match self {
            Self::Undone => bucket.try_charge(1).map(SharedCharge::undo),
            Self::Refunded => bucket.try_acquire().map(|()| bucket.refund(1)),
            Self::Kept => Ok(()),
        }
    }
}

/// How a bucket is hammered.
#[derive(Clone, Copy)]
struct Crowd {
    processes: u64,
    threads: u64,
    back: Back,
    span: Duration,
    kills: u64,
}

const FOUR: Crowd =
    Crowd { processes: 4, threads: 1, back: Back::Kept, span: Duration::from_secs(1), kills: 0 };

fn bucket(folder: &Path) -> SharedBucket {
    let region = Region::open(folder.join("limits")).unwrap();
    // Three seconds' worth: so long all processes may be kept from the processor without a loss.
    region.bucket("requests", quota!("20k/s burst 60k")).unwrap()
}

/// What each of the processes does, until the bucket is paused for good.
#[test]
#[ignore = "run by the tests below, as a process of its own"]
fn member() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let number = |name| env::var(name).unwrap().parse::<u64>().unwrap();
    let (folder, first, back) = (Path::new(&folder), number(PLACE), Back::ALL[number(GIVES_BACK) as usize]);
    let bucket = bucket(folder);
    thread::scope(|scope| {
        for place in first..first + number(THREADS) {
            let bucket = &bucket;
            scope.spawn(move || hammer(bucket, &counts(folder), place, back));
        }
    });
}

/// It counts each admission in a file after it.
fn hammer(bucket: &SharedBucket, counts: &File, place: u64, back: Back) {
    let mut admitted = 0_u64;
    let mut gives_back = false;
    loop {
        gives_back = back != Back::Kept && !gives_back;
        let denied = match gives_back {
            true => back.take(bucket),
            false => bucket.try_acquire().map(|()| {
                admitted += 1;
                counts.write_all_at(&admitted.to_ne_bytes(), place * 8).unwrap();
            }),
        };
        match denied {
            Err(denied) if denied.wait().is_some_and(|wait| wait > Duration::from_secs(60)) => return,
            _ => {}
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

fn start(folder: &Path, place: u64, crowd: Crowd) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "shared_memory::processes::member", "--ignored"]);
    let numbers = [(PLACE, place * crowd.threads), (THREADS, crowd.threads), (GIVES_BACK, crowd.back as u64)];
    command.env(FOLDER, folder).envs(numbers.map(|(name, number)| (name, number.to_string())));
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn total(folder: &Path) -> u64 {
    let bytes = fs::read(folder.join("counts")).unwrap();
    bytes.as_chunks::<8>().0.iter().map(|count| u64::from_ne_bytes(*count)).sum()
}

fn has_begun(folder: &Path, place: u64) -> bool {
    let mut count = [0; 8];
    counts(folder).read_exact_at(&mut count, place * 8).is_ok() && u64::from_ne_bytes(count) > 0
}

pub(super) fn wait_for(begun: impl Fn() -> bool) {
    let begin = Instant::now();
    while !begun() {
        assert!(begin.elapsed() < Duration::from_secs(30), "a process does not begin");
        thread::sleep(Duration::from_millis(1));
    }
}

fn hammered(crowd: Crowd) {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_path_buf();
    let bucket = bucket(&folder);
    let mut members: Vec<_> = (0..crowd.processes).map(|place| start(&folder, place, crowd)).collect();
    let threads = crowd.processes * crowd.threads;
    wait_for(|| (0..threads).all(|place| has_begun(&folder, place)));
    let before = Look::at(&bucket, &folder);
    let pause = crowd.span / (crowd.kills as u32 + 1);
    for kill in 0..crowd.kills {
        thread::sleep(pause);
        let victim = kill as usize % members.len();
        members[victim].kill().unwrap();
        members[victim].wait().unwrap();
        members[victim] = start(&folder, crowd.processes + kill, crowd);
    }
    thread::sleep(pause);
    let after = Look::at(&bucket, &folder);
    bucket.pause_until(Nanos::MAX);
    members.iter_mut().for_each(|member| assert!(member.wait().unwrap().success()));
    check(&before, &after, crowd);
    // At one reading, for what is not undone comes back by refill too.
    let (now, capacity) = (bucket.clock().now(), bucket.quota().capacity());
    bucket.reset_at(now);
    bucket.charge_at(10, now).undo_at(now);
    assert_eq!(bucket.peek_at(now).available(), capacity, "who died while it gave back holds up none");
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
/// of each thread that was not written yet at the first look, and not one less, but for those that were killed before
/// they were written, and for what was admitted while the looks were taken.
fn check(before: &Look, after: &Look, crowd: Crowd) {
    let threads = crowd.processes * crowd.threads;
    let issued = |begin: Nanos, end: Nanos| {
        let nanos = u128::from(end.saturating_sub(begin).as_u64());
        (nanos * u128::from(RATE)).div_ceil(u128::from(S)) as u64
    };
    let admitted = after.counted - before.counted;
    let most = before.held_before + issued(before.begin, after.end) + threads;
    assert!(admitted + after.held_after <= most, "{admitted} of {most}: {before:?} {after:?}");
    let within_looks = issued(before.begin, before.end) + issued(after.begin, after.end) + before.held_before;
    let missing = crowd.kills * crowd.threads + threads + within_looks;
    let least = (before.held_after + issued(before.end, after.begin)) * 999 / 1_000;
    assert!(admitted + after.held_before + missing >= least, "{admitted} of {least}: {before:?} {after:?}");
    println!("{admitted} admitted of {most} at most");
}

mod stress {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn four_processes_have_the_allowance_of_one() {
        hammered(FOUR);
    }

    #[test]
    fn processes_that_are_killed_change_nothing() {
        hammered(Crowd { span: 2 * SECOND, kills: 20, ..FOUR });
    }

    #[test]
    fn threads_of_two_processes_have_the_allowance_of_one() {
        hammered(Crowd { processes: 2, threads: 16, ..FOUR });
    }

    #[test]
    fn processes_that_are_killed_in_an_undo_change_nothing() {
        hammered(Crowd { back: Back::Undone, kills: 10, ..FOUR });
    }

    #[test]
    fn processes_that_are_killed_in_a_refund_change_nothing() {
        hammered(Crowd { back: Back::Refunded, kills: 10, ..FOUR });
    }

    /// As long as it takes to be sure.
    #[test]
    #[ignore = "ten seconds"]
    fn a_hundred_kills_in_ten_seconds_change_nothing() {
        hammered(Crowd { span: 10 * SECOND, kills: 100, ..FOUR });
    }

    #[test]
    #[ignore = "ten seconds"]
    fn a_hundred_kills_in_undos_change_nothing() {
        hammered(Crowd { span: 10 * SECOND, kills: 100, back: Back::Undone, ..FOUR });
    }

    #[test]
    #[ignore = "ten seconds"]
    fn a_hundred_kills_in_refunds_change_nothing() {
        hammered(Crowd { span: 10 * SECOND, kills: 100, back: Back::Refunded, ..FOUR });
    }

    #[test]
    #[ignore = "ten seconds"]
    fn four_processes_have_the_allowance_of_one_for_ten_seconds() {
        hammered(Crowd { span: 10 * SECOND, ..FOUR });
    }

    #[test]
    #[ignore = "ten seconds"]
    fn threads_of_two_processes_have_the_allowance_of_one_for_ten_seconds() {
        hammered(Crowd { processes: 2, threads: 64, span: 10 * SECOND, ..FOUR });
    }
}
