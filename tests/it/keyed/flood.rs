//! A flood of keys, each seen once, beside a victim that has used up its own limit.

use tollgate::keyed::{Keyed, Overflow, OverflowCounts};
use tollgate::{Manual, quota};

use super::{keyed, table};
use crate::support::{MS, S, US, at, wait_of};

const FLOOD: u64 = 300_000;
const CAP: usize = 10_000;
const VICTIM: u64 = u64::MAX;

/// The flood, one key every 10 us, three seconds in all. Buckets of the flood are full after 2 s; the victim's is not.
/// Tells how many keys of the flood were admitted.
fn flood(limit: &Keyed<u64, Manual>) -> u64 {
    assert_eq!(limit.try_acquire_n(&VICTIM, 5), Ok(()));
    limit.charge(&VICTIM, 5);
    let mut admitted = 0;
    for key in 0..FLOOD {
        limit.clock().set(at(key * 10 * US));
        admitted += u64::from(limit.try_acquire_n(&key, 4).is_ok());
        assert!(limit.len() <= CAP);
        if key % 16 == 0 {
            assert!(limit.try_acquire(&VICTIM).is_err(), "after {key}");
        }
    }
    assert_eq!(limit.try_acquire(&VICTIM).map_err(wait_of), Err(10 * US));
    admitted
}

/// The places are taken by the first, and again from 2 s on by those that come when the first are full: all of those
/// that come until 3 s, but for as many as there are places.
fn with_a_place() -> u64 {
    2 * CAP as u64 - 2
}

fn limit(overflow: Overflow) -> Keyed<u64, Manual> {
    keyed(quota!("2/s burst 5"), CAP, overflow)
}

fn returns_everything(limit: &Keyed<u64, Manual>) {
    limit.clock().set(at(60 * S));
    assert!(limit.sweep() > 0);
    assert_eq!(limit.len(), 0);
    assert_eq!(limit.try_acquire_n(&VICTIM, 5), Ok(()));
}

#[test]
fn newcomers_are_refused() {
    let limit = limit(Overflow::Refuse);
    let admitted = flood(&limit);
    assert_eq!(admitted, with_a_place());
    let counts = OverflowCounts { refused: FLOOD - admitted, ..OverflowCounts::default() };
    assert_eq!(limit.overflow_counts(), counts);
    returns_everything(&limit);
}

#[test]
fn newcomers_share_a_bucket() {
    let limit = limit(Overflow::Share(quota!("1000/s burst 40")));
    let admitted = flood(&limit);
    let shared = limit.overflow_counts().shared;
    assert_eq!(shared, FLOOD - with_a_place());
    // 40 at once, and 250 of four tokens each in a second, while there is no room.
    let most = with_a_place() + 10 + 250 * 3;
    assert!((with_a_place() + 10 + 250 * 2..=most).contains(&admitted), "{admitted}, at most {most}");
    returns_everything(&limit);
}

#[test]
fn newcomers_pass_untracked() {
    let limit = limit(Overflow::Admit);
    assert_eq!(flood(&limit), FLOOD);
    let counts = OverflowCounts { admitted: FLOOD - with_a_place(), ..OverflowCounts::default() };
    assert_eq!(limit.overflow_counts(), counts);
    returns_everything(&limit);
}

#[test]
fn a_table_keeps_its_size_and_its_victims() {
    let limit = table(quota!("2/s burst 5"), 1 << 10, Overflow::Refuse, |key| {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    let victims: Vec<u64> = (0..100).map(|key| VICTIM - key).collect();
    assert!(victims.iter().all(|key| limit.try_acquire_n(key, 5).is_ok()));
    let mut admitted = 0;
    for key in 0..FLOOD {
        limit.clock().set(at(key * 1500));
        admitted += u64::from(limit.try_acquire_n(&key, 1).is_ok());
        if key % 1000 == 0 {
            assert!(victims.iter().all(|key| limit.try_acquire(key).is_err()), "after {key}");
        }
    }
    // 450 ms: no bucket of the flood is full again, so there is a place for as many keys as there are words.
    let places = limit.words() - victims.len();
    assert!(admitted as usize <= places && admitted as usize >= places - 20, "{admitted} of {places}");
    assert_eq!(limit.overflow_counts().refused, FLOOD - admitted);
    limit.clock().set(at(500 * MS + FLOOD * 1500));
    let live = limit.len();
    assert_eq!((live, limit.sweep(), limit.words()), (100, 100, 1 << 10), "the victims'");
    limit.clock().set(at(60 * S));
    assert_eq!((limit.len(), limit.sweep()), (0, 0));
}
