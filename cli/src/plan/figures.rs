//! A recommendation without a trace: from how long a request takes, how many may run at once, how long a caller may wait
//! and what the largest request costs.

use std::time::Duration;

use super::advice::{Advice, Line, decimal, per_second};
use super::rate::Rate;
use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::text::grouped;

/// What is known.
struct Figures {
    latency: Duration,
    concurrency: u32,
    cost: u64,
    largest: u64,
}

/// The recommendation for `--concurrency`.
pub(super) fn advise(args: &PlanArgs, concurrency: u32, latency: Duration) -> Result<Advice, Failure> {
    let cost =
        args.reading.cost.as_ref().map_or(Some(1), crate::trace::CostRule::fixed).filter(|cost| *cost > 0);
    let cost = cost.ok_or_else(|| {
        Failure::Input(
            "--cost: without a trace expected a number of tokens, at least 1: the mean cost".into(),
        )
    })?;
    let largest = args.largest.unwrap_or(cost);
    if largest < cost {
        return Err(Failure::Input(format!(
            "--largest {largest}: expected at least the mean cost, --cost {cost}"
        )));
    }
    let figures = Figures { latency, concurrency, cost, largest };
    let rate = figures.rate()?;
    let capacity = args.capacity.unwrap_or_else(|| figures.capacity());
    let quota =
        rate.quota(capacity).map_err(|error| Failure::Input(format!("{}: {error}", figures.told())))?;
    let mut advice = Advice::new(quota, "concurrency", figures.lines(rate, args.capacity));
    advice.in_flight_mean = Some(f64::from(concurrency));
    advice.in_flight_limit = Some(concurrency);
    if let Some(wait) = args.accept_wait {
        advice.queue(cost.into(), 1, wait);
    }
    advice.check_largest(largest);
    Ok(advice)
}

impl Figures {
    /// What `concurrency` requests cost that take turns without a pause.
    fn rate(&self) -> Result<Rate, Failure> {
        let tokens = u64::from(self.concurrency).checked_mul(self.cost);
        let tokens = tokens.ok_or_else(|| {
            Failure::Input(format!("{}: the cost of all at once is above {}", self.told(), u64::MAX))
        })?;
        Ok(Rate::exactly(tokens, self.latency))
    }

    /// All may start at once, and two of the largest fit.
    fn capacity(&self) -> u64 {
        u64::from(self.concurrency).saturating_mul(self.cost).max(self.largest.saturating_mul(2))
    }

    fn lines(&self, rate: Rate, capacity: Option<u64>) -> Vec<Line> {
        let Self { latency, concurrency, cost, .. } = self;
        let seconds = latency.as_secs_f64();
        let starts = f64::from(*concurrency) / seconds;
        let rate = Line {
            what: "rate",
            value: rate.to_string(),
            formula: "concurrency / latency x cost: as much as finishes when all is busy (Little's law)"
                .into(),
            numbers: format!("{concurrency} / {seconds} s x {cost} = {}", per_second(starts * *cost as f64)),
        };
        let in_flight = Line {
            what: "in flight, limit",
            value: grouped(*concurrency),
            formula: "concurrency, which is L = lambda x W (Little 1961)".into(),
            numbers: format!("{} x {seconds} s = {}", per_second(starts), decimal(starts * seconds)),
        };
        vec![rate, self.capacity_line(capacity), in_flight]
    }

    fn capacity_line(&self, given: Option<u64>) -> Line {
        let Self { concurrency, cost, largest, .. } = self;
        let (formula, numbers) = match given {
            Some(_) => ("given", String::new()),
            None => (
                "max(concurrency x cost, 2 x largest): all may start at once, and two of the largest fit",
                format!("max({concurrency} x {cost}, 2 x {largest})"),
            ),
        };
        let value = grouped(given.unwrap_or_else(|| self.capacity()));
        Line { what: "capacity", value, formula: formula.into(), numbers }
    }

    fn told(&self) -> String {
        format!("--concurrency {} --latency {:?} --cost {}", self.concurrency, self.latency, self.cost)
    }
}
