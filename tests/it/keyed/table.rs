//! `Table`: its words, sharing, sweeping and the horizon.

use tollgate::keyed::{Overflow, Table};
use tollgate::{Denied, Manual, quota};

use super::table;
use crate::support::{MINUTE, S, at, nanos, quota as quota_of, wait_of};

/// Units, and nanoseconds at one unit each, for which a word is told from one that has passed.
const HORIZON: u64 = 1 << 42;

#[test]
fn anything_that_hashes_is_a_key() {
    let limit = Table::builder(quota!("1/s burst 2"), 1 << 12).clock(Manual::new()).build().unwrap();
    assert_eq!([limit.try_acquire("acme"), limit.try_acquire("acme")], [Ok(()); 2]);
    assert_eq!(limit.try_acquire(&String::from("acme")).map_err(wait_of), Err(S));
    assert_eq!(limit.try_acquire(&(4_u8, [1, 2, 3])), Ok(()));
    assert_eq!(limit.try_acquire(&std::net::Ipv4Addr::LOCALHOST), Ok(()));
    assert_eq!(limit.len(), 3);
}

#[test]
fn a_look_consumes_nothing() {
    let limit = table(quota!("1/s burst 5"), 8, Overflow::Refuse, |key| key);
    assert_eq!((limit.peek(&1).available(), limit.is_empty()), (5, true));
    assert_eq!(limit.try_acquire_n(&1, 2), Ok(()));
    let level = limit.peek(&1);
    assert_eq!((level.available(), level.debt(), level.time_to_full()), (3, 0, nanos(2 * S)));
    assert_eq!((level.wait_for(4), level.wait_for(6).is_err()), (Ok(nanos(S)), true));
    assert_eq!((limit.peek(&2).available(), limit.len()), (5, 1));
}

/// Tag 0 stands for a free word, so its keys share tag 1.
#[test]
fn the_tag_of_a_free_word_is_nobodys() {
    let limit = table(quota!("1/h burst 2"), 8, Overflow::Refuse, |key| key);
    assert_eq!([limit.try_acquire(&0), limit.try_acquire(&1)], [Ok(()); 2]);
    assert!(limit.try_acquire(&0).is_err() && limit.try_acquire(&1).is_err());
    assert_eq!((limit.len(), limit.try_acquire(&2)), (1, Ok(())));
}

/// 20 bits tell keys of one set apart, and no bit above them.
#[test]
fn keys_share_a_word_exactly_if_set_and_tag_are_the_same() {
    let limit = |bit: u32| {
        let limit = table(quota!("1/h burst 1"), 1 << 10, Overflow::Refuse, |key| key);
        assert_eq!(limit.try_acquire(&3_u64), Ok(()));
        limit.try_acquire(&(3 | 1_u64 << bit)).is_ok()
    };
    assert!((2..20).all(limit), "another tag");
    assert!(!(20..57).any(limit), "the same set and tag");
    assert!((57..64).all(limit), "another set");
}

/// A bucket that is full has its place taken, at the very reading and no sooner; and is full for its key again.
#[test]
fn a_place_is_free_when_its_bucket_is_full() {
    let limit = table(quota!("1/s burst 5"), 8, Overflow::Refuse, |key| key);
    assert!((1..=8).all(|key| limit.try_acquire_n(&key, 5).is_ok()));
    for (now, live) in [(5 * S - 1, 8), (5 * S, 0)] {
        limit.clock().set(at(now));
        assert_eq!((limit.len(), limit.try_acquire_n(&(now + 9), 5).is_ok()), (live, live == 0));
    }
    assert!((1..=7).all(|key| limit.try_acquire_n(&key, 5).is_ok()));
    assert!(matches!(limit.try_acquire(&8), Err(Denied::NoRoom(_))));
}

/// While calls come, of whatever key and in whatever set, a word that has passed does not come back to life.
#[test]
fn words_that_have_passed_stay_so_while_calls_come() {
    for words in [8, 16, 32, 64, 1000, 1 << 14] {
        let limit = table(quota_of(1, S, 5), words, Overflow::Refuse, |key| key);
        let spread = |key: u64| key << 50 | key;
        assert!((1..=4).all(|key| limit.try_acquire_n(&spread(key), 5).is_ok()));
        for step in 1..=(3 * HORIZON / MINUTE) {
            limit.clock().set(at(step * MINUTE));
            assert!(limit.try_acquire(&777).is_ok());
            let full = |key: u64| limit.peek(&spread(key)).available() == 5;
            assert!((1..=4).all(full), "{words} words, minute {step}: {limit:?}");
        }
    }
}

/// A table asked by nobody for longer than the horizon: a sweep within it frees what has passed.
#[test]
fn a_sweep_now_and_then_does_the_same() {
    let limit = table(quota!("1/s burst 5"), 64, Overflow::Refuse, |key| key);
    assert_eq!(limit.try_acquire_n(&1, 5), Ok(()));
    for step in 1..20 {
        limit.clock().set(at(step * HORIZON / 2));
        assert_eq!((limit.sweep(), limit.peek(&1).available()), (0, 5), "{step}");
    }
}

/// Live words outlive any number of sweeps.
#[test]
fn a_sweep_keeps_what_is_live() {
    let limit = table(quota!("1/s burst 5"), 64, Overflow::Refuse, |key| key << 58 | key);
    assert!((1..=20).all(|key| limit.try_acquire_n(&key, 1 + key % 5).is_ok()));
    for second in 0..=5 {
        limit.clock().set(at(second * S));
        let live = (1..=20).filter(|key| 1 + key % 5 > second).count();
        assert_eq!((limit.sweep(), limit.len()), (live, live), "{second} s");
        let there = |key: u64| limit.peek(&key).available() == 5 - (1 + key % 5).saturating_sub(second);
        assert!((1..=20).all(there));
    }
}
