//! Bookings: when they are due, what is refused, what a cancellation gives back.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::wait::Booking;
use tollgate::{Bucket, Denied, Manual, Nanos};

use crate::support::{FIFTY_YEARS, MS, S, at, bucket, nanos, quota, wait_of};

const FOREVER: Duration = Duration::MAX;

fn level(bucket: &Bucket<Manual>, now: u64) -> i64 {
    let level = bucket.peek_at(at(now));
    level.available() as i64 - level.debt() as i64
}

#[test]
fn a_booking_of_no_patience_is_an_admission() {
    let limit = bucket(quota(1, S, 2));
    assert_eq!(limit.book(1, Duration::ZERO).unwrap().wait(), Duration::ZERO);
    assert_eq!(limit.try_acquire(), Ok(()));
    for now in [0, 1, S - 1] {
        let refused = limit.book_at(1, Duration::ZERO, at(now)).unwrap_err();
        assert_eq!(refused.wait(), limit.try_acquire_at(at(now)).unwrap_err().wait());
        assert_eq!(wait_of(refused), S - now);
    }
    assert_eq!(limit.book_at(1, Duration::ZERO, at(S)).unwrap().due(), at(S));
}

#[test]
fn the_longest_wait_bounds_the_line() {
    let limit = bucket(quota(10, S, 5));
    let booked = (0..1000).filter(|_| limit.book(1, nanos(2 * S)).is_ok()).count();
    assert_eq!(booked, 5 + 20);
    let refused = limit.book(1, nanos(2 * S)).unwrap_err();
    assert_eq!(wait_of(refused), 100 * MS, "until the same booking is taken");
    let Denied::NotYet(not_yet) = refused else { panic!("{refused}") };
    assert_eq!(not_yet.ready_at(), at(100 * MS));
    assert!(limit.book_at(1, nanos(2 * S), at(100 * MS - 1)).is_err());
    assert_eq!(limit.book_at(1, nanos(2 * S), at(100 * MS)).unwrap().wait(), nanos(2 * S));
}

#[test]
fn what_never_fits_is_told_so() {
    let limit = bucket(quota(1, S, 3));
    assert_eq!(limit.book(0, FOREVER).unwrap_err(), Denied::ZeroCost);
    assert_eq!(limit.book(4, FOREVER).unwrap_err(), Denied::OverCapacity { cost: 4, capacity: 3 });
}

#[test]
fn admissions_do_not_barge_in() {
    let limit = bucket(quota(1, S, 1));
    let places: Vec<_> = (0..3).map(|_| limit.book(1, FOREVER).unwrap().due().as_u64()).collect();
    assert_eq!(places, [0, S, 2 * S]);
    for now in [0, S, 2 * S, 3 * S - 1] {
        assert_eq!(wait_of(limit.try_acquire_at(at(now)).unwrap_err()), 3 * S - now);
    }
    assert_eq!(limit.try_acquire_at(at(3 * S)), Ok(()));
}

#[test]
fn a_pause_moves_what_is_booked_in_it_behind_its_end() {
    let limit = bucket(quota(1, S, 2));
    limit.pause_until(at(10 * S));
    let refused = limit.book(1, nanos(10 * S - 1)).unwrap_err();
    assert_eq!(wait_of(refused), 1, "until the end of the pause is near enough");
    let due: Vec<_> = (0..3).map(|_| limit.book(1, FOREVER).unwrap().due().as_u64()).collect();
    assert_eq!(due, [10 * S, 10 * S, 11 * S], "no more than the capacity at its end");
    limit.resume();
    assert!(limit.try_acquire_at(at(10 * S)).is_err(), "they keep their times");
    limit.reset_at(at(S));
    assert_eq!(limit.try_acquire_n_at(2, at(S)), Ok(()), "unless the bucket is reset");
}

#[test]
fn a_pause_without_end_is_refused() {
    let limit = bucket(quota(1, S, 2));
    limit.pause_until(Nanos::MAX);
    assert_eq!(limit.book(1, FOREVER).unwrap_err().wait(), Some(Nanos::MAX.as_duration()));
    limit.resume();
    assert_eq!(level(&limit, 0), 2);
}

#[test]
fn the_end_of_what_can_be_counted_is_refused() {
    let limit = bucket(quota(1, S, 1));
    for now in [FIFTY_YEARS - 1, FIFTY_YEARS] {
        let limit = bucket(quota(1, S, 1));
        assert!(limit.book_at(1, FOREVER, at(now)).is_ok(), "{now}");
    }
    assert_eq!(limit.book_at(1, FOREVER, Nanos::MAX).unwrap_err().wait(), Some(Nanos::MAX.as_duration()));
    // One token a year: the line grows to the horizon and no further.
    let slow = bucket(quota(1, 365 * 86_400 * S, 1));
    let dues: Vec<_> = (0..1000).map_while(|_| slow.book(1, FOREVER).ok()).map(|place| place.due()).collect();
    assert!((50..1000).contains(&dues.len()), "{}", dues.len());
    assert!(dues.is_sorted() && dues.last() < Some(&Nanos::MAX));
    assert_eq!(slow.book(1, FOREVER).unwrap_err().wait(), Some(Nanos::MAX.as_duration()));
}

#[test]
fn a_booking_kept_or_dropped_is_spent_and_a_refused_one_costs_nothing() {
    let limit = bucket(quota(1, S, 3));
    drop(limit.book(2, FOREVER).unwrap());
    assert_eq!(level(&limit, 0), 1);
    for _ in 0..100 {
        assert!(limit.book(3, nanos(2 * S - 1)).is_err());
    }
    assert_eq!(level(&limit, 0), 1);
    assert_eq!(limit.book(3, nanos(2 * S)).unwrap().wait(), nanos(2 * S));
}

/// The second scenario of case C42, exactly: never more than the capacity at one moment.
#[test]
fn what_those_behind_need_is_withheld_until_they_are_gone() {
    let limit = bucket(quota(10, S, 20));
    assert_eq!(limit.try_acquire_n(20), Ok(()));
    let (middle, last) = (limit.book(20, FOREVER).unwrap(), limit.book(5, FOREVER).unwrap());
    assert_eq!((middle.due(), last.due()), (at(2 * S), at(2_500 * MS)));
    middle.cancel_at(at(100 * MS));
    assert_eq!(limit.peek_at(at(2_500 * MS)).available(), 15, "15 fresh and 5 booked");
    last.cancel_at(at(100 * MS));
    assert_eq!(level(&limit, 100 * MS), 1, "as if neither had been");
}

#[test]
fn a_cancellation_reads_the_clock_of_the_bucket() {
    let limit = bucket(quota(1, S, 5));
    assert_eq!(limit.try_acquire_n(5), Ok(()));
    let booking = limit.book(5, FOREVER).unwrap();
    limit.clock().set(at(7 * S));
    booking.cancel();
    assert_eq!(level(&limit, 7 * S), 5, "three remained; two had been refilled anyway");
    assert_eq!(limit.peek_at(at(7 * S)).time_to_full(), Duration::ZERO);
}

#[test]
fn what_was_refunded_or_reset_meanwhile_is_not_given_twice() {
    let limit = bucket(quota(1, S, 10));
    assert_eq!(limit.try_acquire_n(8), Ok(()));
    let booking = limit.book(2, FOREVER).unwrap();
    limit.refund(10);
    assert_eq!(limit.try_acquire_n(10), Ok(()));
    booking.cancel();
    assert_eq!(level(&limit, 0), 0);
    let booking = limit.book(4, FOREVER).unwrap();
    limit.reset();
    assert_eq!(limit.try_acquire_n(10), Ok(()));
    booking.cancel();
    assert_eq!(level(&limit, 0), 0);
}

/// A charge that is undone beside bookings is like a refund to them: it can only make them give back less.
#[test]
fn an_undo_beside_a_cancellation() {
    let limit = bucket(quota(1, S, 10));
    let charge = limit.try_charge(4).unwrap();
    let booking = limit.book(8, FOREVER).unwrap();
    charge.undo();
    booking.cancel();
    assert!((6..=10).contains(&level(&limit, 0)), "{}", level(&limit, 0));
}

#[test]
fn a_booking_of_an_arc_goes_anywhere() {
    let limit = Arc::new(bucket(quota(1, S, 1)));
    let bookings: Vec<_> = (0..3).map(|_| Booking::of(Arc::clone(&limit), 1, FOREVER).unwrap()).collect();
    assert_eq!(format!("{:?}", bookings[2]), "Booking { due: 2s, wait: 2s }");
    for booking in bookings {
        std::thread::spawn(move || booking.cancel()).join().unwrap();
    }
    assert_eq!(level(&limit, 0), 1);
}

proptest! {
    /// On the binary scale too a place is due when its cost fits, to the nanosecond, and no earlier.
    #[test]
    fn a_place_is_due_when_an_admission_would_fit(
        rate in 1..=10_000_000_000_u64,
        burst in 1..=1_000_000_u64,
        costs in prop::collection::vec(1..=1_000_000_u64, 1..20),
    ) {
        let limit = bucket(quota(rate, S, burst));
        for cost in costs.into_iter().map(|cost| cost.min(burst)) {
            let told = limit.peek_at(at(0)).wait_for(cost).unwrap();
            let booking = limit.book(cost, FOREVER).unwrap();
            prop_assert_eq!(booking.wait(), told);
            prop_assert!(told.is_zero() || limit.book(cost, Duration::ZERO).is_err());
        }
    }
}
