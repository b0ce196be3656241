//! The results for machines.

use serde::Serialize;
use tollgate_bench::machine::Machine;

use super::Compared;
use super::floors::Floors;
use super::rows::{Row, rows};
use crate::failure::Failure;
use crate::output::json_text;

#[derive(Serialize)]
struct Report<'a> {
    machine: serde_json::Value,
    floor: &'a Floors,
    results: Vec<Outcome>,
}

/// Who was how fast, where, and beside whom: how a row of any comparison begins. All times are nanoseconds.
#[derive(Serialize)]
pub(super) struct Speed {
    pub(super) limiter: &'static str,
    pub(super) scenario: &'static str,
    pub(super) threads: usize,
    /// `near`, `far`, or null where one core does all.
    pub(super) placement: Option<&'static str>,
    pub(super) ns_per_op: f64,
    pub(super) mops: f64,
    pub(super) ratio_to_floor: Option<f64>,
    pub(super) ratio_to_governor: Option<f64>,
}

/// One row. All counts are tokens.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    speed: Speed,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    p9999_ns: u64,
    max_ns: u64,
    offered: u64,
    admitted: u64,
    /// `B + r*t`.
    bound: u64,
    /// `bound - admitted`.
    unused: u64,
    /// `(B - N*C) + r*t - N*C`, with the `N*C` tokens that may lie in shards; null away from the boundary.
    promised: Option<u64>,
    /// `promised - admitted`, or 0.
    unused_of_promised: Option<u64>,
    violations: u64,
    /// Windows behind `ns_per_op`.
    windows: usize,
    /// Whether these were taken although the machine disturbed them, for want of others.
    disturbed: bool,
}

impl Outcome {
    fn new(row: &Row<'_>) -> Self {
        let tally = row.tally();
        let promised = row.cell.accuracy.as_ref().map(|accuracy| accuracy.promised());
        Self {
            speed: Speed {
                limiter: row.limiter(),
                scenario: row.scenario().name(),
                threads: row.threads(),
                placement: row.placement.map(|placement| placement.name()),
                ns_per_op: row.nanos,
                mops: row.mops(),
                ratio_to_floor: row.ratio_to_floor,
                ratio_to_governor: row.ratio_to_governor,
            },
            p50_ns: row.latency(500_000),
            p99_ns: row.latency(990_000),
            p999_ns: row.latency(999_000),
            p9999_ns: row.latency(999_900),
            max_ns: row.longest(),
            offered: tally.offered,
            admitted: tally.admitted,
            bound: tally.bound,
            unused: tally.unused(),
            promised,
            unused_of_promised: promised.map(|promised| promised.saturating_sub(tally.admitted)),
            violations: row.cell.violations(),
            windows: row.windows,
            disturbed: row.disturbed,
        }
    }
}

/// The whole object as text, with a line feed at its end.
pub(crate) fn render(compared: &Compared) -> Result<String, Failure> {
    let Compared { machine, floors, cells, .. } = compared;
    json_text(&Report {
        machine: Machine::to_json(machine),
        floor: floors,
        results: rows(cells).iter().map(Outcome::new).collect(),
    })
}
