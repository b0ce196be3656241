//! A bucket whose quota changes.

pub(crate) mod bound;
pub(crate) mod model;
mod rational;
mod stress;
mod walk;

use proptest::prelude::*;
use tollgate::adjust::{Adjustable, Held};
use tollgate::{Bucket, Denied, Limiter, Manual, quota};

use crate::support::{S, at, nanos};

pub(crate) fn helds() -> impl Strategy<Value = Held> {
    prop_oneof![Just(Held::Tokens), Just(Held::Fraction), Just(Held::Deficit)]
}

fn limit(quota: tollgate::Quota) -> Adjustable<Manual> {
    Adjustable::with_clock(quota, Manual::new())
}

#[test]
fn it_starts_as_the_quota_says_and_later_fills_are_ignored() {
    let limit = limit(quota!("10/s burst 20 holding 3"));
    assert_eq!(limit.peek().available(), 3);
    limit.adjust(quota!("20/s burst 20 empty"), Held::Tokens);
    assert_eq!(limit.peek().available(), 3);
    let before = limit.quota();
    limit.adjust(quota!("20/s burst 20"), Held::Fraction);
    assert_eq!((limit.quota(), limit.peek().available()), (before, 3), "rate and capacity are the same");
}

/// Time before the change counts at the old rate, time after it at the new one, and a wait spans no change.
#[test]
fn each_time_counts_at_its_rate() {
    let limit = limit(quota!("10/s burst 100"));
    limit.charge_at(100, at(0));
    limit.adjust_at(quota!("1/s burst 100"), Held::Tokens, at(2 * S));
    assert_eq!(limit.peek_at(at(2 * S)).available(), 20);
    assert_eq!(limit.peek_at(at(5 * S)).available(), 23);
    limit.adjust_at(quota!("50/s burst 100"), Held::Tokens, at(5 * S));
    assert_eq!(limit.peek_at(at(6 * S)).available(), 73);
}

#[test]
fn a_pause_stays_and_ends_when_it_should() {
    let limit = limit(quota!("10/s"));
    limit.pause_until(at(3 * S));
    limit.adjust_at(quota!("20/s"), Held::Tokens, at(S));
    assert_eq!(limit.peek_at(at(S)).paused_for(), nanos(2 * S));
    assert!(limit.try_acquire_at(at(3 * S - 1)).is_err());
    assert_eq!(limit.acquire_up_to_at(5, at(2 * S)), 0);
    limit.resume();
    limit.adjust_at(quota!("30/s"), Held::Tokens, at(2 * S));
    assert_eq!(limit.try_acquire_at(at(2 * S)), Ok(()));
    limit.pause_for(nanos(9 * S));
    limit.adjust_at(quota!("10/s"), Held::Tokens, at(4 * S));
    limit.adjust_at(quota!("20/s"), Held::Tokens, at(4 * S));
    assert_eq!(
        limit.peek_at(at(4 * S)).paused_for(),
        nanos(5 * S),
        "also by a cell that was in force before"
    );
}

/// The example that would break the bound: what the old rate brought between the two readings must not be there at the
/// older one, and the new rate is too slow to take it away again.
#[test]
fn a_reading_from_before_the_change_is_refused_until_the_change() {
    let limit = limit(quota!("1000/s burst 10"));
    assert_eq!(limit.try_acquire_n_at(10, at(0)), Ok(()));
    limit.adjust_at(quota!("1/s burst 10"), Held::Tokens, at(S / 100));
    match limit.try_acquire_at(at(1)) {
        Err(Denied::NotYet(not_yet)) => assert_eq!(not_yet.ready_at(), at(S / 100)),
        other => panic!("{other:?}"),
    }
    assert_eq!(limit.acquire_up_to_at(10, at(S / 100 - 1)), 0);
    limit.resume();
    assert_eq!(limit.acquire_up_to_at(10, at(S / 100 - 1)), 0, "that is no pause which could be ended");
    assert_eq!(limit.try_acquire_n_at(10, at(S / 100)), Ok(()));
}

#[test]
fn an_older_change_counts_from_the_last_one() {
    let limit = limit(quota!("10/s burst 10"));
    limit.charge_at(10, at(0));
    limit.adjust_at(quota!("1/s burst 10"), Held::Tokens, at(S));
    limit.adjust_at(quota!("5/s burst 10"), Held::Tokens, at(0));
    assert_eq!(limit.try_acquire_at(at(S - 1)).unwrap_err().wait(), Some(nanos(1)));
    assert_eq!(limit.peek_at(at(S)).available(), 10);
}

#[test]
fn debts_are_kept_as_tokens() {
    for (held, debt) in [(Held::Tokens, 30), (Held::Fraction, 30), (Held::Deficit, 80)] {
        let limit = limit(quota!("10/s burst 100"));
        limit.charge(130);
        limit.adjust(quota!("7/min burst 50"), held);
        assert_eq!((limit.peek().debt(), limit.peek().available()), (debt, 0), "{held:?}");
    }
}

#[test]
fn the_largest_debt_stays_one() {
    for held in [Held::Tokens, Held::Fraction, Held::Deficit] {
        let limit = limit(quota!("10/s"));
        limit.charge(u64::MAX);
        for quota in [quota!("1/day"), quota!("1000000000/s burst 1"), quota!("10/s")] {
            limit.adjust(quota, held);
            assert!(limit.peek().debt() > 0, "{held:?}, {quota}");
            limit.charge(u64::MAX);
            assert!(limit.try_acquire().is_err());
        }
        limit.refund(u64::MAX);
        assert_eq!(limit.peek().available(), 10, "{held:?}");
    }
}

#[test]
fn past_the_last_reading_everything_is_refused() {
    let limit = limit(quota!("10/s"));
    limit.clock().set(tollgate::Nanos::MAX);
    limit.adjust(quota!("20/s"), Held::Tokens);
    assert_eq!(limit.try_acquire().unwrap_err().wait(), Some(tollgate::Nanos::MAX.as_duration()));
    assert_eq!(limit.acquire_up_to(3), 0);
    limit.charge(1);
    limit.refund(1);
}

/// Also beyond the number of cells that are kept, and back.
#[test]
fn any_number_of_different_quotas_is_exact() {
    let limit = limit(quota!("1/s burst 1000"));
    limit.charge(400);
    let of = |step: u64| tollgate::Quota::with_burst(step % 700 + 1, nanos(S), 1000).unwrap();
    for step in 0..2100 {
        limit.adjust(of(step), Held::Deficit);
        assert_eq!((limit.quota(), limit.peek().available()), (of(step), 600 - step / 7), "step {step}");
        if step % 7 == 6 {
            assert_eq!(limit.try_acquire_n(601 - step / 7).err().map(|_| ()), Some(()));
            assert_eq!(limit.try_acquire(), Ok(()));
            limit.charge(2);
            limit.refund(3);
            assert_eq!(limit.acquire_up_to(1), 1);
        }
    }
}

#[test]
fn a_clock_that_panics_changes_nothing() {
    struct Broken(std::cell::Cell<bool>);
    impl tollgate::Clock for Broken {
        fn now(&self) -> tollgate::Nanos {
            assert!(!self.0.get(), "out of order");
            at(0)
        }
    }
    let limit = Adjustable::with_clock(quota!("10/s"), Broken(false.into()));
    limit.clock().0.set(true);
    let change = || limit.adjust(quota!("20/s"), Held::Tokens);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(change)).is_err());
    limit.clock().0.set(false);
    assert_eq!((limit.try_acquire_n(10), limit.quota()), (Ok(()), quota!("10/s")));
    limit.adjust(quota!("20/s"), Held::Deficit);
    assert_eq!(limit.peek().available(), 10);
}

#[test]
fn it_is_a_limiter_and_shows_what_it_holds() {
    fn take(limiter: &impl Limiter, cost: u64) -> bool {
        limiter.try_acquire_n(cost).is_ok() && limiter.try_acquire().is_ok()
    }
    let (limit, bucket) = (limit(quota!("10/s")), Bucket::with_clock(quota!("10/s"), Manual::new()));
    assert!(take(&limit, 3) && take(&bucket, 3));
    let fixed = format!("{bucket:?}").replace("Bucket", "Adjustable");
    assert_eq!(format!("{limit:?}"), fixed);
    assert_eq!(limit.try_acquire_n(0), Err(Denied::ZeroCost));
    assert_eq!(Adjustable::new(quota!("1/s")).try_acquire(), Ok(()));
}
