//! The results for machines.

use serde::Serialize;
use tollgate_bench::machine::Machine;

use super::super::floors::Floors;
use super::super::json::Speed;
use super::loads::{Row, rows};
use super::{Compared, Flooded, Scenario};
use crate::failure::Failure;
use crate::output::json_text;

#[derive(Serialize)]
struct Report<'a> {
    machine: serde_json::Value,
    floor: &'a Floors,
    results: Vec<Outcome>,
    floods: Vec<FloodOutcome>,
}

/// One row of a stream of known keys.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    speed: Speed,
    offered: u64,
    admitted: u64,
    /// Windows behind `ns_per_op`.
    windows: usize,
    /// Whether these were taken although the machine disturbed them, for want of others.
    disturbed: bool,
}

impl Outcome {
    fn new(row: &Row<'_>) -> Self {
        Self {
            speed: Speed {
                limiter: row.cell.entry.name,
                scenario: Scenario::Load(row.cell.pattern).name(),
                threads: row.cell.threads,
                placement: row.placement.map(|placement| placement.name()),
                ns_per_op: row.nanos,
                mops: 1e3 / row.nanos,
                ratio_to_floor: row.ratio_to_floor,
                ratio_to_governor: row.ratio_to_governor,
            },
            offered: row.cell.offered,
            admitted: row.cell.admitted,
            windows: row.windows,
            disturbed: row.disturbed,
        }
    }
}

/// One flood.
#[derive(Serialize)]
struct FloodOutcome {
    limiter: &'static str,
    scenario: &'static str,
    threads: usize,
    ns_per_op: f64,
    mops: f64,
    ratio_to_governor: Option<f64>,
    keys: u64,
    admitted: u64,
    keys_live: u64,
    /// What the process grew by; null where the system does not tell, as are the next two.
    memory_bytes: Option<u64>,
    memory_bytes_at_a_tenth: Option<u64>,
    bytes_a_live_key: Option<f64>,
    victim_admitted: u64,
}

impl FloodOutcome {
    fn new(flooded: &Flooded, compared: &Compared) -> Self {
        let flood = &flooded.flood;
        Self {
            limiter: flooded.entry.name,
            scenario: Scenario::Flood.name(),
            threads: flooded.threads,
            ns_per_op: flood.ns_per_op,
            mops: 1e3 / flood.ns_per_op,
            ratio_to_governor: compared.ratio_to_governor(flooded),
            keys: flood.keys,
            admitted: flood.admitted,
            keys_live: flood.keys_live,
            memory_bytes: flood.memory_bytes,
            memory_bytes_at_a_tenth: flood.memory_bytes_at_a_tenth,
            bytes_a_live_key: flood.bytes_a_live_key(),
            victim_admitted: flood.victim_admitted,
        }
    }
}

/// The whole object as text, with a line feed at its end.
pub(super) fn render(compared: &Compared) -> Result<String, Failure> {
    json_text(&Report {
        machine: Machine::to_json(&compared.machine),
        floor: &compared.floors,
        results: rows(&compared.cells).iter().map(Outcome::new).collect(),
        floods: compared.listed_floods().map(|flooded| FloodOutcome::new(flooded, compared)).collect(),
    })
}
