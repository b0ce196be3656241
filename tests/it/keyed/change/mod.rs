//! Quotas of classes that change while their keys are in use.

mod schedules;
mod stress;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate::adjust::Held;
use tollgate::keyed::{Keyed, KeyedError, Overflow};
use tollgate::{Clock, Denied, Manual, Nanos, quota};

use super::keyed;
use crate::support::{DAY, S, at, nanos, quota as quota_of, wait_of};

const HELD: [Held; 3] = [Held::Tokens, Held::Fraction, Held::Deficit];

/// Tokens that a key's bucket holds, less its debt.
fn there<C: Clock>(limit: &Keyed<u64, C>, key: u64) -> Option<i64> {
    limit.peek(&key).map(|level| level.available() as i64 - level.debt() as i64)
}

#[test]
fn each_choice_does_to_a_key_what_it_says() {
    for (held, kept, owed) in [(Held::Tokens, 40, -30), (Held::Fraction, 20, -30), (Held::Deficit, -10, -80)]
    {
        let limit = keyed(quota!("10/s burst 100"), 100, Overflow::Refuse);
        assert_eq!(limit.try_acquire_n(&1, 60), Ok(()));
        limit.charge(&2, 130);
        assert_eq!(limit.adjust(0, quota!("7/min burst 50"), held), Ok(()));
        assert_eq!((there(&limit, 1), there(&limit, 2)), (Some(kept), Some(owed)), "{held:?}");
        assert_eq!(limit.quota(0), Some(quota!("7/min burst 50")));
        assert_eq!(limit.try_acquire_n(&3, 50), Ok(()), "a full one is full");
        assert!(limit.try_acquire(&3).is_err());
    }
}

/// A key that nobody knows counts as a full bucket, and a full bucket of 10 that keeps its tokens holds 10 of 100.
#[test]
fn a_key_that_is_not_known_changes_as_a_full_one() {
    for held in HELD {
        let limit = keyed(quota!("10/s burst 10"), 100, Overflow::Refuse);
        assert_eq!(limit.try_acquire(&1), Ok(()));
        limit.refund(&1, 1);
        limit.adjust(0, quota!("1/s burst 100"), held).unwrap();
        let (full, wait) = if held == Held::Tokens { (10, 90 * S) } else { (100, 0) };
        assert_eq!(there(&limit, 1), Some(full), "{held:?}");
        assert_eq!(limit.try_acquire_n(&2, 100).map_or_else(wait_of, |()| 0), wait, "{held:?}");
        assert_eq!(limit.sweep_at(at(90 * S - 1)), usize::from(held != Held::Tokens), "{held:?}");
        limit.clock().set(at(90 * S - 1));
        assert_eq!(there(&limit, 1), (held == Held::Tokens).then_some(99));
        assert_eq!(limit.try_acquire_n_at(&3, 100, at(90 * S)), Ok(()), "{held:?}");
    }
}

/// If it were forgotten sooner, it would lose what it has been given.
#[test]
fn a_full_key_is_kept_while_a_new_one_would_not_be_full() {
    let limit = keyed(quota!("10/s burst 10"), 100, Overflow::Refuse);
    assert_eq!(limit.try_acquire(&1), Ok(()));
    limit.adjust(0, quota!("1/s burst 100"), Held::Tokens).unwrap();
    limit.refund(&1, 100);
    assert_eq!([0, S, 90 * S - 1].map(|now| limit.sweep_at(at(now))), [0; 3]);
    assert_eq!((there(&limit, 1), limit.sweep_at(at(90 * S)), there(&limit, 1)), (Some(100), 1, None));
}

/// The example that would break the bound, for a key that is known, one that was swept, and one that is new.
#[test]
fn a_reading_from_before_the_change_is_refused_until_the_change() {
    let limit = keyed(quota!("1000/s burst 10"), 100, Overflow::Refuse);
    assert!([1, 2].into_iter().all(|key| limit.try_acquire_n(&key, 10).is_ok()));
    limit.clock().set(at(S / 100));
    limit.adjust(0, quota!("1/s burst 10"), Held::Tokens).unwrap();
    for key in [1, 2, 3] {
        if key == 2 {
            assert_eq!(limit.sweep(), 1);
        }
        let is_refused = |now| match limit.try_acquire_at(&key, at(now)) {
            Err(Denied::NotYet(not_yet)) => not_yet.ready_at() == at(S / 100),
            _ => false,
        };
        assert!(is_refused(1) && is_refused(S / 100 - 1), "key {key}");
        limit.resume(&key);
        assert!(is_refused(S / 100 - 1), "that is no pause which could be ended");
        assert_eq!(limit.try_acquire_n_at(&key, 10, at(S / 100)), Ok(()), "key {key}");
    }
}

#[test]
fn a_pause_stays_and_ends_when_it_should() {
    let limit = keyed(quota!("10/s"), 100, Overflow::Refuse);
    assert!(limit.pause_until(&1, at(3 * S)));
    limit.adjust_at(0, quota!("20/s"), Held::Tokens, at(S)).unwrap();
    assert_eq!(limit.try_acquire_at(&1, at(2 * S)).map_err(wait_of), Err(S));
    assert_eq!(limit.sweep_at(at(3 * S - 1)), 0);
    limit.resume(&1);
    assert_eq!(limit.try_acquire_n_at(&1, 20, at(2 * S)), Ok(()));
}

#[test]
fn an_older_change_counts_from_the_last_one() {
    let limit = keyed(quota!("10/s burst 10"), 100, Overflow::Refuse);
    limit.charge_at(&1, 10, at(0));
    limit.adjust_at(0, quota!("1/s burst 10"), Held::Tokens, at(S)).unwrap();
    limit.adjust_at(0, quota!("5/s burst 10"), Held::Tokens, at(0)).unwrap();
    assert_eq!(limit.try_acquire_at(&1, at(S - 1)).map_err(wait_of), Err(1));
    assert_eq!(limit.try_acquire_n_at(&1, 10, at(S)), Ok(()));
}

#[test]
fn the_same_again_changes_nothing() {
    for held in HELD {
        let limit = keyed(quota!("100/s burst 100"), 100, Overflow::Refuse);
        assert_eq!(limit.try_acquire_n(&1, 60), Ok(()));
        limit.clock().set(at(S / 10));
        for _ in 0..100 {
            limit.adjust(0, quota!("6000/min burst 100"), held).unwrap();
        }
        assert_eq!((there(&limit, 1), limit.quota(0)), (Some(50), Some(quota!("100/s burst 100"))));
        assert_eq!(limit.try_acquire_n_at(&1, 40, at(0)), Ok(()), "not even the reading is taken");
    }
}

#[test]
fn a_class_changes_and_the_others_do_not() {
    let builder =
        Keyed::builder(quota!("1/s burst 10")).class(quota!("1/s burst 20")).class(quota!("1/s burst 30"));
    let limit = builder.class_of(|key: &u64| *key as usize).clock(Manual::new()).build().unwrap();
    assert!((0..3).all(|key| limit.try_acquire_n(&key, 5).is_ok()));
    limit.clock().set(at(S));
    for (class, quota) in [(1, quota!("2/s burst 40")), (2, quota!("3/s burst 60"))] {
        limit.adjust(class, quota, Held::Deficit).unwrap();
        assert_eq!(limit.quota(class), Some(quota));
    }
    assert_eq!([0, 1, 2].map(|key| there(&limit, key)), [6, 36, 56].map(Some));
    assert_eq!(limit.try_acquire_at(&0, at(0)), Ok(()), "its last change was none");
    assert_eq!(limit.try_acquire_at(&1, at(0)).map_err(wait_of), Err(S));
}

#[test]
fn what_cannot_be_is_an_error_that_names_it() {
    let builder = Keyed::builder(quota!("1/s burst 10")).class(quota!("1/s burst 20"));
    let limit = builder.class_of(|key: &u64| *key as usize).clock(Manual::new()).build().unwrap();
    for class in [2, usize::MAX] {
        let error = limit.adjust(class, quota!("5/s"), Held::Tokens).unwrap_err();
        assert_eq!(error, KeyedError::NoSuchClass { class, last: 1 });
        assert_eq!(error.to_string(), format!("class {class}: there are the classes 0 to 1"));
    }
    let partly = quota!("5/s holding 1");
    assert_eq!(limit.adjust(1, partly, Held::Tokens), Err(KeyedError::InitialFill { quota: partly }));
    assert_eq!(
        [0, 1, 2].map(|class| limit.quota(class).map(|quota| quota.capacity())),
        [Some(10), Some(20), None]
    );
}

/// The bucket that newcomers share keeps its own quota.
#[test]
fn the_shared_bucket_is_no_class() {
    let limit = keyed(quota!("1/s burst 5"), 1, Overflow::Share(quota!("1/s burst 9")));
    assert_eq!(limit.try_acquire_n(&0, 5), Ok(()));
    limit.adjust(0, quota!("1/s burst 50"), Held::Deficit).unwrap();
    assert_eq!(limit.try_acquire_n(&1, 9), Ok(()), "of the 9 that are shared");
    assert_eq!(limit.try_acquire(&2).map_err(wait_of), Err(S));
}

/// Under the old quota a bucket was filled in a day. It is not waited for that long.
#[test]
fn keys_that_fill_sooner_are_forgotten_sooner() {
    let limit = keyed(quota!("1/day"), 100, Overflow::Refuse);
    assert!((0..100).all(|key| limit.try_acquire(&key).is_ok()));
    limit.adjust(0, quota!("1/s burst 5"), Held::Tokens).unwrap();
    assert_eq!(limit.sweep_at(at(5 * S - 1)), 0);
    let room = limit.try_acquire_at(&100, at(5 * S - 1)).unwrap_err();
    assert!(matches!(room, Denied::NoRoom(_)) && room.wait() == Some(nanos(1)), "{room:?}");
    assert_eq!((limit.sweep_at(at(5 * S)), limit.len()), (100, 0));
}

#[test]
fn keys_that_fill_later_are_not_forgotten_early() {
    let limit = keyed(quota!("1/s"), 100, Overflow::Refuse);
    assert!((0..100).all(|key| limit.try_acquire(&key).is_ok()));
    limit.adjust(0, quota!("1/day"), Held::Tokens).unwrap();
    assert_eq!([S, 2 * S, DAY - 1].map(|now| limit.sweep_at(at(now))), [0; 3]);
    assert_eq!((limit.sweep_at(at(DAY)), limit.len()), (100, 0));
}

/// A sweep that is ahead of the change: what it has forgotten was not full yet at the change.
#[test]
fn a_sweep_ahead_of_the_change_gives_nothing() {
    let limit = keyed(quota!("1/s burst 10"), 100, Overflow::Refuse);
    assert_eq!(limit.try_acquire_n(&1, 10), Ok(()));
    assert_eq!(limit.sweep_at(at(10 * S)), 1);
    limit.adjust_at(0, quota!("1/h burst 10"), Held::Tokens, at(5 * S)).unwrap();
    assert_eq!(limit.try_acquire_n_at(&1, 5, at(10 * S)), Ok(()), "so many were there at 5 s");
    assert!(limit.try_acquire_at(&1, at(10 * S)).is_err());
}

#[test]
fn a_clock_that_panics_half_way_leaves_words_and_rules_that_fit() {
    struct Breaking(Cell<Option<u32>>);
    impl Clock for Breaking {
        fn now(&self) -> Nanos {
            if let Some(left) = self.0.get() {
                assert!(left > 0, "out of order");
                self.0.set(Some(left - 1));
            }
            at(0)
        }
    }
    let limit = Keyed::builder(quota!("10/s")).clock(Breaking(Cell::new(None))).build().unwrap();
    assert!((0..100_u64).all(|key| limit.try_acquire_n(&key, 4).is_ok()));
    limit.clock().0.set(Some(7));
    let change = || limit.adjust(0, quota!("10/s burst 20"), Held::Deficit);
    assert!(catch_unwind(AssertUnwindSafe(change)).is_err());
    limit.clock().0.set(None);
    assert_eq!(limit.quota(0), Some(quota!("10/s")), "not all have changed");
    assert!((0..100).all(|key| matches!(there(&limit, key), Some(6 | 16))));
    limit.adjust(0, quota!("10/s burst 20"), Held::Deficit).unwrap();
    assert!((0..100).all(|key| there(&limit, key) == Some(16)), "the same again ends it");
    assert_eq!(limit.quota(0), Some(quota!("10/s burst 20")));
}

#[test]
fn the_largest_debt_and_the_last_reading_do_no_harm() {
    for held in HELD {
        let limit = keyed(quota!("10/s"), 100, Overflow::Refuse);
        limit.charge(&1, u64::MAX);
        for quota in [quota!("1/day"), quota!("1000000000/s burst 1"), quota!("10/s")] {
            limit.adjust(0, quota, held).unwrap();
            assert!(there(&limit, 1) < Some(0) && limit.try_acquire(&1).is_err(), "{held:?}, {quota}");
        }
        limit.adjust_at(0, quota_of(20, S, 20), held, Nanos::MAX).unwrap();
        assert!([1, 2].into_iter().all(|key| limit.try_acquire_at(&key, Nanos::MAX).is_err()));
        limit.sweep_at(Nanos::MAX);
        assert!([1, 2, 3].into_iter().all(|key| limit.try_acquire_at(&key, at(DAY)).is_err()), "{held:?}");
    }
}
