//! `window`: fixed windows, the sliding counter, the sliding log.

mod basics;
mod bounds;
#[cfg(feature = "calendar")]
mod calendar;
mod extremes;
mod model;
#[cfg(feature = "std")]
mod stress;
mod wall;

use std::time::Duration;

use tollgate::window::{Every, Fixed, SlidingCounter, WindowError};
use tollgate::{Denied, Manual, Nanos};

fn at(nanos: u64) -> Nanos {
    Nanos::new(nanos)
}

fn every(nanos: u64) -> Every {
    Every::new(Duration::from_nanos(nanos)).unwrap()
}

fn fixed(limit: u64, length: u64) -> Fixed<Every, Manual> {
    Fixed::with_clock(limit, every(length), Manual::new()).unwrap()
}

fn counter(limit: u64, length: u64) -> SlidingCounter<Manual> {
    SlidingCounter::with_clock(limit, every(length), Manual::new()).unwrap()
}

#[cfg(feature = "std")]
fn log(limit: u64, length: u64) -> tollgate::window::SlidingLog<Manual> {
    tollgate::window::SlidingLog::with_clock(limit, Duration::from_nanos(length), Manual::new()).unwrap()
}

/// The wait of a refusal, in nanoseconds; `None` if it was admitted.
fn wait(decision: Result<(), Denied>) -> Option<u64> {
    decision.err().map(|denied| denied.wait().unwrap().as_nanos().try_into().unwrap())
}

/// The largest limit that a constructor names, and nothing more.
fn most<T>(made: Result<T, WindowError>) -> u64 {
    match made.map(drop) {
        Err(WindowError::LimitTooLarge { most, .. }) => most,
        other => panic!("{other:?}"),
    }
}
