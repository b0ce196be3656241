//! The rows that benchmarks share: one limiter, called in one way.

use crate::decide::{Decide, Waits};
use crate::loops::{back_to_back, fenced, waiting, weighted, weighted_cost};
use crate::rounds::{Lap, Row};
use crate::scenario::Audit;

/// Calls for one token, back to back.
pub fn plain<'a>(name: impl Into<String>, limiter: &'a impl Decide, audit: Audit) -> Row<'a> {
    Row::new(name, audit, move |calls| Lap::of(calls, || back_to_back(limiter, calls)))
}

/// The same with a fence after each call, so that calls do not overlap.
pub fn after_fence<'a>(name: impl Into<String>, limiter: &'a impl Decide, audit: Audit) -> Row<'a> {
    Row::new(name, audit, move |calls| Lap::of(calls, || fenced(limiter, calls)))
}

/// Refusals whose wait is asked for.
pub fn with_wait<'a>(name: impl Into<String>, limiter: &'a impl Waits) -> Row<'a> {
    Row::new(name, Audit::Nothing, move |calls| Lap::of(calls, || waiting(limiter, calls)))
}

/// Admissions of several costs.
pub fn with_costs<'a>(name: impl Into<String>, limiter: &'a impl Decide) -> Row<'a> {
    Row::new(name, Audit::All, move |calls| lap_with_costs(limiter, calls))
}

/// One lap of [`with_costs`]. It counts as admitted only if every call was.
#[inline(always)]
pub fn lap_with_costs(limiter: &impl Decide, calls: u64) -> Lap {
    let lap = Lap::of(weighted_cost(calls), || weighted(limiter, calls));
    Lap { admitted: lap.offered * u64::from(lap.admitted == calls), ..lap }
}
