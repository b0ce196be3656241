//! `Keyed`: its verbs, and what sweeping owes to those that give back.

use std::time::Duration;

use tollgate::keyed::{Keyed, Overflow};
use tollgate::{Denied, Manual, Nanos, quota};

use super::{Chosen, keyed};
use crate::support::{DAY, S, YEAR, at, quota as quota_of, wait_of};

#[test]
fn a_string_is_found_by_its_text() {
    let limit = Keyed::<String>::builder(quota!("1/h burst 2")).clock(Manual::new()).build().unwrap();
    let key = String::from("acme");
    assert_eq!([limit.try_acquire("acme"), limit.try_acquire(&key)], [Ok(()); 2]);
    assert!(limit.try_acquire("acme").is_err() && limit.try_acquire("ACME").is_ok());
    assert_eq!(limit.len(), 2);
    limit.refund("acme", 1);
    limit.charge("acme", 2);
    assert_eq!(limit.peek("acme").map(|level| (level.available(), level.debt())), Some((0, 1)));
}

#[test]
fn peeking_and_giving_back_insert_nothing() {
    let limit = keyed(quota!("1/s burst 5"), 10, Overflow::Refuse);
    limit.refund(&1, 3);
    limit.resume(&1);
    assert!(limit.peek(&1).is_none() && limit.is_empty());
}

#[test]
fn a_charge_is_debt_and_outlives_sweeping() {
    let limit = keyed(quota!("1/s burst 5"), 10, Overflow::Refuse);
    limit.charge(&1, 12);
    assert_eq!(limit.peek(&1).map(|level| level.debt()), Some(7));
    assert_eq!([S, 11 * S, 12 * S - 1].map(|now| limit.sweep_at(at(now))), [0; 3]);
    assert_eq!(limit.try_acquire_n_at(&1, 5, at(12 * S - 1)).map_err(wait_of), Err(1));
    assert_eq!(limit.sweep_at(at(12 * S)), 1);
}

/// Without room a charge falls to the shared bucket, and to nobody where there is none.
#[test]
fn a_charge_without_room() {
    let limit = keyed(quota!("1/s burst 5"), 1, Overflow::Share(quota!("1/s burst 9")));
    assert_eq!(limit.try_acquire(&0), Ok(()));
    limit.charge(&1, 10);
    assert_eq!(limit.try_acquire(&2).map_err(wait_of), Err(2 * S));
    assert_eq!((limit.len(), limit.overflow_counts().shared), (1, 2));
    let limit = keyed(quota!("1/s burst 5"), 1, Overflow::Refuse);
    assert_eq!(limit.try_acquire(&0), Ok(()));
    limit.charge(&1, 10);
    assert!(!limit.pause_until(&1, at(S)), "nor is there room for a pause");
    assert_eq!((limit.len(), limit.overflow_counts().refused), (1, 1));
}

#[test]
fn a_pause_holds_its_key_and_no_other() {
    let limit = keyed(quota!("1/s burst 5"), 10, Overflow::Refuse);
    assert!(limit.pause_for(&1, Duration::from_secs(3)));
    assert_eq!((limit.try_acquire(&1).map_err(wait_of), limit.try_acquire(&2)), (Err(3 * S), Ok(())));
    limit.resume(&1);
    assert_eq!(limit.try_acquire_n(&1, 5), Ok(()));
}

/// A pause that has ended early leaves a full bucket behind: not for as long as the pause was, but until it is looked at
/// again, after the time that it takes to fill one.
#[test]
fn a_key_that_was_resumed_can_be_forgotten() {
    for fill in [1, 5] {
        let limit = keyed(quota_of(1, S, fill), 1, Overflow::Refuse);
        assert!(limit.pause_until(&1, at(YEAR)));
        assert_eq!((limit.sweep(), limit.sweep_at(at(fill * S))), (0, 0), "it is paused");
        limit.resume(&1);
        assert_eq!(limit.try_acquire_at(&2, at(2 * fill * S)), Ok(()), "its place is free");
        assert_eq!((limit.sweep_at(at(2 * fill * S + S)), limit.len()), (1, 0));
        assert!(limit.pause_until(&1, at(YEAR)));
        limit.resume(&1);
        assert_eq!((limit.sweep_at(at(3 * fill * S + S)), limit.len()), (1, 0), "and a sweep finds it");
    }
}

/// So does a debt that was given back.
#[test]
fn a_key_that_was_refunded_can_be_forgotten() {
    let limit = keyed(quota!("1/s burst 5"), 1, Overflow::Refuse);
    limit.charge(&1, 1_000_000);
    assert_eq!((limit.sweep_at(at(5 * S)), limit.try_acquire_at(&2, at(5 * S)).is_ok()), (0, false));
    limit.refund_at(&1, 1_000_000, at(5 * S));
    assert_eq!(limit.try_acquire_at(&2, at(10 * S)), Ok(()), "its place is free");
    assert_eq!((limit.sweep_at(at(11 * S)), limit.len()), (1, 0));
    limit.charge_at(&1, 1_000_000, at(11 * S));
    limit.refund_at(&1, 1_000_000, at(11 * S));
    assert_eq!((limit.sweep_at(at(16 * S)), limit.len()), (1, 0), "and a sweep finds it");
}

/// Giving back over and over does not pile anything up: what is left to sweep is one key.
#[test]
fn many_refunds_leave_one_key() {
    let limit = keyed(quota!("1/s burst 5"), 10, Overflow::Refuse);
    for _ in 0..1000 {
        assert_eq!(limit.try_acquire_n(&1, 5), Ok(()));
        limit.refund(&1, 5);
        assert!(limit.pause_until(&1, at(DAY)));
        limit.resume(&1);
    }
    assert_eq!((limit.len(), limit.sweep_at(at(5 * S)), limit.len(), limit.sweep_at(at(DAY))), (1, 1, 0, 0));
}

#[test]
fn a_sweep_at_any_reading_ends() {
    let limit = keyed(quota!("1/s burst 5"), 100, Overflow::Refuse);
    assert_eq!(limit.sweep_at(Nanos::MAX), 0);
    assert!((0..50).all(|key| limit.try_acquire(&key).is_ok()));
    limit.charge(&99, u64::MAX);
    assert!(limit.sweep_at(Nanos::MAX) >= 50);
    assert_eq!(limit.sweep_at(Nanos::MAX), 0);
    assert!(limit.try_acquire(&99).is_err(), "a debt without end is never paid");
}

/// A reading older than the sweep that has forgotten the key: stricter by what was issued in between, never looser.
#[test]
fn a_late_call_finds_the_bucket_as_the_sweep_has_left_it() {
    let limit = keyed(quota!("1/s burst 5"), 10, Overflow::Refuse);
    assert_eq!(limit.try_acquire_n_at(&1, 5, at(10 * S)), Ok(()));
    assert_eq!(limit.sweep_at(at(15 * S)), 1);
    assert_eq!(limit.try_acquire_at(&1, at(10 * S)).map_err(wait_of), Err(S));
    assert_eq!(limit.try_acquire_n_at(&1, 4, at(14 * S)), Ok(()), "one has been issued since");
    assert_eq!(limit.try_acquire_at(&1, at(14 * S)).map_err(wait_of), Err(S));
}

/// Keys that the hash does not tell apart are told apart all the same, and forgotten all the same.
#[test]
fn keys_with_one_hash_have_buckets_of_their_own() {
    let builder = Keyed::builder(quota!("1/s burst 5")).max_keys(100).overflow(Overflow::Refuse);
    let limit = builder.hasher(Chosen(|_| 7)).clock(Manual::new()).build().unwrap();
    assert!((0..100_u64).all(|key| limit.try_acquire_n(&key, 5).is_ok()));
    assert!((0..100).all(|key| limit.try_acquire(&key).map_err(wait_of) == Err(S)));
    assert!(matches!(limit.try_acquire(&100), Err(Denied::NoRoom(_))));
    assert_eq!((limit.sweep_at(at(5 * S - 1)), limit.sweep_at(at(5 * S)), limit.len()), (0, 100, 0));
}

/// A caller's own turn leaves keys alone that were full only just now, and finds those that were full for a second.
#[test]
fn a_key_in_use_is_not_forgotten_however_soon_it_is_full() {
    let limit = keyed(quota!("1000/s burst 1"), 10, Overflow::Refuse);
    let turns = |from: u64, to: u64, key| {
        assert!((from..to).all(|milli| limit.try_acquire_at(&key, at(milli * 1_000_000)).is_ok()));
        limit.len()
    };
    assert_eq!(turns(0, 900, 1), 1);
    assert_eq!(turns(900, 1500, 2), 2, "key 1 lingers");
    assert_eq!(turns(1500, 2500, 2), 1, "and is forgotten without a sweep");
    assert!(limit.peek(&1).is_none() && limit.peek(&2).is_some());
}
