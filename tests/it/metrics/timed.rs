//! Times and outcomes.

use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate::Manual;
use tollgate::metrics::{Outcome, Waited};

use super::support::Recorded;

const MS: Duration = Duration::from_millis(1);

fn sums(recorded: &Recorded, metric: &str, outcome: &str) -> [f64; 2] {
    ["count", "sum"].map(|part| {
        recorded.value(&format!("tollgate_{metric}_{part}{{limit=\"far\",outcome=\"{outcome}\"}}"))
    })
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_call_is_measured_from_its_permit_to_its_end() {
    let (recorded, clock) = (Recorded::new(), Arc::new(Manual::new()));
    let calls = recorded.take(|meters| meters.calls_with_clock("far", Arc::clone(&clock)));
    for (turn, outcome) in (1..).zip([Outcome::Succeeded, Outcome::Failed, Outcome::Refused]) {
        let call = calls.start("held");
        assert_eq!(recorded.values("far", ["downstream_in_flight"]), [1.0]);
        clock.advance(250 * turn * MS);
        assert_eq!(call.end(outcome), "held");
        assert_eq!(sums(&recorded, "downstream_seconds", outcome.label()), [1.0, 0.25 * f64::from(turn)]);
    }
    let mut told = calls.start(());
    told.tell(Outcome::Failed);
    drop(told);
    assert_eq!(sums(&recorded, "downstream_seconds", "failed"), [2.0, 0.5]);
    drop(calls.start(()));
    assert_eq!(sums(&recorded, "downstream_seconds", "dropped"), [1.0, 0.0]);
    let panics = || {
        let _call = calls.start(());
        panic!("on purpose");
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(sums(&recorded, "downstream_seconds", "panicked"), [1.0, 0.0]);
    assert_eq!(recorded.values("far", ["downstream_in_flight"]), [0.0]);
}

/// A time is in the bucket that it belongs to.
#[test]
fn a_time_is_in_its_bucket() {
    let (recorded, clock) = (Recorded::new(), Arc::new(Manual::new()));
    let calls = recorded.take(|meters| meters.calls_with_clock("far", Arc::clone(&clock)));
    let call = calls.start(());
    clock.advance(30 * MS);
    call.end(Outcome::Succeeded);
    let upto = |bound: &str| {
        recorded.value(&format!(
            "tollgate_downstream_seconds_bucket{{limit=\"far\",outcome=\"succeeded\",le=\"{bound}\"}}"
        ))
    };
    assert_eq!([upto("0.025"), upto("0.05"), upto("+Inf")], [0.0, 1.0, 1.0]);
}

#[test]
fn a_wait_is_measured_until_the_answer() {
    let (recorded, clock) = (Recorded::new(), Arc::new(Manual::new()));
    let waits = recorded.take(|meters| meters.waits_with_clock("far", Arc::clone(&clock)));
    let mut polls = 0;
    let mut admitted = pin!(waits.time(poll_fn(|_| {
        polls += 1;
        if polls < 3 { Poll::Pending } else { Poll::Ready(Ok::<_, ()>("in")) }
    })));
    clock.advance(5000 * MS);
    for waiting in [1.0, 1.0] {
        assert!(poll(admitted.as_mut()).is_pending());
        clock.advance(125 * MS);
        assert_eq!(recorded.values("far", ["waiting"]), [waiting]);
    }
    assert_eq!(poll(admitted.as_mut()), Poll::Ready(Ok("in")));
    assert_eq!(sums(&recorded, "wait_seconds", "admitted"), [1.0, 0.25], "from the first poll");

    assert_eq!(poll(pin!(waits.time(ready(Err::<(), _>("out"))))), Poll::Ready(Err("out")));
    assert_eq!(sums(&recorded, "wait_seconds", "refused"), [1.0, 0.0]);
    {
        let mut abandoned = Box::pin(waits.time(pending::<Result<(), ()>>()));
        assert!(poll(abandoned.as_mut()).is_pending());
        clock.advance(500 * MS);
    }
    assert_eq!(sums(&recorded, "wait_seconds", Waited::Abandoned.label()), [1.0, 0.5]);
    assert_eq!(recorded.values("far", ["waiting"]), [0.0]);
}
