//! How keyed limiters are made, and what they say when they cannot be.

use std::time::Duration;

use tollgate::keyed::{Keyed, KeyedError, Overflow, OverflowCounts, Table};
use tollgate::{Clock, Denied, Fill, Manual, Quota, quota};

use super::{keyed, table};
use crate::support::{S, at, nanos};

#[test]
fn every_error_names_what_is_wrong() {
    let empty = quota!("10/s").fill(Fill::Empty).unwrap();
    let almost = quota!("10/s").fill(Fill::Tokens(9)).unwrap();
    for quota in [empty, almost] {
        let error = KeyedError::InitialFill { quota };
        assert_eq!(Keyed::<u64>::new(quota).unwrap_err(), error);
        assert_eq!(Keyed::<u64>::builder(quota!("1/s")).class(quota).build().unwrap_err(), error);
        assert_eq!(Table::new(quota, 8).unwrap_err(), error);
        assert!(error.to_string().contains(&quota.to_string()), "{error}");
    }
    assert_eq!(Keyed::<u64>::builder(quota!("1/s")).max_keys(0).build().unwrap_err(), KeyedError::NoKeys);
    assert!(KeyedError::NoKeys.to_string().contains("0 keys"));
    let classes = KeyedError::TooManyClasses { classes: 4_294_967_296 };
    assert!(classes.to_string().starts_with("4294967296 classes"), "{classes}");
    for words in [0, (1 << 32) + 1] {
        let error = KeyedError::WordsOutOfRange { words };
        assert_eq!(Table::new(quota!("1/s"), words).unwrap_err(), error);
        assert!(error.to_string().contains(&format!("{words} words")), "{error}");
        assert!(error.to_string().contains("4294967296"), "{error}");
    }
}

#[test]
fn a_word_holds_a_capacity_below_two_to_the_40() {
    let with = |capacity| Table::new(Quota::per_second(1).unwrap().burst(capacity).unwrap(), 8);
    assert!(with((1 << 40) - 1).is_ok());
    let error = with(1 << 40).unwrap_err();
    assert_eq!(error, KeyedError::CapacityTooLarge { capacity: 1 << 40 });
    assert!(error.to_string().contains("1099511627776 tokens"), "{error}");
    assert!(error.to_string().contains("1099511627775"), "{error}");
    let error: Box<dyn std::error::Error> = error.into();
    assert!(error.source().is_none());
}

#[test]
fn a_quota_that_starts_full_in_other_words_will_do() {
    let full = quota!("10/s").fill(Fill::Tokens(10)).unwrap();
    assert!(Keyed::<u64>::new(full).is_ok() && Table::new(full, 8).is_ok());
}

#[test]
fn defaults() {
    let limit = Keyed::<u64>::new(quota!("2/h")).unwrap();
    assert_eq!((limit.max_keys(), limit.len(), limit.is_empty()), (1 << 20, 0, true));
    assert_eq!((limit.quota(0), limit.quota(1)), (Some(quota!("2/h")), None));
    let limit = Keyed::builder(quota!("2/h")).max_keys(1).clock(Manual::new()).build().unwrap();
    let answers = [0_u64, 0, 1, 2, 3].map(|key| limit.try_acquire(&key).is_ok());
    assert_eq!(answers, [true, true, true, true, false], "newcomers share one bucket of the same quota");
    assert_eq!(limit.overflow_counts(), OverflowCounts { shared: 3, ..OverflowCounts::default() });

    let limit = Table::builder(quota!("2/h"), 1).clock(Manual::new()).build().unwrap();
    assert_eq!((limit.words(), limit.len(), limit.is_empty(), limit.quota()), (8, 0, true, quota!("2/h")));
    let admitted = (0..100_u64).filter(|key| limit.try_acquire(key).is_ok()).count();
    assert_eq!(admitted, 10, "eight have words, two the shared bucket");
    assert_eq!(limit.overflow_counts().shared, 92);
}

#[test]
fn words_are_rounded_up_to_whole_sets() {
    for (asked, words) in [(1, 8), (8, 8), (9, 16), (1 << 10, 1 << 10), (1000, 1000), (1001, 1008)] {
        assert_eq!(Table::new(quota!("1/s"), asked).unwrap().words(), words);
    }
}

#[test]
fn the_shared_bucket_may_start_with_less() {
    let shared = Overflow::Share(quota!("1/s burst 5").fill(Fill::Empty).unwrap());
    let limit = keyed(quota!("1/h"), 1, shared);
    assert_eq!(limit.try_acquire(&0), Ok(()));
    assert_eq!(limit.try_acquire(&1).unwrap_err().wait(), Some(Duration::from_secs(1)));
    limit.clock().set(at(2 * S));
    assert_eq!([1, 2, 3].map(|key| limit.try_acquire(&key).is_ok()), [true, true, false]);
    assert_eq!(
        limit.try_acquire_n(&1, 6),
        Err(Denied::OverCapacity { cost: 6, capacity: 1 }),
        "of its own: no newcomer gets at once what a key that has room would never get"
    );
}

#[test]
fn a_class_beyond_the_last_is_the_last() {
    let limit = Keyed::builder(quota!("1/h"))
        .class(quota!("1/h burst 2"))
        .class(quota!("1/h burst 3"))
        .class_of(|key: &u64| *key as usize)
        .clock(Manual::new())
        .build()
        .unwrap();
    let admitted = |key| (0..9).filter(|_| limit.try_acquire(&key).is_ok()).count();
    assert_eq!([0, 1, 2, 3, 4, u64::MAX].map(admitted), [1, 2, 3, 3, 3, 3]);
    assert_eq!(
        [0, 1, 2, 3].map(|class| limit.quota(class).map(|quota| quota.capacity())),
        [Some(1), Some(2), Some(3), None]
    );
}

#[test]
fn a_class_is_asked_for_once_a_key() {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let class_of = |_: &u64| ASKED.fetch_add(1, Relaxed) as usize;
    let limit = Keyed::builder(quota!("1/s")).class_of(class_of).clock(Manual::new()).build().unwrap();
    assert_eq!((0..5).filter(|_| limit.try_acquire(&3).is_ok()).count(), 1);
    assert_eq!(ASKED.load(Relaxed), 1);
    limit.sweep_at(at(S));
    assert_eq!(limit.try_acquire_at(&3, at(S)), Ok(()));
    assert_eq!(ASKED.load(Relaxed), 2, "and again when it has been forgotten");
}

#[test]
fn what_is_never_admitted_takes_no_room() {
    let limit = keyed(quota!("1/s burst 5"), 1, Overflow::Admit);
    let never = |cost| Err(Denied::OverCapacity { cost, capacity: 5 });
    for key in 0..10 {
        assert_eq!(limit.try_acquire_n(&key, 0), Err(Denied::ZeroCost));
        assert_eq!([6, u64::MAX].map(|cost| limit.try_acquire_n(&key, cost)), [6, u64::MAX].map(never));
    }
    assert_eq!((limit.len(), limit.overflow_counts()), (0, OverflowCounts::default()));
    let limit = table(quota!("1/s burst 5"), 8, Overflow::Admit, |_| 1);
    for key in 0..10 {
        assert_eq!(limit.try_acquire_n(&key, 0), Err(Denied::ZeroCost));
        assert_eq!([6, u64::MAX].map(|cost| limit.try_acquire_n(&key, cost)), [6, u64::MAX].map(never));
    }
    assert_eq!((limit.len(), limit.overflow_counts()), (0, OverflowCounts::default()));
}

/// Without room a cost of zero is invalid all the same, whatever becomes of newcomers.
#[test]
fn zero_is_invalid_without_room_too() {
    for overflow in [Overflow::Refuse, Overflow::Share(quota!("1/s")), Overflow::Admit] {
        let limit = keyed(quota!("1/s burst 5"), 1, overflow);
        assert_eq!((limit.try_acquire(&0), limit.try_acquire_n(&1, 0)), (Ok(()), Err(Denied::ZeroCost)));
        let limit = table(quota!("1/s burst 5"), 8, overflow, |key| key);
        assert!((1..=8).all(|key| limit.try_acquire(&key).is_ok()));
        assert_eq!(limit.try_acquire_n(&9, 0), Err(Denied::ZeroCost), "{overflow:?}");
    }
}

/// The capacity that is told is that of the key's own class, known or new.
#[test]
fn a_newcomer_is_told_its_own_capacity() {
    let limit = Keyed::builder(quota!("1/s burst 5"))
        .class(quota!("1/s burst 50"))
        .class_of(|key: &u64| *key as usize)
        .clock(Manual::new())
        .build()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(limit.try_acquire_n(&0, 20), Err(Denied::OverCapacity { cost: 20, capacity: 5 }));
        assert_eq!(limit.len(), 0, "and takes no room");
    }
    for known in [false, true] {
        let never = Err(Denied::OverCapacity { cost: 60, capacity: 50 });
        assert_eq!(limit.try_acquire_n(&1, 60), never, "known: {known}");
        assert_eq!(limit.try_acquire(&1), Ok(()));
    }
}

#[test]
fn no_room_tells_when_there_can_be_some() {
    let limit = keyed(quota!("1/s burst 5"), 1, Overflow::Refuse);
    limit.clock().set(at(S / 2));
    assert_eq!(limit.try_acquire_n(&0, 3), Ok(()));
    let refusal = limit.try_acquire(&1).unwrap_err();
    let Denied::NoRoom(not_yet) = refusal else { panic!("{refusal:?}") };
    assert_eq!((not_yet.wait(), not_yet.ready_at()), (nanos(3 * S), at(3 * S + S / 2)));
    assert_eq!((refusal.wait(), refusal.retry_after()), (Some(nanos(3 * S)), Some(nanos(3 * S))));
    assert_eq!(refusal.to_string(), "no room for another key: try again in 3s");
    limit.clock().set(at(S));
    assert_eq!(limit.try_acquire(&1).unwrap_err().retry_after(), Some(nanos(3 * S)), "rounded up");
}

#[test]
fn debug_shows_the_counts_and_hides_the_keys() {
    let limit = keyed(quota!("1/s burst 5"), 3, Overflow::Refuse);
    assert_eq!(limit.try_acquire(&271_828), Ok(()));
    let text = format!("{limit:?}");
    assert!(text.contains("keys: 1") && text.contains("max_keys: 3") && !text.contains("271828"), "{text}");
    let text = format!("{:?}", table(quota!("1/s burst 5"), 32, Overflow::Refuse, |key| key));
    assert!(text.contains("1/s burst 5") && text.contains("sets: 4"), "{text}");
    let text = format!("{:?}", Keyed::<u64>::builder(quota!("1/s")).max_keys(77));
    assert!(text.contains("max_keys: 77"), "{text}");
}

#[test]
fn the_clock_is_the_one_given() {
    let clock = Manual::starting_at(at(77));
    let limit = Keyed::<u64>::builder(quota!("1/s")).clock(&clock).build().unwrap();
    assert_eq!(limit.clock().now(), at(77));
    let limit = Table::builder(quota!("1/s"), 8).clock(&clock).build().unwrap();
    assert_eq!(limit.clock().now(), at(77));
}
