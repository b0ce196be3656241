//! A process that forks, and goes on with what it has.

#![allow(unsafe_code, reason = "fork is unsafe in a process with threads, for what they hold")]

use std::cell::Cell;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use tollgate::quota;

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
