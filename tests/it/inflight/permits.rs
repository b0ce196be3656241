//! Permits that are there now, and a limit that moves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tollgate::inflight::{InFlight, LimitError, NoPermit};

fn seen(limit: &InFlight) -> (u32, u32, u32) {
    (limit.in_use(), limit.limit(), limit.available())
}

#[test]
fn weights_add_up_to_the_limit_and_no_further() {
    let limit = InFlight::new(10).unwrap();
    let held: Vec<_> = [5, 3, 1].map(|weight| limit.try_acquire_n(weight).unwrap()).into();
    assert_eq!(seen(&limit), (9, 10, 1));
    assert_eq!(held.iter().map(|permit| permit.weight()).sum::<u32>(), 9);
    let refused = limit.try_acquire_n(2).unwrap_err();
    assert_eq!(refused, NoPermit::InUse { weight: 2, in_use: 9, limit: 10 });
    assert_eq!(refused.to_string(), "9 of 10 permits are in use: 2 more do not fit now");
    assert!(refused.is_for_now());
    assert_eq!(seen(&limit), (9, 10, 1), "a refusal takes nothing");
    drop(limit.try_acquire().unwrap());
    drop(held);
    assert_eq!(seen(&limit), (0, 10, 10));
}

#[test]
fn a_weight_of_none_and_one_above_the_limit_are_answered_for_ever() {
    let limit = InFlight::new(10).unwrap();
    assert_eq!(limit.try_acquire_n(0).unwrap_err(), NoPermit::ZeroWeight);
    for weight in [11, 12, u32::MAX] {
        let refused = limit.try_acquire_n(weight).unwrap_err();
        assert_eq!(refused, NoPermit::OverLimit { weight, limit: 10 });
        assert!(!refused.is_for_now());
    }
    let _all = limit.try_acquire_n(10).unwrap();
    assert_eq!(limit.try_acquire_n(11).unwrap_err(), NoPermit::OverLimit { weight: 11, limit: 10 });
}

#[test]
fn the_limits_that_can_be() {
    for wrong in [0, InFlight::MAX_LIMIT + 1, u32::MAX] {
        let error = InFlight::new(wrong).unwrap_err();
        assert_eq!(error, LimitError::OutOfRange { limit: wrong });
        assert!(error.to_string().contains("from 1 to 2147483647 (2^31 - 1)"), "{error}");
        let limit = InFlight::new(7).unwrap();
        assert_eq!((limit.set_limit(wrong), limit.limit()), (Err(error), 7));
    }
    let largest = InFlight::new(InFlight::MAX_LIMIT).unwrap();
    let permit = largest.try_acquire_n(InFlight::MAX_LIMIT).unwrap();
    assert_eq!(seen(&largest), (InFlight::MAX_LIMIT, InFlight::MAX_LIMIT, 0));
    assert!(matches!(largest.try_acquire(), Err(NoPermit::InUse { .. })));
    drop(permit);
    assert_eq!(largest.in_use(), 0);
}

#[test]
fn a_lowered_limit_admits_nothing_until_enough_is_released() {
    let limit = InFlight::new(10).unwrap();
    let mut held: Vec<_> = (0..10).map(|_| limit.try_acquire().unwrap()).collect();
    assert_eq!(limit.set_limit(4), Ok(10));
    assert_eq!(seen(&limit), (10, 4, 0), "nothing is taken back, and nothing is negative");
    for in_use in (4..10).rev() {
        held.pop();
        assert_eq!(seen(&limit), (in_use, 4, 0));
        assert_eq!(limit.try_acquire().unwrap_err(), NoPermit::InUse { weight: 1, in_use, limit: 4 });
    }
    held.pop();
    assert!(limit.try_acquire().is_ok());
    assert_eq!(limit.set_limit(20), Ok(4));
    assert_eq!(seen(&limit), (3, 20, 17));
}

#[test]
fn a_permit_is_released_once_on_drop_panic_and_in_another_thread() {
    let limit = Arc::new(InFlight::new(3).unwrap());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _permit = limit.try_acquire_n(2).unwrap();
        panic!("in the middle of the work");
    }));
    assert!(panicked.is_err());
    assert_eq!(limit.in_use(), 0);
    let owned = limit.try_acquire_n_owned(3).unwrap();
    assert_eq!((owned.weight(), limit.in_use()), (3, 3));
    std::thread::spawn(move || drop(owned)).join().unwrap();
    assert_eq!(limit.in_use(), 0);
    assert!(limit.try_acquire_owned().is_ok());
    assert_eq!(Arc::strong_count(&limit), 1, "a dropped permit keeps nothing");
}

#[test]
fn what_is_shown_of_it() {
    let limit = Arc::new(InFlight::new(3).unwrap());
    let (one, two) = (limit.try_acquire().unwrap(), limit.try_acquire_n_owned(2).unwrap());
    assert_eq!(format!("{limit:?}"), "InFlight { in_use: 3, limit: 3, someone_waits: false, .. }");
    assert_eq!(format!("{one:?} {two:?}"), "Permit { weight: 1, .. } OwnedPermit { weight: 2, .. }");
    let texts = [
        (
            NoPermit::OverLimit { weight: 4, limit: 3 },
            "weight 4 is above the limit of 3 and will never be admitted under it",
        ),
        (NoPermit::ZeroWeight, "weight 0 is invalid: a weight is at least 1"),
        (NoPermit::LineFull { depth: 8 }, "the line is full: 8 wait already"),
        (NoPermit::TimedOut, "time was up before a permit came free"),
        (
            NoPermit::OthersFirst { weight: 1, in_use: 2, limit: 3 },
            "2 of 3 permits are in use, and others wait for theirs before these 1",
        ),
    ];
    for (refusal, text) in texts {
        assert_eq!(refusal.to_string(), text);
    }
}
