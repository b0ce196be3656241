//! Bookings and their cancellation: places are told apart, and what is cancelled is there once.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::wait::Booking;
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{Bucket, at, bucket, explore, leak, missing, race2, race3};

type Place = Booking<&'static Bucket>;

fn book(bucket: &'static Bucket, cost: u64) -> Place {
    bucket.book_at(cost, Duration::MAX, at(0)).expect("everyone waits")
}

/// Two book at once: no place is given twice, and the word tells their order.
#[test]
fn two_places_are_told_apart() {
    let outcomes = explore("booking_two_places", || {
        let bucket = bucket(1);
        let book = move || book(bucket, 1).due().as_u64();
        let (first, second) = race2(book, book);
        (first, second, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1, 2), (1, 0, 2)]));
}

/// Two book while a third cancels what was booked before them. Only what nobody stands behind comes back.
#[test]
fn two_bookings_and_a_cancel() {
    let outcomes = explore("booking_two_and_a_cancel", || {
        let bucket = bucket(1);
        let cancelled = book(bucket, 1);
        let book = move || book(bucket, 1).due().as_u64();
        let ((), first, second) = race3(move || cancelled.cancel_at(at(0)), book, book);
        let mut due = [first, second];
        due.sort_unstable();
        (due, missing(bucket, 0))
    });
    // Cancelled first, the place is taken anew; cancelled later, those behind keep their times and it is withheld.
    assert_eq!(outcomes, BTreeSet::from([([0, 1], 2), ([1, 2], 3)]));
}

/// A booking beside an admission, with a token that comes meanwhile: three are taken of three, or the admission is
/// refused.
#[test]
fn a_booking_beside_a_refill_and_an_admission() {
    let outcomes = explore("booking_refill_admission", || {
        let bucket = bucket(1);
        let taken = bucket.try_acquire_at(at(0)).is_ok();
        let book = move || bucket.book(1, Duration::MAX).map_or(u64::MAX, |place| place.due().as_u64());
        let (due, admitted, ()) =
            race3(book, move || bucket.try_acquire().is_ok(), || bucket.clock().set(at(1)));
        (taken, due, admitted, missing(bucket, 1))
    });
    // The place is due at 1, and the token of 1 is its own; or the admission took it, and the place is due at 2.
    assert_eq!(outcomes, BTreeSet::from([(true, 1, false, 1), (true, 2, true, 2)]));
}

/// Two cancel at once, in any order of their places: nothing is left, nothing is given twice.
#[test]
fn two_cancellations() {
    let outcomes = explore("booking_two_cancellations", || {
        let bucket = bucket(2);
        let (low, high) = (book(bucket, 2), book(bucket, 1));
        race2(move || low.cancel_at(at(0)), move || high.cancel_at(at(0)));
        missing(bucket, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([0]));
}

/// A cancellation beside an admission and the refill that it saw: as much is there as if the booking had never been.
#[test]
fn a_cancellation_sees_an_admissions_refill() {
    let outcomes = explore("booking_cancel_sees_refill", || {
        let bucket = bucket(10);
        let place = book(bucket, 4);
        let take = move || {
            bucket.clock().set(at(4));
            bucket.try_acquire_n(4).is_ok()
        };
        let ((), admitted) = race2(move || place.cancel(), take);
        (admitted, missing(bucket, 4))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 4)]));
}

/// The pause is published by the caller's own flag: a booking that happens after it is due at its end.
#[test]
fn a_booking_obeys_a_pause_before_it() {
    let outcomes = explore("booking_after_a_pause", || {
        let (bucket, paused) = (bucket(1), leak(AtomicBool::new(false)));
        let pause = move || {
            bucket.pause_until(at(5));
            paused.store(true, Ordering::Release);
        };
        let ask = move || (paused.load(Ordering::Acquire), book(bucket, 1).due().as_u64());
        let ((), (paused, due)) = race2(pause, ask);
        (paused, due, book(bucket, 1).due().as_u64())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 5, 6), (false, 5, 6), (false, 0, 5)]));
}
