//! The results for machines: an array with one object a limit.

use serde::Serialize;

use super::Replayed;
use super::lane::Lane;
use crate::failure::Failure;
use crate::trace::Trace;

/// One limit's results. `requests == admitted + refused + never`; `zero_cost` and `skipped` come on top.
#[derive(Serialize)]
struct Outcome<'a> {
    limit: &'a str,
    requests: u64,
    offered_cost: u128,
    admitted: u64,
    admitted_cost: u128,
    refused: u64,
    refused_cost: u128,
    never: u64,
    never_cost: u128,
    zero_cost: u64,
    skipped: u64,
    bound_violations: u64,
    span_seconds: f64,
    /// Null where nothing was refused, as is the next.
    longest_wait_seconds: Option<f64>,
    mean_wait_seconds: Option<f64>,
    capacity: u64,
    least_available: u64,
}

impl<'a> Outcome<'a> {
    fn new(lane: &'a Lane, trace: &Trace) -> Self {
        let tally = lane.tally();
        let (offered, mean) = (tally.offered(), tally.mean_wait());
        Self {
            limit: lane.name(),
            requests: offered.requests,
            offered_cost: offered.cost,
            admitted: tally.admitted.requests,
            admitted_cost: tally.admitted.cost,
            refused: tally.refused.requests,
            refused_cost: tally.refused.cost,
            never: tally.never.requests,
            never_cost: tally.never.cost,
            zero_cost: tally.zero_cost,
            skipped: trace.skipped(),
            bound_violations: lane.violations(),
            span_seconds: trace.span().as_secs_f64(),
            longest_wait_seconds: mean.map(|_| tally.longest_wait.as_secs_f64()),
            mean_wait_seconds: mean.map(|mean| mean.as_secs_f64()),
            capacity: lane.quota().capacity(),
            least_available: lane.least_available(),
        }
    }
}

/// The whole array as text, with a line feed at its end.
pub(crate) fn render(replayed: &Replayed) -> Result<String, Failure> {
    let outcomes: Vec<_> = replayed.lanes.iter().map(|lane| Outcome::new(lane, &replayed.trace)).collect();
    let text =
        serde_json::to_string_pretty(&outcomes).map_err(|error| Failure::Output(format!("JSON: {error}")))?;
    Ok(text + "\n")
}
