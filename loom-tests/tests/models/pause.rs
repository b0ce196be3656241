//! Pauses: authoritative for every call that happens after them.

use std::collections::BTreeSet;

use tollgate::Clock;
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{Bucket, at, bucket, explore, leak, missing, race2, race3, wait};

/// Readings of a pause's end.
fn paused_until(bucket: &Bucket) -> u64 {
    let paused_for = bucket.peek_at(at(0)).paused_for();
    at(0).saturating_add(paused_for.into()).as_u64()
}

/// The pause is published by the caller's own flag, the bucket's word is not involved.
#[test]
fn a_call_that_happens_after_obeys() {
    let outcomes = explore("pause_obeyed_after", || {
        let (bucket, paused) = (bucket(1), leak(AtomicBool::new(false)));
        let pause = move || {
            bucket.pause_until(at(10));
            paused.store(true, Ordering::Release);
        };
        let ask = move || {
            let paused = paused.load(Ordering::Acquire);
            (paused, wait(bucket.try_acquire_at(at(3))))
        };
        let ((), asked) = race2(pause, ask);
        (asked, missing(bucket, 3))
    });
    let all = [((true, Some(7)), 0), ((false, Some(7)), 0), ((false, None), 1)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// All calls that admit obey it, debts and refunds do not.
#[test]
fn parts_and_charges_obey_too() {
    let outcomes = explore("pause_obeyed_by_all_that_admit", || {
        let (bucket, paused) = (bucket(4), leak(AtomicBool::new(false)));
        let pause = move || {
            bucket.pause_until(at(10));
            paused.store(true, Ordering::Release);
        };
        let ask = move || {
            if !paused.load(Ordering::Acquire) {
                return None;
            }
            let charged = bucket.try_charge_at(1, at(9)).is_ok();
            bucket.charge_at(3, at(9));
            bucket.refund_at(1, at(9));
            Some((charged, bucket.acquire_up_to_at(4, at(9)), bucket.acquire_up_to_at(4, at(10))))
        };
        race2(pause, ask).1
    });
    assert_eq!(outcomes, BTreeSet::from([None, Some((false, 0, 3))]));
}

#[test]
fn the_longer_of_two_wins() {
    let outcomes = explore("pause_longer_wins", || {
        let bucket = bucket(1);
        let pause = move |until| move || bucket.pause_until(at(until));
        race2(pause(10), pause(20));
        paused_until(bucket)
    });
    assert_eq!(outcomes, BTreeSet::from([20]));
}

#[test]
fn nothing_but_resume_ends_it() {
    let outcomes = explore("pause_nothing_else_ends_it", || {
        let bucket = bucket(2);
        assert!(bucket.try_acquire_at(at(0)).is_ok());
        let pause = move || bucket.pause_until(at(10));
        let refund = move || bucket.refund_at(1, at(0));
        race3(pause, refund, move || bucket.reset_at(at(0)));
        (paused_until(bucket), missing(bucket, 0), wait(bucket.try_acquire_at(at(9))))
    });
    assert_eq!(outcomes, BTreeSet::from([(10, 0, Some(1))]));
}

#[test]
fn a_call_that_happens_after_resume_is_free() {
    let outcomes = explore("pause_resume_frees_after", || {
        let (bucket, resumed) = (bucket(1), leak(AtomicBool::new(false)));
        bucket.pause_until(at(10));
        let resume = move || {
            bucket.resume();
            resumed.store(true, Ordering::Release);
        };
        let ask = move || {
            let resumed = resumed.load(Ordering::Acquire);
            (resumed, wait(bucket.try_acquire_at(at(3))))
        };
        race2(resume, ask).1
    });
    assert_eq!(outcomes, BTreeSet::from([(true, None), (false, None), (false, Some(7))]));
}

/// A pause relative to a clock that moves: it ends no earlier than the reading it was made with says.
#[test]
fn a_span_from_now_while_the_clock_moves() {
    let outcomes = explore("pause_for_while_clock_moves", || {
        let bucket = bucket(1);
        let pause = move || bucket.pause_for(at(10).as_duration());
        let ask = move || {
            bucket.clock().set(at(12));
            bucket.try_acquire().is_ok()
        };
        let ((), admitted) = race2(pause, ask);
        assert_eq!(bucket.clock().now(), at(12));
        (admitted, paused_until(bucket))
    });
    // A pause made at 0 is over at 12. One made at 12 may come before or after the call.
    assert_eq!(outcomes, BTreeSet::from([(true, 10), (true, 22), (false, 22)]));
}
