//! What is recommended, with the formula and the numbers of each part.

use std::time::Duration;

use tollgate::Quota;

use crate::text::grouped;

/// Everything that is recommended.
pub(super) struct Advice {
    pub(super) quota: Quota,
    /// What the rate or the capacity was chosen by.
    pub(super) chosen_by: &'static str,
    pub(super) in_flight_mean: Option<f64>,
    pub(super) in_flight_limit: Option<u32>,
    pub(super) queue_depth: Option<u64>,
    pub(super) waiting: Option<Waiting>,
    pub(super) lines: Vec<Line>,
    pub(super) warnings: Vec<Warning>,
}

/// The same rate with as little capacity as does if requests may wait.
pub(super) struct Waiting {
    pub(super) quota: Quota,
    pub(super) wait: Duration,
    pub(super) admitted: u64,
    /// With one token less; `None` if there is no less.
    pub(super) smaller_admitted: Option<u64>,
}

/// One figure, and how it was come by.
pub(super) struct Line {
    pub(super) what: &'static str,
    pub(super) value: String,
    /// The formula in names.
    pub(super) formula: String,
    /// The same with the numbers put in.
    pub(super) numbers: String,
}

/// Something to think about before the recommendation is used.
pub(super) struct Warning {
    /// Its name for machines.
    pub(super) kind: &'static str,
    pub(super) message: String,
}

impl Advice {
    pub(super) fn new(quota: Quota, chosen_by: &'static str, lines: Vec<Line>) -> Self {
        Self {
            quota,
            chosen_by,
            in_flight_mean: None,
            in_flight_limit: None,
            queue_depth: None,
            waiting: None,
            lines,
            warnings: vec![],
        }
    }

    /// Adds the depth of a queue in which requests wait up to `wait`, of which so many cost so much together.
    pub(super) fn queue(&mut self, cost: u128, requests: u64, wait: Duration) {
        let depth = queue_depth(&self.quota, (cost, requests), wait);
        self.queue_depth = Some(depth);
        let rate = self.quota.tokens() as f64 / self.quota.period().as_secs_f64();
        let mean = cost as f64 / requests as f64;
        self.lines.push(Line {
            what: "queue depth",
            value: grouped(depth),
            formula: "throughput x acceptable wait, rounded up; throughput = rate / mean cost".into(),
            numbers: format!(
                "{} / {} x {} s = {}",
                per_second(rate),
                decimal(mean),
                wait.as_secs_f64(),
                decimal(rate / mean * wait.as_secs_f64())
            ),
        });
    }

    /// Warns where the capacity holds fewer than two of the largest requests.
    pub(super) fn check_largest(&mut self, largest: u64) {
        let capacity = self.quota.capacity();
        let two = largest.saturating_mul(2);
        let (kind, what) = match capacity {
            _ if capacity < largest => {
                ("largest_never_admitted", format!("a request of {} is never admitted", grouped(largest)))
            }
            _ if capacity < two => (
                "capacity_below_two_largest",
                format!(
                    "after one request of {} the next such waits for {} tokens of refill, and is overtaken by small \
                     ones for as long as they come",
                    grouped(largest),
                    grouped(two - capacity)
                ),
            ),
            _ => return,
        };
        let message = format!(
            "the capacity {} holds fewer than two of the largest requests: {what}; --capacity {two} holds two",
            grouped(capacity)
        );
        self.warnings.push(Warning { kind, message });
    }
}

/// Requests of mean cost `cost / requests` that pass within `wait`, rounded up as [`tollgate::wait::Queue`] does.
fn queue_depth(quota: &Quota, (cost, requests): (u128, u64), wait: Duration) -> u64 {
    let passed = u128::from(quota.tokens()).saturating_mul(wait.as_nanos()).saturating_mul(requests.into());
    let depth = passed.div_ceil(quota.period().as_nanos().saturating_mul(cost).max(1));
    u64::try_from(depth).unwrap_or(u64::MAX).max(1)
}

/// `8,000/s`, `5.475/s`.
pub(super) fn per_second(rate: f64) -> String {
    format!("{}/s", decimal(rate))
}

/// A number with four significant digits at least.
pub(super) fn decimal(value: f64) -> String {
    match value {
        1_000.0.. => grouped(value.round() as u128),
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        1.0.. => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}
