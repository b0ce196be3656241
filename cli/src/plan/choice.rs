//! Which rate and which capacity: both by the load, one for the other, or both as given.

use std::time::Duration;

use tollgate::Quota;

use super::advice::{Line, per_second};
use super::curve::{self, Point};
use super::load::Load;
use super::rate::Rate;
use super::trial::{self, Outcome};
use super::{SECOND, search};
use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::text::{grouped, share};

/// A rate and a capacity, and what they do to the load.
pub(super) struct Choice {
    pub(super) rate: Rate,
    pub(super) quota: Quota,
    pub(super) by: &'static str,
    pub(super) outcome: Outcome,
    /// With one token less, in the capacity or in the rate, whichever was searched for; `None` if nothing was, or if
    /// there is no less.
    pub(super) smaller: Option<(Quota, u64)>,
    pub(super) lines: Vec<Line>,
}

/// How the two were come by.
struct Found {
    rate: Rate,
    capacity: u64,
    by: &'static str,
    smaller: Option<(Rate, u64)>,
    rate_line: Line,
}

/// The least capacities from the mean rate to that of the busiest second; empty for a load that spans no time.
pub(super) fn curve(load: &Load, args: &PlanArgs, wanted: u64) -> Vec<Point> {
    if load.span.is_zero() {
        return vec![];
    }
    let mean = mean(load, args);
    let busiest = Rate::rounded_up(load.windows(SECOND).most(), SECOND, mean.period);
    curve::points(load, mean, busiest.tokens, wanted)
}

/// Chooses, and tries what was chosen.
pub(super) fn choose(load: &Load, args: &PlanArgs, curve: &[Point], wanted: u64) -> Result<Choice, Failure> {
    let found = match (args.rate, args.capacity) {
        (Some(rate), Some(capacity)) => given(rate, capacity),
        (None, Some(capacity)) => for_capacity(load, args, capacity, wanted)?,
        (Some(rate), None) => {
            for_rate(load, args, rate, wanted, "rate", line("rate", rate, "given", String::new()))?
        }
        (None, None) if load.span.is_zero() => return Err(no_time(load)),
        (None, None) => by_load(load, args, curve, wanted)?,
    };
    let quota = found.rate.quota(found.capacity).map_err(|error| Failure::Input(error.to_string()))?;
    let smaller = found.smaller.and_then(|(rate, capacity)| rate.quota(capacity).ok());
    let smaller = smaller.map(|quota| (quota, trial::outcome(load, quota).admitted));
    let outcome = trial::outcome(load, quota);
    let mut choice = Choice { rate: found.rate, quota, by: found.by, outcome, smaller, lines: vec![] };
    let capacity_line = choice.capacity_line(load, args);
    choice.lines = vec![choice.with_check(load, found.rate_line), capacity_line];
    Ok(choice)
}

impl Choice {
    fn capacity_line(&self, load: &Load, args: &PlanArgs) -> Line {
        let capacity = grouped(self.quota.capacity());
        if args.capacity.is_some() {
            return line("capacity", capacity, "given", String::new());
        }
        let target = args.admit;
        let all = search::capacity(load, self.rate, Duration::ZERO, load.len())
            .map_or_else(|| "none".into(), grouped);
        let formula = format!(
            "least B that admits {target}; for all: largest x_k = max(0, x_(k-1) - r*(t_k - t_(k-1))) + c_k"
        );
        line("capacity", capacity, formula, format!("{}\nfor all: {all}", self.check(load)))
    }

    /// A rate that was searched for is shown with its check.
    fn with_check(&self, load: &Load, rate: Line) -> Line {
        match self.by {
            "capacity" => Line { numbers: self.check(load), ..rate },
            _ => rate,
        }
    }

    /// By simulation: so much is admitted, and so much with one token less.
    fn check(&self, load: &Load) -> String {
        let this = share(self.outcome.admitted, load.len());
        match &self.smaller {
            Some((quota, admitted)) => {
                format!("{} admits {this}\n{quota} admits {}", self.quota, share(*admitted, load.len()))
            }
            None => format!("{} admits {this}, and there is no less", self.quota),
        }
    }
}

fn given(rate: Rate, capacity: u64) -> Found {
    Found {
        rate,
        capacity,
        by: "given",
        smaller: None,
        rate_line: line("rate", rate, "given", String::new()),
    }
}

/// The least rate for a capacity.
fn for_capacity(load: &Load, args: &PlanArgs, capacity: u64, wanted: u64) -> Result<Found, Failure> {
    let start = mean(load, args);
    let rate = search::rate(load, start, capacity, wanted).ok_or_else(|| {
        let fits = load.requests.iter().filter(|request| request.cost <= capacity).count();
        Failure::Input(format!(
            "--capacity {capacity}: no rate is found that admits {} of the requests with it ({} cost no more by \
             themselves); expected more, or a lower --admit",
            args.admit,
            share(fits as u64, load.len())
        ))
    })?;
    let formula = format!("least r that admits {} with the capacity", args.admit);
    let smaller = (rate.tokens > 1).then(|| (rate.with(rate.tokens - 1), capacity));
    Ok(Found {
        rate,
        capacity,
        by: "capacity",
        smaller,
        rate_line: line("rate", rate, formula, String::new()),
    })
}

/// The least capacity for a rate.
fn for_rate(
    load: &Load,
    args: &PlanArgs,
    rate: Rate,
    wanted: u64,
    by: &'static str,
    rate_line: Line,
) -> Result<Found, Failure> {
    let capacity = search::capacity(load, rate, Duration::ZERO, wanted).ok_or_else(|| {
        Failure::Input(format!(
            "rate {rate}: no capacity below 2^61 admits {} of the requests at it; expected a higher --rate, or a cost in \
             larger tokens",
            args.admit
        ))
    })?;
    let smaller = (capacity > 1).then(|| (rate, capacity - 1));
    Ok(Found { rate, capacity, by, smaller, rate_line })
}

/// The knee, or the mean with headroom.
fn by_load(load: &Load, args: &PlanArgs, curve: &[Point], wanted: u64) -> Result<Found, Failure> {
    let mean = mean(load, args);
    if let Some(headroom) = args.headroom {
        let rate = Rate::rounded_up(headroom.on_top_of(load.cost), load.span, mean.period);
        let rate = rate.with(curve::round_up(rate.tokens));
        let (span, factor) = (load.span.as_secs_f64(), 1.0 + headroom.as_f64());
        let exact = per_second(load.cost as f64 / span * factor);
        let numbers = format!("{} / {span} s x {factor} = {exact}", grouped(load.cost));
        let formula = "mean rate x (1 + headroom), rounded up to three digits";
        return for_rate(load, args, rate, wanted, "headroom", line("rate", rate, formula, numbers));
    }
    let knee = curve::knee(curve).and_then(|index| curve.get(index));
    let rate = knee.map_or(mean, |knee| knee.rate);
    let (first, last) =
        (curve.first().map_or(mean, |point| point.rate), curve.last().map_or(mean, |point| point.rate));
    let formula = "knee: least capacity farthest below the line between the ends, both axes scaled to 0..1";
    let numbers = format!(
        "{} rates from the mean ({first}, {}) to the busiest second ({last})",
        curve.len(),
        per_second(first.per_second())
    );
    for_rate(load, args, rate, wanted, "knee", line("rate", rate, formula, numbers))
}

/// The mean rate, in tokens each `--per` or each period that suits it.
fn mean(load: &Load, args: &PlanArgs) -> Rate {
    match args.per {
        _ if load.span.is_zero() => Rate { tokens: 1, period: args.per.map_or(SECOND, |per| per.0) },
        Some(per) => Rate::rounded_up(load.cost, load.span, per.0),
        None => Rate::of(load.cost, load.span),
    }
}

fn no_time(load: &Load) -> Failure {
    Failure::Input(format!(
        "{}: all requests are at one moment and tell no rate; expected a trace that spans time, or --rate",
        load.name
    ))
}

fn line(what: &'static str, value: impl ToString, formula: impl Into<String>, numbers: String) -> Line {
    Line { what, value: value.to_string(), formula: formula.into(), numbers }
}
