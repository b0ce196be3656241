//! The results for machines.

use serde::Serialize;

use super::table::slower;
use super::{Bout, Compared};
use crate::failure::Failure;
use crate::output::json_text;

#[derive(Serialize)]
struct Report<'a> {
    machine: serde_json::Value,
    store: &'a str,
    results: Vec<Outcome>,
}

/// One limiter in one scenario. Times are nanoseconds, counts tokens.
#[derive(Serialize)]
struct Outcome {
    limiter: &'static str,
    scenario: &'static str,
    callers: u16,
    decisions_per_second: f64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    /// To the time of the bucket in the process; null if that was not asked.
    ratio_to_bucket: Option<f64>,
    offered: u64,
    admitted: u64,
    /// `B + r*t`, by the server's time.
    bound: u64,
    violations: u64,
}

/// The whole report as text, with a line feed at its end.
pub(super) fn render(compared: &Compared) -> Result<String, Failure> {
    let results = compared.bouts.iter().map(|bout| Outcome::new(bout, &compared.bouts)).collect();
    json_text(&Report { machine: compared.machine.to_json(), store: &compared.store, results })
}

impl Outcome {
    fn new(bout: &Bout, bouts: &[Bout]) -> Self {
        let nanos = |span: std::time::Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self {
            limiter: bout.kind.name(),
            scenario: bout.scenario.name(),
            callers: bout.callers,
            decisions_per_second: bout.per_second(),
            p50_ns: nanos(bout.latency(500_000)),
            p90_ns: nanos(bout.latency(900_000)),
            p99_ns: nanos(bout.latency(990_000)),
            max_ns: nanos(bout.longest()),
            ratio_to_bucket: slower(bout, bouts),
            offered: bout.tally.offered,
            admitted: bout.tally.admitted,
            bound: bout.tally.bound,
            violations: bout.tally.violations,
        }
    }
}
