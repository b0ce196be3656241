//! Buckets small enough to think about.

use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

use tollgate::{Denied, Fill, Manual, Nanos, Quota};

/// A bucket on a clock that the threads may move.
pub type Bucket = tollgate::Bucket<&'static Manual>;

/// A full bucket of `capacity` tokens that gets one more every nanosecond, so that time and tokens are the same number.
pub fn bucket(capacity: u64) -> &'static Bucket {
    bucket_of(1, capacity)
}

/// A full bucket of `capacity` tokens that gets one more every `period` nanoseconds.
pub fn bucket_of(period: u64, capacity: u64) -> &'static Bucket {
    made_with(quota(period, capacity))
}

/// As [`bucket`], but with so many tokens to begin with, and after a reset.
pub fn bucket_filled(capacity: u64, tokens: u64) -> &'static Bucket {
    made_with(quota(1, capacity).fill(Fill::Tokens(tokens)).expect("a valid fill"))
}

fn quota(period: u64, capacity: u64) -> Quota {
    Quota::with_burst(1, Duration::from_nanos(period), capacity).expect("a valid quota")
}

fn made_with(quota: Quota) -> &'static Bucket {
    leak(Bucket::with_clock(quota, leak(Manual::new())))
}

/// Something for all threads of an execution, which loom and shuttle want to be `'static`. Executions are small and the
/// process is short.
pub fn leak<T>(shared: T) -> &'static T {
    Box::leak(Box::new(shared))
}

/// A reading.
pub fn at(nanos: u64) -> Nanos {
    Nanos::new(nanos)
}

/// What is missing from a full bucket at a reading, in nanoseconds of refill: the whole of its state, to the unit.
pub fn missing(bucket: &Bucket, now: u64) -> u64 {
    nanos(bucket.peek_at(at(now)).time_to_full())
}

/// The wait that a refusal states, in nanoseconds; `None` if it was admitted.
pub fn wait(decision: Result<(), Denied>) -> Option<u64> {
    decision.err().map(|denied| denied.wait().map_or(u64::MAX, nanos))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A hash without a seed, so that every execution is the same: that of a number is the number.
pub type Itself = BuildHasherDefault<Number>;

/// See [`Itself`].
#[derive(Default)]
pub struct Number(u64);

impl Hasher for Number {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
