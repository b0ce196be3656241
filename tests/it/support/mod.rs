//! What the tests share: buckets from plain numbers, the scale rule, the bound, and a bucket that is checked against the
//! model at every step.

mod bound;
mod pair;
mod scale;

use std::time::Duration;

use tollgate::{Bucket, Clock, Denied, Manual, Nanos, Quota};

pub(crate) use self::bound::{Admission, over_the_bound};
pub(crate) use self::pair::Pair;
pub(crate) use self::scale::Scale;
use crate::oracle::Answer;

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000_000_000;
pub(crate) const MINUTE: u64 = 60 * S;
pub(crate) const HOUR: u64 = 3600 * S;
pub(crate) const DAY: u64 = 24 * HOUR;
pub(crate) const YEAR: u64 = 31_557_600 * S;
/// Readings at which nothing may have gone wrong yet (GUARANTEES 1).
pub(crate) const FIFTY_YEARS: u64 = 50 * YEAR;

pub(crate) fn at(nanos: u64) -> Nanos {
    Nanos::new(nanos)
}

pub(crate) fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// `tokens` a `period` nanoseconds and a capacity of `burst`, written `L(tokens/period, burst)` in the cases.
pub(crate) fn quota(tokens: u64, period: u64, burst: u64) -> Quota {
    Quota::with_burst(tokens, nanos(period), burst)
        .unwrap_or_else(|error| panic!("{tokens}/{period} ns burst {burst}: {error}"))
}

/// A bucket on a clock that stands at zero.
pub(crate) fn bucket(quota: Quota) -> Bucket<Manual> {
    Bucket::with_clock(quota, Manual::new())
}

/// Nanoseconds of a refusal that says "not yet".
pub(crate) fn wait_of(refusal: Denied) -> u64 {
    match refusal {
        Denied::NotYet(not_yet) => {
            u64::try_from(not_yet.wait().as_nanos()).expect("a wait is a u64 of nanoseconds")
        }
        other => panic!("{other:?} is not a wait"),
    }
}

/// What the core answered, in the model's words.
pub(crate) fn answer_of(result: Result<(), Denied>) -> Answer {
    match result {
        Ok(()) => Answer::Admitted,
        Err(Denied::NotYet(not_yet)) => Answer::Wait(not_yet.wait().as_nanos()),
        Err(Denied::OverCapacity { .. }) => Answer::Never,
        Err(Denied::ZeroCost) => Answer::Zero,
        Err(Denied::NoRoom(_)) => panic!("a bucket has no keys"),
    }
}

/// The word, as `Debug` shows it.
pub(crate) fn arrival_of<C: Clock>(bucket: &Bucket<C>) -> u64 {
    let text = format!("{bucket:?}");
    let (_, rest) = text.split_once("arrival: ").expect("`Debug` decodes the word");
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().expect("the word is a number")
}
