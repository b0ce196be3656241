//! The results for machines: one object.

use serde::Serialize;

use super::Planned;
use super::advice::{Advice, Line, Waiting};
use super::curve::{self, Point};
use super::load::Load;
use super::sweep::{Cell, Sweep};
use super::{MINUTE, SECOND};
use crate::failure::Failure;
use crate::output::json_text;

/// `requests` are arrivals with a cost; `zero_cost` and `skipped` come on top.
#[derive(Serialize)]
struct Report<'a> {
    trace: Trace<'a>,
    recommended: Recommended<'a>,
    curve: Vec<Fit>,
    sweep: Vec<Tried>,
}

#[derive(Serialize)]
struct FiguresReport<'a> {
    recommended: Recommended<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    name: &'a str,
    cost: String,
    requests: u64,
    offered_cost: u128,
    mean_cost: f64,
    largest_cost: u64,
    zero_cost: u64,
    skipped: u64,
    span_seconds: f64,
    windows: Vec<Window>,
}

/// The cost in windows of one length; those without a request count.
#[derive(Serialize)]
struct Window {
    seconds: u64,
    count: u64,
    mean_cost: f64,
    p50_cost: u128,
    p95_cost: u128,
    p99_cost: u128,
    max_cost: u128,
}

#[derive(Serialize)]
struct Recommended<'a> {
    limit: String,
    rate_tokens: u64,
    rate_period_seconds: f64,
    capacity: u64,
    /// `knee`, `headroom`, `rate`, `capacity`, `given` or `concurrency`.
    chosen_by: &'a str,
    in_flight_mean: Option<f64>,
    in_flight_limit: Option<u32>,
    queue_depth: Option<u64>,
    /// Null without a trace or without `--accept-wait`.
    with_queue: Option<WithQueue>,
    /// Null without a trace.
    check: Option<Check>,
    formulas: Vec<Formula<'a>>,
    warnings: Vec<Told<'a>>,
}

/// The least capacity at the same rate if requests may wait in a queue.
#[derive(Serialize)]
struct WithQueue {
    limit: String,
    capacity: u64,
    wait_seconds: f64,
    admitted: u64,
    smaller_admitted: Option<u64>,
}

/// The limit tried on the whole trace, and the next smaller one.
#[derive(Serialize)]
struct Check {
    target: f64,
    target_requests: u64,
    #[serde(flatten)]
    outcome: Decided,
    /// Null where nothing was searched for, or where there is no less.
    smaller_limit: Option<String>,
    smaller_admitted: Option<u64>,
}

#[derive(Serialize)]
struct Decided {
    admitted: u64,
    admitted_cost: u128,
    refused: u64,
    never: u64,
    /// Null where nothing was refused.
    longest_wait_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Formula<'a> {
    of: &'a str,
    value: &'a str,
    formula: &'a str,
    numbers: &'a str,
}

#[derive(Serialize)]
struct Told<'a> {
    kind: &'a str,
    message: &'a str,
}

/// The least capacities for a rate.
#[derive(Serialize)]
struct Fit {
    rate_tokens: u64,
    rate_period_seconds: f64,
    capacity_for_all: u64,
    capacity_for_target: u64,
    knee: bool,
}

#[derive(Serialize)]
struct Tried {
    limit: String,
    rate_tokens: u64,
    rate_period_seconds: f64,
    capacity: u64,
    #[serde(flatten)]
    outcome: Decided,
    utilisation: f64,
}

/// The whole object as text, with a line feed at its end.
pub(super) fn render(planned: &Planned) -> Result<String, Failure> {
    json_text(&Report {
        trace: Trace::new(&planned.load, planned.wanted.cost.to_string()),
        recommended: Recommended::new(&planned.advice, Some(Check::new(planned))),
        curve: fits(&planned.curve),
        sweep: tried(&planned.sweep),
    })
}

/// The same without a trace.
pub(super) fn figures(advice: &Advice) -> Result<String, Failure> {
    json_text(&FiguresReport { recommended: Recommended::new(advice, None) })
}

impl<'a> Trace<'a> {
    fn new(load: &'a Load, cost: String) -> Self {
        let windows = [SECOND, MINUTE].into_iter().map(|width| {
            let windows = load.windows(width);
            Window {
                seconds: width.as_secs(),
                count: windows.count,
                mean_cost: load.mean_cost_in(width),
                p50_cost: windows.percentile(50),
                p95_cost: windows.percentile(95),
                p99_cost: windows.percentile(99),
                max_cost: windows.most(),
            }
        });
        Self {
            name: &load.name,
            cost,
            requests: load.len(),
            offered_cost: load.cost,
            mean_cost: load.mean_cost(),
            largest_cost: load.largest,
            zero_cost: load.zero_cost,
            skipped: load.skipped,
            span_seconds: load.span.as_secs_f64(),
            windows: windows.collect(),
        }
    }
}

impl<'a> Recommended<'a> {
    fn new(advice: &'a Advice, check: Option<Check>) -> Self {
        let formula = |line: &'a Line| Formula {
            of: line.what,
            value: &line.value,
            formula: &line.formula,
            numbers: &line.numbers,
        };
        let warnings = advice.warnings.iter();
        Self {
            limit: advice.quota.to_string(),
            rate_tokens: advice.quota.tokens(),
            rate_period_seconds: advice.quota.period().as_secs_f64(),
            capacity: advice.quota.capacity(),
            chosen_by: advice.chosen_by,
            in_flight_mean: advice.in_flight_mean,
            in_flight_limit: advice.in_flight_limit,
            queue_depth: advice.queue_depth,
            with_queue: advice.waiting.as_ref().map(WithQueue::new),
            check,
            formulas: advice.lines.iter().map(formula).collect(),
            warnings: warnings.map(|told| Told { kind: told.kind, message: &told.message }).collect(),
        }
    }
}

impl WithQueue {
    fn new(waiting: &Waiting) -> Self {
        Self {
            limit: waiting.quota.to_string(),
            capacity: waiting.quota.capacity(),
            wait_seconds: waiting.wait.as_secs_f64(),
            admitted: waiting.admitted,
            smaller_admitted: waiting.smaller_admitted,
        }
    }
}

impl Check {
    fn new(planned: &Planned) -> Self {
        let smaller = planned.choice.smaller;
        Self {
            target: planned.target.as_f64(),
            target_requests: planned.target.of(planned.load.len()),
            outcome: Decided::new(&planned.choice.outcome),
            smaller_limit: smaller.map(|(quota, _)| quota.to_string()),
            smaller_admitted: smaller.map(|(_, admitted)| admitted),
        }
    }
}

impl Decided {
    fn new(outcome: &super::trial::Outcome) -> Self {
        let wait = outcome.longest_wait.as_secs_f64();
        Self {
            admitted: outcome.admitted,
            admitted_cost: outcome.admitted_cost,
            refused: outcome.refused,
            never: outcome.never,
            longest_wait_seconds: (outcome.refused > 0).then_some(wait),
        }
    }
}

fn fits(points: &[Point]) -> Vec<Fit> {
    let knee = curve::knee(points);
    let fit = |(index, point): (usize, &Point)| Fit {
        rate_tokens: point.rate.tokens,
        rate_period_seconds: point.rate.period.as_secs_f64(),
        capacity_for_all: point.for_all,
        capacity_for_target: point.for_target,
        knee: Some(index) == knee,
    };
    points.iter().enumerate().map(fit).collect()
}

fn tried(sweep: &Sweep) -> Vec<Tried> {
    let tried = |cell: &Cell| Tried {
        limit: cell.quota.to_string(),
        rate_tokens: cell.rate.tokens,
        rate_period_seconds: cell.rate.period.as_secs_f64(),
        capacity: cell.quota.capacity(),
        outcome: Decided::new(&cell.outcome),
        utilisation: cell.utilisation,
    };
    sweep.cells.iter().map(tried).collect()
}
