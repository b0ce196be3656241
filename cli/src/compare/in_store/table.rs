//! The results for a person: a table for each scenario.

use tollgate_bench::Scenario;

use super::super::table::{OVER, digits, grid, reddened};
use super::{Bout, Compared, Kind};
use crate::text::{grouped, percent, span};

const HEADER: [&str; 11] = [
    "callers",
    "limiter",
    "decisions/s",
    "p50",
    "p90",
    "p99",
    "max",
    "x bucket",
    "admitted",
    "of B + r*t",
    "over",
];

/// The whole output, with a line feed at its end.
pub(super) fn render(compared: &Compared) -> String {
    let Compared { machine, store, bouts } = compared;
    let mut out = format!(
        "{machine}\nstore: {store}; callers share one connection and one thread, leases are drawn by another\n"
    );
    if cfg!(debug_assertions) {
        out += "NOT OPTIMIZED: a debug build, its figures say nothing\n";
    }
    let mut of_scenarios = bouts.chunk_by(|one, next| one.scenario == next.scenario);
    while let Some([first, rest @ ..]) = of_scenarios.next() {
        let rows = std::iter::once(first).chain(rest).map(|bout| figures(bout, bouts));
        let table = grid(&HEADER, rows).to_string();
        out += &format!("\n{}\n{}\n", title(first.scenario), reddened(&table));
    }
    out
}

fn title(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Deny => "deny: a token an hour, and two to begin with: every call is refused",
        Scenario::Boundary => "boundary: about three times the rate is asked for",
        _ => "admit: every call is admitted",
    }
}

fn figures(bout: &Bout, bouts: &[Bout]) -> Vec<String> {
    let within = |of_a_million| span(bout.latency(of_a_million));
    vec![
        bout.callers.to_string(),
        bout.kind.name().to_owned(),
        grouped(bout.per_second() as u64),
        within(500_000),
        within(900_000),
        within(990_000),
        span(bout.longest()),
        slower(bout, bouts).map_or("-".into(), digits),
        grouped(bout.tally.admitted),
        percent(bout.tally.admitted, bout.tally.bound),
        if bout.tally.violations == 0 { "no".into() } else { OVER.into() },
    ]
}

/// How many times as long a decision takes as one of the bucket in this process.
pub(super) fn slower(bout: &Bout, bouts: &[Bout]) -> Option<f64> {
    let same = |other: &&Bout| {
        (other.kind, other.scenario, other.callers) == (Kind::InProcess, bout.scenario, bout.callers)
    };
    bouts.iter().find(same).map(|bucket| bucket.per_second() / bout.per_second())
}
