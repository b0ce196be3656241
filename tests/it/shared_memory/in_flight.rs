//! Permits of all processes: never too many, and none lost with a process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use std::{env, thread};

use tollgate::quota;
use tollgate::shared_memory::{NoSharedPermit, Region, SharedError, SharedInFlight, SharedPermit};

use super::Place;

fn permits(place: &Place, limit: u32) -> SharedInFlight {
    place.open().in_flight("renders", limit).unwrap()
}

#[test]
fn all_who_open_permits_by_their_name_share_one_limit() {
    let place = Place::new();
    let (first, second) = (permits(&place, 4), permits(&place, 4));
    let three = first.try_acquire_n(3).unwrap();
    assert_eq!((second.in_use(), second.limit()), (3, 4));
    assert_eq!(second.try_acquire_n(2).unwrap_err(), NoSharedPermit::Busy { in_use: 3, limit: 4 });
    let one = second.try_acquire().unwrap();
    assert_eq!(first.try_acquire().unwrap_err().to_string(), "4 of 4 permits are held");
    drop(three);
    assert!(second.try_acquire_n(3).is_ok());
    drop(one);
    assert_eq!(first.in_use(), 0);
    assert_eq!(first.try_acquire_n(0).unwrap_err(), NoSharedPermit::ZeroWeight);
    assert_eq!(first.try_acquire_n(5).unwrap_err(), NoSharedPermit::OverLimit { weight: 5, limit: 4 });
}

#[test]
fn a_changed_limit_holds_for_all_and_takes_nothing_back() {
    let place = Place::new();
    let (first, second) = (permits(&place, 4), permits(&place, 4));
    let held: Vec<SharedPermit> = (0..4).map(|_| first.try_acquire().unwrap()).collect();
    second.set_limit(2);
    assert_eq!((first.limit(), first.in_use()), (2, 4));
    drop(held);
    assert!(first.try_acquire_n(2).is_ok() && first.try_acquire_n(3).is_err());
    first.set_limit(0);
    assert_eq!(second.limit(), 1);
    first.set_limit(u32::MAX);
    assert_eq!(second.limit(), 1 << 24);
    assert!(place.open().in_flight("renders", 4).is_ok(), "they are still those that were made");
}

#[test]
fn other_permits_and_other_things_are_refused() {
    let place = Place::new();
    let _permits = permits(&place, 4);
    let error = |limit: u32| place.open().in_flight("renders", limit).unwrap_err().to_string();
    assert_eq!(error(5), "\"renders\" is there with 4 permits, not 5");
    for limit in [0, (1 << 24) + 1] {
        assert_eq!(error(limit), format!("limit: {limit} is not in 1..=16777216"));
    }
    let kind = place.open().bucket("renders", quota!("1/s")).unwrap_err();
    assert_eq!(kind.to_string(), "\"renders\" is there as something else");
    place.open().bucket("requests", quota!("1/s")).unwrap();
    assert!(matches!(place.open().in_flight("requests", 1), Err(SharedError::OtherKind { .. })));
}

#[test]
fn as_many_members_as_there_are_places() {
    let place = Place::new();
    let mut members: Vec<SharedInFlight> = (0..64).map(|_| permits(&place, 100)).collect();
    let held: Vec<SharedPermit> = members.iter().map(|member| member.try_acquire().unwrap()).collect();
    let error = place.open().in_flight("renders", 100).unwrap_err();
    assert_eq!(error.to_string(), "64 processes hold permits, and no more can");
    members.remove(7);
    assert!(place.open().in_flight("renders", 100).is_err(), "its permit keeps it a member");
    drop(held);
    assert_eq!(permits(&place, 100).in_use(), 0);
}

const FOLDER: &str = "TOLLGATE_SHARED_FOLDER";

/// Takes three permits, says so, and waits to be killed.
#[test]
#[ignore = "run by the test below, as a process of its own"]
fn holder() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let region = Region::open(std::path::Path::new(&folder).join("limits")).unwrap();
    let permits = region.in_flight("renders", 4).unwrap();
    let _three = permits.try_acquire_n(3).unwrap();
    println!("held");
    thread::sleep(Duration::from_secs(60));
}

fn within_a_minute(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn what_a_killed_process_held_comes_back() {
    let place = Place::new();
    let ours = permits(&place, 4);
    let own = ours.try_acquire().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "shared_memory::in_flight::holder", "--ignored", "--nocapture"]);
    let mut holder =
        command.env(FOLDER, place.path().parent().unwrap()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("held")));
    for _ in 0..5 {
        assert!(ours.try_acquire().is_err(), "it lives");
        thread::sleep(Duration::from_millis(11));
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(within_a_minute(|| ours.try_acquire_n(3).is_ok()));
    assert!(ours.try_acquire_n(4).is_err(), "what the living hold stays");
    drop(own);
    assert_eq!(ours.in_use(), 0);
}

mod stress {
    use super::*;

    /// Threads of several members: what all hold, counted by themselves, is never more than the limit.
    #[test]
    fn never_more_than_the_limit_is_held() {
        [1, 2, 5].into_iter().for_each(never_more_than);
    }

    fn never_more_than(limit: u32) {
        let (place, held, most) = (Place::new(), AtomicU64::new(0), AtomicU64::new(0));
        let members: Vec<SharedInFlight> = (0..3).map(|_| permits(&place, limit)).collect();
        let taken = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..6_u32 {
                let (member, held, most, taken) = (&members[thread as usize % 3], &held, &most, &taken);
                scope.spawn(move || {
                    for turn in 0..20_000_u32 {
                        let weight = 1 + (turn + thread) % limit.div_ceil(2);
                        if let Ok(permit) = member.try_acquire_n(weight) {
                            let now = held.fetch_add(weight.into(), SeqCst) + u64::from(weight);
                            most.fetch_max(now, SeqCst);
                            taken.fetch_add(1, SeqCst);
                            held.fetch_sub(weight.into(), SeqCst);
                            drop(permit);
                        }
                    }
                });
            }
        });
        assert!(most.into_inner() <= limit.into());
        assert!(taken.into_inner() > 1_000, "something was held");
        assert_eq!(members[0].in_use(), 0);
    }
}
