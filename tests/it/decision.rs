//! `Denied` and `NotYet`: what a refusal tells.

use std::error::Error;
use std::time::Duration;

use tollgate::{Denied, NotYet};

use crate::support::{MS, S, at, bucket, nanos, quota};

/// A refusal at reading 0 with this wait.
fn waiting(wait: u64) -> NotYet {
    let limit = bucket(quota(1, S, 1));
    limit.pause_until(at(wait));
    match limit.try_acquire() {
        Err(Denied::NotYet(not_yet)) => not_yet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wait_is_exact_and_a_retry_after_is_whole_seconds_rounded_up() {
    let cases = [(1, 1), (MS, 1), (200 * MS, 1), (S, 1), (S + 1, 2), (59_880_239_521, 60), (600 * S, 600)];
    for (wait, seconds) in cases {
        let not_yet = waiting(wait);
        assert_eq!(not_yet.wait(), nanos(wait));
        assert_eq!(not_yet.retry_after(), Duration::from_secs(seconds), "{wait} ns");
        assert_eq!(not_yet.ready_at(), at(wait));
        let refusal = Denied::NotYet(not_yet);
        assert_eq!(
            (refusal.wait(), refusal.retry_after()),
            (Some(nanos(wait)), Some(Duration::from_secs(seconds)))
        );
    }
    assert_eq!(waiting(u64::MAX).retry_after(), Duration::from_secs(18_446_744_074));
}

#[test]
fn waiting_the_whole_seconds_is_enough() {
    for (tokens, period) in [(1, S), (3, 2 * S), (1000, S), (7, 3600 * S), (167, 10_000 * S)] {
        let limit = bucket(quota(tokens, period, 5));
        limit.drain();
        for cost in 1..=5 {
            let refusal = limit.try_acquire_n(cost).unwrap_err();
            let ready = refusal.retry_after().unwrap().into();
            assert_eq!(
                limit.peek_at(ready).wait_for(cost),
                Ok(Duration::ZERO),
                "{cost} of {tokens} in {period} ns"
            );
        }
    }
}

#[test]
fn what_is_never_admitted_has_no_wait() {
    for refusal in [Denied::ZeroCost, Denied::OverCapacity { cost: 9, capacity: 3 }] {
        assert_eq!((refusal.wait(), refusal.retry_after()), (None, None));
    }
}

#[test]
fn a_refusal_is_a_copyable_error_with_a_message() {
    fn assert_error<T: Error + Copy + Send + Sync + 'static>(_: T) {}
    assert_error(Denied::ZeroCost);
    assert_error(waiting(1));
    assert_eq!(Denied::NotYet(waiting(1_500_000_000)).to_string(), "not yet: try again in 1.5s");
    let never = Denied::OverCapacity { cost: 9, capacity: 3 }.to_string();
    assert!(never.contains('9') && never.contains('3') && never.contains("never"), "{never}");
    let zero = Denied::ZeroCost.to_string();
    assert!(zero.contains('0') && zero.contains("at least 1"), "{zero}");
    let debug = format!("{:?}", waiting(7));
    assert!(debug.contains("wait: 7ns") && debug.contains("ready_at: 7ns"), "{debug}");
}
