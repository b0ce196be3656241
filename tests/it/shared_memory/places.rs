//! Places in one line for all processes.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use proptest::prelude::*;
use tollgate::shared_memory::{Region, SharedBucket};
use tollgate::wait::Booking;
use tollgate::{Bucket, Manual, Quota, quota};
#[cfg(feature = "tokio")]
use tollgate::{Clock, Nanos};

use super::Place;
use super::processes::wait_for;
use crate::oracle::Oracle;
use crate::support::{Admission, MS, S, Scale, at, over_the_bound};

#[derive(Clone, Copy, Debug)]
enum Verb {
    Book(u64),
    Acquire(u64),
    Cancel(usize),
    Pause(u64),
    Resume,
}

fn verbs() -> impl Strategy<Value = Verb> {
    prop_oneof![
        6 => (1..=20_u64).prop_map(Verb::Book),
        3 => (1..=20_u64).prop_map(Verb::Acquire),
        4 => (0..6_usize).prop_map(Verb::Cancel),
        1 => (1..9_000 * MS).prop_map(Verb::Pause),
        1 => Just(Verb::Resume),
    ]
}

fn schedules() -> impl Strategy<Value = Vec<(Verb, u64)>> {
    proptest::collection::vec((verbs(), prop_oneof![Just(0), 0..4_000 * MS]), 1..60)
}

const LONGEST: Duration = Duration::from_secs(60);
/// So many cancelled places are remembered, whatever lies between them.
const ROOM: usize = 8;
const BEGIN: u64 = 1_000 * S;

fn limit() -> Quota {
    quota!("1/s burst 20")
}

/// What is booked and not cancelled, and what was admitted, with the readings at which they start.
struct Line<'a> {
    bucket: &'a SharedBucket,
    booked: Vec<(Booking<&'a SharedBucket>, u64)>,
    admitted: Vec<Admission>,
}

impl Line<'_> {
    fn go(&mut self, verb: Verb, now: u64) {
        match verb {
            Verb::Book(cost) => {
                if let Ok(booking) = self.bucket.book_at(cost, LONGEST, at(now)) {
                    self.booked.push((booking, cost));
                }
            }
            Verb::Acquire(cost) => {
                if self.bucket.try_acquire_n_at(cost, at(now)).is_ok() {
                    self.admitted.push((now, cost));
                }
            }
            Verb::Cancel(which) if which < self.booked.len() => {
                self.booked.swap_remove(which).0.cancel_at(at(now))
            }
            Verb::Cancel(_) => {}
            Verb::Pause(span) => self.bucket.pause_until(at(now + span)),
            Verb::Resume => self.bucket.resume(),
        }
    }

    /// If all that is there were admitted now, and all that was booked starts when it is due.
    fn starts(&self, now: u64) -> Vec<Admission> {
        let there = self.bucket.peek_at(at(now));
        let left = if there.paused_for().is_zero() { there.available() } else { 0 };
        let booked = self.booked.iter().map(|(booking, cost)| (booking.due().as_u64(), *cost));
        self.admitted.iter().copied().chain(booked).chain([(now, left)]).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_due_is_within_the_bound_whoever_cancels(schedule in schedules()) {
        let place = Place::new();
        let bucket = place.bucket(limit());
        bucket.reset_at(at(BEGIN));
        let (model, scale) = (Oracle::new(1, S.into(), 20), Scale::of(1, S, 20));
        let mut line = Line { bucket: &bucket, booked: Vec::new(), admitted: Vec::new() };
        let mut now = BEGIN;
        for (verb, passed) in schedule {
            now += passed;
            line.go(verb, now);
            let over = over_the_bound(&line.starts(now), &model, scale);
            prop_assert!(over.is_none(), "{verb:?} at {now}: {over:?}");
        }
    }

    /// Whoever cancels, as long as what is cancelled has room.
    #[test]
    fn places_are_those_of_a_bucket(schedule in schedules()) {
        let place = Place::new();
        let (shared, own) = (place.bucket(limit()), Bucket::with_clock(limit(), Manual::new()));
        let mut now = BEGIN;
        shared.reset_at(at(now));
        own.reset_at(at(now));
        let (mut open, mut cancelled) = (Vec::new(), 0);
        for (verb, passed) in schedule {
            now += passed;
            let now = at(now);
            match verb {
                Verb::Book(cost) => match (shared.book_at(cost, LONGEST, now), own.book_at(cost, LONGEST, now)) {
                    (Ok(shared), Ok(own)) => {
                        prop_assert_eq!(shared.due(), own.due());
                        open.push((shared, own));
                    }
                    (shared, own) => prop_assert_eq!(shared.err(), own.err()),
                },
                Verb::Acquire(cost) => {
                    prop_assert_eq!(shared.try_acquire_n_at(cost, now), own.try_acquire_n_at(cost, now));
                }
                Verb::Pause(span) => {
                    shared.pause_until(now.saturating_add(at(span)));
                    own.pause_until(now.saturating_add(at(span)));
                }
                Verb::Resume => {
                    shared.resume();
                    own.resume();
                }
                Verb::Cancel(which) if which < open.len() && cancelled < ROOM => {
                    let (of_shared, of_own) = open.swap_remove(which);
                    of_shared.cancel_at(now);
                    of_own.cancel_at(now);
                    cancelled += 1;
                }
                Verb::Cancel(_) => {}
            }
            prop_assert_eq!(shared.peek_at(now), own.peek_at(now), "{:?} at {:?}", verb, now);
        }
    }
}

#[test]
fn places_that_are_all_cancelled_give_everything_back() {
    let place = Place::new();
    let (bucket, other) = (place.bucket(limit()), place.bucket(limit()));
    bucket.reset_at(at(BEGIN));
    let limits = [&bucket, &other, &bucket];
    let booked = limits.map(|limit| limit.book_at(15, LONGEST, at(BEGIN)).unwrap());
    assert_eq!(booked.each_ref().map(|booking| booking.due().as_u64() - BEGIN), [0, 10 * S, 25 * S]);
    let [first, second, third] = booked;
    [second, first, third].into_iter().for_each(|booking| booking.cancel_at(at(BEGIN)));
    assert_eq!(other.peek_at(at(BEGIN)).available(), 20);
}

/// Its return does not wait for who was stopped, and is not lost either.
#[test]
fn a_place_that_is_cancelled_beside_one_that_was_stopped_comes_back_with_the_next() {
    let place = Place::new();
    let bucket = place.bucket(limit());
    bucket.reset_at(at(BEGIN));
    let [first, second] = [15, 20].map(|cost| bucket.book_at(cost, LONGEST, at(BEGIN)).unwrap());
    let stopped = place.locked();
    first.cancel_at(at(BEGIN));
    assert_eq!(bucket.peek_at(at(BEGIN)).debt(), 15, "it was not given back yet");
    drop(stopped);
    second.cancel_at(at(BEGIN));
    assert_eq!(bucket.peek_at(at(BEGIN)).available(), 20);
}

const FOLDER: &str = "TOLLGATE_PLACES_FOLDER";
const NAME: &str = "TOLLGATE_PLACES_NAME";
const TURNS: usize = 15;

fn shared(folder: &Path) -> SharedBucket {
    Region::open(folder.join("limits")).unwrap().bucket("turns", quota!("50/s burst 1")).unwrap()
}

/// It waits for its turns, and writes down when each of them came.
#[test]
#[ignore = "run by the test below, as a process of its own"]
fn waiter() {
    let (Ok(folder), Ok(name)) = (env::var(FOLDER), env::var(NAME)) else { return };
    let bucket = shared(Path::new(&folder));
    let mut turns = File::create(Path::new(&folder).join(&name)).unwrap();
    for _ in 0..TURNS {
        let booking = bucket.book(1, Duration::MAX).unwrap();
        std::thread::sleep(booking.wait());
        // In one write, for a process that is killed leaves whole lines.
        turns.write_all(format!("{}\n", booking.due().as_u64()).as_bytes()).unwrap();
    }
    bucket.acquire_blocking(Duration::MAX).unwrap();
}

fn start(folder: &Path, name: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "shared_memory::places::waiter", "--ignored"]);
    command.env(FOLDER, folder).env(NAME, name).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn processes_wait_in_one_line_and_who_is_killed_holds_up_nobody() {
    let place = Place::new();
    let folder = place.path().parent().unwrap().to_path_buf();
    let mut waiters = ["first", "second", "killed"].map(|name| (name, start(&folder, name)));
    wait_for(|| fs::read(folder.join("killed")).is_ok_and(|turns| !turns.is_empty()));
    waiters[2].1.kill().unwrap();
    let ends = waiters.each_mut().map(|(_, waiter)| waiter.wait().unwrap().success());
    assert_eq!(ends, [true, true, false]);
    let turns = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        text.lines().map(|line| (line.parse().unwrap(), 1)).collect::<Vec<Admission>>()
    };
    let all: Vec<_> = ["first", "second", "killed"].into_iter().flat_map(turns).collect();
    assert!(all.len() > 2 * TURNS);
    assert_eq!(over_the_bound(&all, &Oracle::new(50, S.into(), 1), Scale::of(50, S, 1)), None);
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn who_gives_up_waiting_gives_the_place_back() {
    let place = Place::new();
    let bucket = place.bucket(quota!("100/h burst 10"));
    bucket.acquire_n(10).await.unwrap();
    let before = bucket.peek().time_to_full();
    let given_up = tokio::time::timeout(Duration::from_millis(5), bucket.acquire_n(3)).await;
    assert!(given_up.is_err() && bucket.peek().time_to_full() <= before);
    assert!(bucket.acquire_n(3).within(Duration::from_secs(9)).await.is_err(), "a wait of 108 s");
    bucket.reset();
    assert_eq!(bucket.acquire().await, Ok(()));
    assert!(bucket.clock().now() > Nanos::ZERO);
}
