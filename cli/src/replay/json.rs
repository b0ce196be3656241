//! The results for machines: an array with one object a limit.

use serde::Serialize;

use super::Replayed;
use super::by_key::ByKey;
use super::lane::Lane;
use super::table::TOP;
use crate::failure::Failure;
use crate::output::json_text;
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
    /// Null where a store was asked in its own time.
    least_available: Option<u64>,
    #[serde(flatten)]
    store: Option<InStore>,
    #[serde(flatten)]
    keys: Option<Keys<'a>>,
    #[serde(flatten)]
    form: Option<InForm>,
}

/// With `--redis`, of the bucket in the store: how often the one in memory decided otherwise.
#[derive(Serialize)]
struct InStore {
    store: &'static str,
    decided_otherwise: u64,
}

/// With `--algorithm`: how the limit decides, and the most it admitted in any interval as long as its period.
#[derive(Serialize)]
struct InForm {
    algorithm: &'static str,
    period_seconds: f64,
    tokens: u64,
    most_in_a_period: u128,
}

/// With `--key`: what is told of the keys of one limit.
#[derive(Serialize)]
struct Keys<'a> {
    /// Different keys among the requests.
    keys: u64,
    /// The most that the limiter knew at a time.
    keys_peak: u64,
    /// Those whose buckets are not full at the end.
    keys_live: u64,
    /// What the limiter took when it knew most keys, by a measured figure for each.
    memory_bytes: u64,
    top_refused: Vec<TopRefused<'a>>,
}

#[derive(Serialize)]
struct TopRefused<'a> {
    key: &'a str,
    refused: u64,
    refused_cost: u128,
}

impl<'a> Keys<'a> {
    fn new(by_key: &'a ByKey) -> Self {
        let top = by_key.top_refused(TOP).into_iter().map(|refused| TopRefused {
            key: refused.key,
            refused: refused.count.requests,
            refused_cost: refused.count.cost,
        });
        Self {
            keys: by_key.distinct(),
            keys_peak: by_key.most_known(),
            keys_live: by_key.live(),
            memory_bytes: by_key.memory_bytes(),
            top_refused: top.collect(),
        }
    }
}

impl<'a> Outcome<'a> {
    fn new(lane: &'a Lane, trace: &Trace) -> Self {
        let tally = lane.tally();
        let (offered, mean) = (tally.offered(), tally.mean_wait());
        Self {
            limit: lane.limit(),
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
            capacity: lane.capacity(),
            least_available: lane.least_available(),
            store: lane.otherwise().map(|decided_otherwise| InStore { store: "redis", decided_otherwise }),
            keys: lane.keys().map(Keys::new),
            form: lane.form().map(|form| InForm {
                algorithm: form.algorithm.name(),
                period_seconds: lane.quota().period().as_secs_f64(),
                tokens: lane.quota().tokens(),
                most_in_a_period: form.in_period.most(),
            }),
        }
    }
}

/// The whole array as text, with a line feed at its end.
pub(crate) fn render(replayed: &Replayed) -> Result<String, Failure> {
    json_text(&replayed.lanes.iter().map(|lane| Outcome::new(lane, &replayed.trace)).collect::<Vec<_>>())
}
