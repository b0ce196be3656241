//! A supply by itself, without a store.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use super::super::Leased;
use super::*;
use crate::quota;

fn lease() -> (Leased<()>, Supply<()>) {
    let plan = LeasePlan::with_ceiling(&quota!("1/h burst 100"), 4, 16).unwrap().with_threads(0);
    Leased::builder((), "limits", plan).build().unwrap()
}

#[test]
fn the_end_of_a_pause_does_not_end_that_of_a_limit_that_is_being_closed() {
    let (limit, mut supply) = lease();
    limit.pot.put(5);
    supply.pause(Nanos::new(1));
    limit.pot.line().close();
    supply.resume();
    assert!(limit.try_acquire().is_err());
}

/// Otherwise a pause of the key could end in between, and that of the limit with it.
#[test]
fn a_limit_that_is_closed_is_so_before_it_is_paused() {
    let (limit, supply) = lease();
    let (clone, begun) = (limit.clone(), AtomicBool::new(false));
    let is_paused = || !clone.sharded.peek().paused_for().is_zero();
    thread::scope(|scope| {
        let line = supply.pot.line();
        scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            let closed = pin!(limit.close()).poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(closed, Poll::Ready(Ok(0))), "nobody draws for it");
        });
        while !begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(50) && !is_paused() {
            thread::yield_now();
        }
        assert!(!line.is_closed() && !is_paused());
        drop(line);
    });
    assert!(is_paused());
}

#[test]
fn a_limit_that_is_open_goes_on_after_a_pause() {
    let (limit, mut supply) = lease();
    limit.pot.put(5);
    supply.pause(Nanos::new(1));
    assert!(limit.try_acquire().is_err());
    supply.resume_when_due();
    assert!(limit.try_acquire().is_ok());
    drop(supply);
    assert!(limit.try_acquire().is_err(), "what draws for it has gone");
}

/// When it goes it closes the line, which must not be held any more by then.
#[test]
fn the_last_handle_may_go_while_a_pause_ends() {
    let (limit, supply) = lease();
    supply.pauser.resume_with(|| {
        drop(limit);
        supply.pot.open_line()
    });
    assert!(supply.pot.is_closed());
}
