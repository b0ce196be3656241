//! Clocks that can be glanced at: refusals without a reading, and nothing else.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::time::Duration;

use tollgate::{Bucket, Clock, Denied, Nanos, quota};

use crate::support::{MS, S, at, nanos};

/// A clock that says what it is told, and counts its readings.
struct Told {
    now: Cell<u64>,
    glance: Cell<(u64, u64)>,
    readings: Cell<u32>,
}

impl Clock for Told {
    fn now(&self) -> Nanos {
        self.readings.set(self.readings.get() + 1);
        at(self.now.get())
    }

    fn glance(&self) -> Option<RangeInclusive<Nanos>> {
        let (earliest, latest) = self.glance.get();
        Some(at(earliest)..=at(latest))
    }
}

/// A bucket of 10/s and 3 tokens, drained at 0; then the clock at `now`, between the ends of the glance.
fn drained(now: u64, glance: (u64, u64)) -> Bucket<Told> {
    let clock = Told { now: Cell::new(0), glance: Cell::new((0, 0)), readings: Cell::new(0) };
    let bucket = Bucket::with_clock(quota!("10/s burst 3"), clock);
    bucket.drain();
    bucket.clock().now.set(now);
    bucket.clock().glance.set(glance);
    bucket.clock().readings.set(0);
    bucket
}

fn readings(bucket: &Bucket<Told>) -> u32 {
    bucket.clock().readings.get()
}

#[test]
fn what_is_refused_at_the_latest_needs_no_reading() {
    let bucket = drained(60 * MS, (50 * MS, 100 * MS - 1));
    let refusals = [bucket.try_acquire(), bucket.try_acquire_n(1), bucket.try_acquire_n(3)];
    // From the earliest that it can be now: never too short.
    assert_eq!(
        refusals.map(|refusal| refusal.unwrap_err().wait().unwrap()),
        [50, 50, 250].map(Duration::from_millis)
    );
    assert_eq!(readings(&bucket), 0);
}

#[test]
fn what_might_be_admitted_is_decided_by_the_reading() {
    let bucket = drained(100 * MS - 1, (50 * MS, 100 * MS));
    assert_eq!(bucket.try_acquire().unwrap_err().wait(), Some(nanos(1)));
    assert_eq!((bucket.try_acquire_n(1).is_err(), readings(&bucket)), (true, 2));
    bucket.clock().now.set(100 * MS);
    assert_eq!((bucket.try_acquire(), readings(&bucket)), (Ok(()), 3));
    // Two are not there at the latest.
    assert!(bucket.try_acquire_n(2).is_err());
    assert_eq!(readings(&bucket), 3);
}

#[test]
fn a_pause_is_seen_at_a_glance_and_ended_by_the_reading() {
    let bucket = drained(5 * S, (4 * S, 6 * S));
    bucket.pause_until(at(6 * S + 1));
    assert_eq!(bucket.try_acquire().unwrap_err().wait(), Some(nanos(2 * S + 1)));
    assert_eq!(readings(&bucket), 0);
    bucket.resume();
    bucket.pause_until(at(6 * S));
    assert_eq!(bucket.try_acquire().unwrap_err().wait(), Some(nanos(S)));
    assert_eq!(readings(&bucket), 1);
    bucket.clock().now.set(6 * S);
    assert_eq!(bucket.try_acquire(), Ok(()));
}

#[test]
fn costs_that_are_never_admitted_say_so() {
    let bucket = drained(0, (0, 0));
    assert_eq!(bucket.try_acquire_n(0), Err(Denied::ZeroCost));
    assert_eq!(bucket.try_acquire_n(4), Err(Denied::OverCapacity { cost: 4, capacity: 3 }));
}

#[test]
fn a_reference_is_glanced_at_too() {
    let clock = Told { now: Cell::new(0), glance: Cell::new((0, 0)), readings: Cell::new(0) };
    let bucket = Bucket::with_clock(quota!("1/s"), &clock);
    assert!(bucket.try_acquire().is_ok());
    let before = clock.readings.get();
    assert!(bucket.try_acquire().is_err());
    assert_eq!(clock.readings.get(), before);
}

#[cfg(feature = "std")]
#[test]
fn the_glancing_clock_keeps_its_range_around_the_time() {
    let clock = std::sync::Arc::new(tollgate::Glancing::start(Duration::from_millis(200)).unwrap());
    for _ in 0..1000 {
        let before = clock.now();
        let glance = clock.glance().unwrap();
        assert!(*glance.start() <= clock.now() && before <= *glance.end(), "{glance:?} {before:?}");
        assert_eq!(glance.end().saturating_sub(*glance.start()), Nanos::from(Duration::from_millis(400)));
    }
    assert!(tollgate::Monotonic::new().glance().is_none());
}
