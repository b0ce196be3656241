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
    let (tokens, period) = (u128::from(quota.tokens()), quota.period().as_nanos());
    let exact = || {
        let passed = tokens.checked_mul(wait.as_nanos())?.checked_mul(requests.into())?;
        Some(passed.div_ceil(period.checked_mul(cost)?))
    };
    // Where that does not fit, whole tokens first: at most ten pass in a nanosecond.
    let passed = tokens.saturating_mul(wait.as_nanos()).div_ceil(period);
    let depth = exact().unwrap_or_else(|| passed.saturating_mul(requests.into()).div_ceil(cost));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_as_deep_as_what_passes() {
        let depth = |limit: &str, mean, seconds| {
            queue_depth(&limit.parse().unwrap(), mean, Duration::from_secs(seconds))
        };
        assert_eq!(depth("12k/s", (1_500, 1), 5), 40);
        assert_eq!(depth("2/s", (1, 1), 3), 6);
        assert_eq!(depth("4/s", (15, 4), 2), 3, "2.13");
        assert_eq!(depth("1/day", (9, 1), 1), 1, "never none");
        assert_eq!(depth("10G/s", (1, 1), 86_400), 864_000_000_000_000);
        let (day, most) = (86_400, u128::from(u64::MAX));
        let slow = format!("{} per 213504days burst 1", u64::MAX);
        assert_eq!(depth(&slow, (most * 1_000_000, 1_000_000), day), 1, "what does not fit is not wrong");
        assert_eq!(
            depth(&slow, (1_000_000, 1_000_000), day),
            86_399_992_851_233,
            "at 999,999,917.26 a second"
        );
    }

    #[test]
    fn numbers_keep_four_digits() {
        let shown = [0.01234, 1.5, 39.54, 448.25, 7_559.6].map(decimal);
        assert_eq!(shown, ["0.0123", "1.500", "39.54", "448.2", "7,560"]);
    }
}
