//! C55, C59 to C62: keys, and forgetting them.

use tollgate::keyed::{Keyed, Overflow, OverflowCounts};
use tollgate::{Denied, Manual, Quota};

use crate::keyed::{keyed, table};
use crate::support::{MS, S, US, at, bucket, nanos, quota, wait_of};

/// The readings at which each of two limits admits, when both are tried at every `step` for two seconds.
fn admitted(step: u64, fast: impl Fn(u64) -> bool, slow: impl Fn(u64) -> bool) -> [Vec<u64>; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for now in (0..=2 * S).step_by(step as usize) {
        for (limit, times) in [&fast as &dyn Fn(u64) -> bool, &slow].iter().zip(&mut times) {
            times.extend(limit(now).then_some(now));
        }
    }
    times
}

/// The times of the case, and what is left of two seconds.
fn check_c55(step: u64, fast: impl Fn(u64) -> bool, slow: impl Fn(u64) -> bool) {
    let [fast, slow] = admitted(step, fast, slow);
    assert_eq!((fast[9], slow), (900 * MS, vec![0, 2 * S]), "every {step} ns");
    assert_eq!(fast, (0..=20).map(|tenth| tenth * 100 * MS).collect::<Vec<_>>(), "every {step} ns");
}

#[test]
fn c55_two_limiters_do_not_disturb_each_other() {
    for step in [100 * MS, 50 * MS, 4 * MS] {
        let (fast, slow) = (bucket(quota(1, 100 * MS, 1)), bucket(quota(1, 2 * S, 1)));
        check_c55(
            step,
            |now| fast.try_acquire_at(at(now)).is_ok(),
            |now| slow.try_acquire_at(at(now)).is_ok(),
        );
    }
}

/// Two keys of one limiter with quotas of their own.
#[test]
fn c55_two_keys_do_not_disturb_each_other() {
    for step in [100 * MS, 50 * MS, 4 * MS] {
        let builder = Keyed::builder(quota(1, 100 * MS, 1)).class(quota(1, 2 * S, 1));
        let builder = builder.class_of(|key: &u64| *key as usize);
        let limit = builder.clock(Manual::new()).build().unwrap();
        let admits = |key: u64, now| limit.try_acquire_at(&key, at(now)).is_ok();
        check_c55(step, |now| admits(0, now), |now| admits(1, now));
    }
}

/// Two keys with the same quota, in each form: what one has used, the other has not.
#[test]
fn c55_nor_do_two_keys_with_one_quota() {
    for other in 1..100 {
        let (map, table) = (
            keyed(quota(1, S, 2), 10, Overflow::Refuse),
            table(quota(1, S, 2), 1 << 10, Overflow::Refuse, |key| key << 54 | (key + 1)),
        );
        let both = |key| (map.try_acquire(&key), table.try_acquire(&key));
        assert_eq!([both(0), both(0), both(other), both(other)], [(Ok(()), Ok(())); 4]);
        for key in [0, other] {
            let (in_map, in_table) = both(key);
            assert_eq!((in_map.map_err(wait_of), in_table.map_err(wait_of)), (Err(S), Err(S)));
        }
    }
}

/// A limiter whose key 7 is drained at 0.
fn drained() -> Keyed<u64, Manual> {
    let limit = keyed(quota(1, S, 5), 10, Overflow::Refuse);
    assert_eq!(limit.try_acquire_n(&7, 5), Ok(()));
    limit
}

#[test]
fn c59_a_key_is_droppable_exactly_when_it_is_full() {
    let limit = drained();
    assert_eq!((limit.sweep_at(at(5 * S - 1)), limit.len()), (0, 1));
    assert_eq!((limit.sweep_at(at(5 * S)), limit.len()), (1, 0));
    for cost in 1..=5 {
        let limit = keyed(quota(1, S, 5), 10, Overflow::Refuse);
        assert_eq!(limit.try_acquire_n_at(&7, cost, at(S)), Ok(()));
        let full = S + cost * S;
        assert_eq!([full - 1, full].map(|now| limit.sweep_at(at(now))), [0, 1], "cost {cost}");
    }
}

#[test]
fn c59_dropping_changes_no_decision() {
    for swept in [false, true] {
        for second in 0..=5 {
            let limit = drained();
            limit.clock().set(at(second * S));
            if swept {
                limit.sweep();
            }
            let admitted = (0..6).filter(|_| limit.try_acquire(&7).is_ok()).count() as u64;
            assert_eq!(admitted, second, "after {second} s, swept: {swept}");
        }
    }
}

#[test]
fn c59_a_paused_key_is_not_droppable() {
    let limit = drained();
    assert!(limit.pause_until(&7, at(9 * S)) && limit.pause_until(&8, at(7 * S)));
    assert_eq!([7 * S - 1, 7 * S, 9 * S - 1, 9 * S].map(|now| limit.sweep_at(at(now))), [0, 1, 0, 1]);
}

#[test]
fn c60_a_million_keys_leave_nothing_behind() {
    let limit = keyed(quota(10, S, 10), 1_000_000, Overflow::Refuse);
    assert!((0..1_000_000).all(|key| limit.try_acquire(&key).is_ok()));
    assert_eq!((limit.len(), limit.sweep_at(at(100 * MS - 1))), (1_000_000, 0));
    assert_eq!((limit.sweep_at(at(100 * MS)), limit.len()), (1_000_000, 0));
    let few = keyed(quota(10, S, 10), 1_000_000, Overflow::Refuse);
    assert_eq!((few.try_acquire(&1), few.len(), few.sweep_at(at(S)), few.len()), (Ok(()), 1, 1, 0));
}

/// What one caller's call does for all: at most 64 keys, at most every 250 us, and in the end all of them.
#[test]
fn c60_a_callers_call_forgets_few_keys() {
    const KEYS: usize = 20_000;
    let limit = keyed(quota(10, S, 10), KEYS, Overflow::Refuse);
    assert!((0..KEYS as u64).all(|key| limit.try_acquire(&key).is_ok()));
    let (mut live, mut turns) = (limit.len(), 0);
    limit.clock().set(at(10 * S));
    while live > 1 && turns < KEYS {
        let _ = limit.try_acquire(&0);
        assert!(live - limit.len() <= 64, "{live} to {}", limit.len());
        live = limit.len();
        assert_eq!(
            (limit.try_acquire(&0).is_ok() || live > 0, limit.len()),
            (true, live),
            "one turn in 250 us"
        );
        limit.clock().advance(nanos(250 * US));
        turns += 1;
    }
    assert_eq!(live, 1, "only the key that is used is left");
    assert!((KEYS / 64..KEYS / 10).contains(&turns), "{turns}");
}

#[test]
fn c60_a_table_is_empty_again_and_never_grows() {
    let limit =
        table(quota(10, S, 10), 1 << 12, Overflow::Refuse, |key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let admitted = (0..1_000_000).filter(|key| limit.try_acquire(key).is_ok()).count();
    assert_eq!(admitted, 1 << 12, "as many keys as words");
    assert_eq!((limit.words(), limit.len()), (1 << 12, 1 << 12));
    assert_eq!(limit.overflow_counts().refused, 1_000_000 - (1 << 12));
    limit.clock().set(at(100 * MS));
    assert_eq!((limit.len(), limit.sweep(), limit.words()), (0, 0, 1 << 12));
}

/// How many of 10 000 new keys are admitted at once, with the counts, while a victim stays refused.
fn attack(overflow: Overflow) -> (usize, OverflowCounts) {
    let limit = keyed(quota(1, S, 5), 1000, overflow);
    let victim = u64::MAX;
    assert_eq!(limit.try_acquire_n(&victim, 5), Ok(()));
    let mut admitted = 0;
    for key in 0..10_000 {
        admitted += usize::from(limit.try_acquire(&key).is_ok());
        assert_eq!(limit.try_acquire(&victim).map_err(wait_of), Err(S), "after {key}");
        assert!(limit.len() <= 1000);
    }
    assert_eq!((limit.len(), limit.sweep()), (1000, 0));
    (admitted, limit.overflow_counts())
}

#[test]
fn c61_no_number_of_new_keys_frees_a_drained_one() {
    let none = OverflowCounts::default();
    let refused = OverflowCounts { refused: 9001, ..none };
    assert_eq!(attack(Overflow::Refuse), (999, refused));
    let shared = OverflowCounts { shared: 9001, ..none };
    assert_eq!(attack(Overflow::Share(quota(1, S, 70))), (999 + 70, shared));
    assert_eq!(attack(Overflow::Admit), (10_000, OverflowCounts { admitted: 9001, ..none }));
}

#[test]
fn c61_a_full_set_evicts_no_live_word() {
    let attack = |overflow| {
        let limit = table(quota(1, S, 5), 8, overflow, |key| key);
        assert!((1..=8).all(|key| limit.try_acquire_n(&key, 5).is_ok()));
        let admitted = (9..10_009).filter(|key| limit.try_acquire(key).is_ok()).count();
        for key in 1..=8 {
            assert_eq!(limit.try_acquire(&key).map_err(wait_of), Err(S), "{overflow:?}, key {key}");
        }
        (limit.len(), admitted, limit.overflow_counts())
    };
    let none = OverflowCounts::default();
    assert_eq!(attack(Overflow::Refuse), (8, 0, OverflowCounts { refused: 10_000, ..none }));
    let shared = OverflowCounts { shared: 10_000, ..none };
    assert_eq!(attack(Overflow::Share(quota(1, S, 70))), (8, 70, shared));
    assert_eq!(attack(Overflow::Admit), (8, 10_000, OverflowCounts { admitted: 10_000, ..none }));
}

/// So many keys, key `k` drained of its five tokens at `k` us.
fn busy(keys: u64, overflow: Overflow) -> Keyed<u64, Manual> {
    let limit = keyed(quota(1, S, 5), keys as usize, overflow);
    assert!((0..keys).all(|key| limit.try_acquire_n_at(&key, 5, at(key * US)).is_ok()));
    limit
}

/// The newcomers come in as soon as one of the others is full, one by one and each at its first call.
#[test]
fn c62_a_newcomer_takes_the_first_place_that_is_full() {
    const KEYS: u64 = 300;
    let limit = busy(KEYS, Overflow::Refuse);
    for key in 0..KEYS {
        let (newcomer, full) = (KEYS + key, 5 * S + key * US);
        let refusal = limit.try_acquire_at(&newcomer, at(full - 1)).unwrap_err();
        assert!(matches!(refusal, Denied::NoRoom(_)), "{refusal:?}");
        assert_eq!(refusal.wait(), Some(nanos(1)), "key {key} is the next to be full");
        assert_eq!(limit.try_acquire_n_at(&newcomer, 5, at(full)), Ok(()), "key {key} is full");
        assert_eq!(limit.len() as u64, KEYS);
    }
    assert_eq!(limit.overflow_counts().refused, KEYS);
}

/// The others are used all the time and never full, so that what is known of them is out of date.
#[test]
fn c62_keys_that_stay_busy_do_not_hide_one_that_is_full() {
    const KEYS: u64 = 300;
    let limit = busy(KEYS, Overflow::Refuse);
    for second in 1..=5 {
        assert!((1..KEYS).all(|key| limit.try_acquire_at(&key, at(second * S + key * US)).is_ok()));
    }
    let now = at(5 * S + KEYS * US);
    let calls = (1..).find(|_| limit.try_acquire_at(&KEYS, now).is_ok());
    assert!(calls.is_some_and(|calls| calls as u64 <= KEYS / 4), "{calls:?}");
    assert_eq!(limit.peek(&0).map(|level| level.available()), None, "key 0 was full, and made room");
    assert!(
        (1..KEYS).all(|key| limit.try_acquire_n_at(&key, 2, now).is_err()),
        "the others are as they were"
    );
}

#[test]
fn c62_in_a_table_too() {
    let limit = table(quota(1, S, 5), 8, Overflow::Refuse, |key| key);
    for key in 1..=8 {
        limit.clock().set(at(key * US));
        assert_eq!(limit.try_acquire_n(&key, 5), Ok(()));
    }
    for key in 1..=8 {
        let full = 5 * S + key * US;
        limit.clock().set(at(full - 1));
        let refusal = limit.try_acquire(&(8 + key)).unwrap_err();
        assert!(matches!(refusal, Denied::NoRoom(_)), "{refusal:?}");
        assert_eq!(refusal.wait(), Some(nanos(1)));
        limit.clock().set(at(full));
        assert_eq!(limit.try_acquire_n(&(8 + key), 5), Ok(()), "key {key} is full");
    }
}

/// At the cap for ever, a hot set of keys that are never full: the choice decides, and it is counted.
#[test]
fn c62_a_hot_set_and_the_owners_choice() {
    let newcomers = |overflow: Overflow, quota: Quota| {
        let limit = keyed(quota, 10, overflow);
        let mut admitted = 0;
        for second in 0..100 {
            limit.clock().set(at(second * S));
            assert!((0..10).all(|key| limit.try_acquire(&key).is_ok()));
            admitted += u64::from(limit.try_acquire(&99).is_ok());
        }
        (admitted, limit.overflow_counts())
    };
    let none = OverflowCounts::default();
    let hot = quota(1, S + 1, 200);
    assert_eq!(newcomers(Overflow::Refuse, hot), (0, OverflowCounts { refused: 100, ..none }));
    let shared = Overflow::Share(quota(1, 2 * S, 1));
    assert_eq!(newcomers(shared, hot), (50, OverflowCounts { shared: 100, ..none }));
    assert_eq!(newcomers(Overflow::Admit, hot), (100, OverflowCounts { admitted: 100, ..none }));
}
