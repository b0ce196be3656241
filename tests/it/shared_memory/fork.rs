//! A process that forks, and goes on with what it has.

#![allow(unsafe_code, reason = "fork is unsafe in a process with threads, for what they hold")]

use std::cell::Cell;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use tollgate::quota;
use tollgate::shared_memory::{Region, SharedCharge};

use super::Place;

/// Runs it in a child; tells the child's exit code.
fn in_a_child(act: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child goes on with this thread alone. Of what other threads may hold it needs the allocator, which glibc keeps
    // whole over a fork, and the limits, which no other thread of this test has. It ends without unwinding or exit handlers.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let code = act();
            // SAFETY: it ends the process, and has no conditions.
            unsafe { nix::libc::_exit(code) }
        }
        ForkResult::Parent { child } => match waitpid(child, None).unwrap() {
            WaitStatus::Exited(_, code) => code,
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn a_forked_child_goes_on_with_the_bucket_of_its_parent() {
    let place = Place::new();
    let bucket = place.bucket(quota!("1/h burst 5"));
    assert_eq!(bucket.try_acquire(), Ok(()));
    assert_eq!(in_a_child(|| bucket.acquire_up_to(3) as i32), 3);
    assert_eq!(bucket.peek().available(), 1);
}

#[test]
fn a_forked_child_undoes_what_its_parent_has_charged_or_itself() {
    let place = Place::new();
    let bucket = place.bucket(quota!("1/h burst 5"));
    let parents = Cell::new(bucket.try_charge(2).ok());
    let code = in_a_child(|| {
        parents.take().into_iter().for_each(SharedCharge::undo);
        bucket.charge(3).undo();
        bucket.peek().available() as i32
    });
    assert_eq!(code, 5);
}

/// Locks of a file are by the open file, and a child has its parent's: without one of its own it would be alone beside it.
#[test]
fn a_forked_child_and_its_parent_make_buckets_beside_each_other() {
    const EACH: usize = 400;
    let place = Place::new();
    let region = Region::options().slots(2 * EACH as u64 + 1).open(place.path()).unwrap();
    let gate = region.bucket("gate", quota!("1/day burst 2")).unwrap();
    let make = |whose: &str| {
        gate.charge(1);
        while gate.peek().available() > 0 {
            std::hint::spin_loop();
        }
        let made = (0..EACH).map(|at| region.bucket(&format!("{whose} {at}"), quota!("1/h")));
        made.filter(Result::is_ok).count()
    };
    // SAFETY: as in `in_a_child`.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let code = i32::from(make("child") == EACH);
            // SAFETY: it ends the process, and has no conditions.
            unsafe { nix::libc::_exit(code) }
        }
        ForkResult::Parent { child } => {
            let made = make("parent");
            assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 1)));
            assert_eq!((made, region.slots()), (EACH, (2 * EACH + 1, 2 * EACH + 1)));
        }
    }
}

#[test]
fn a_forked_child_has_permits_of_its_own() {
    let place = Place::new();
    let permits = place.open().in_flight("renders", 5).unwrap();
    let parents = Cell::new(permits.try_acquire_n(2).ok());
    let code = in_a_child(|| {
        // The copy of the parent's permit is none.
        drop(parents.take());
        let three = permits.try_acquire_n(3);
        let is_full = three.is_ok() && permits.try_acquire().is_err();
        // It ends with three permits in its hands.
        std::mem::forget(three);
        i32::from(is_full)
    });
    assert_eq!(code, 1);
    std::thread::sleep(std::time::Duration::from_millis(11));
    assert!(permits.try_acquire_n(3).is_ok(), "what the child had comes back");
    assert!(permits.try_acquire_n(4).is_err(), "what the parent has does not");
    assert!(parents.take().is_some());
}
