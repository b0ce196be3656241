//! The list of all metrics.

use ::metrics::{
    Counter, Gauge, Histogram, Unit, counter, describe_counter, describe_gauge, describe_histogram,
};
use ::metrics::{gauge, histogram};

/// Bounds for the buckets of the histograms, in seconds: from half a millisecond to a minute, for exporters
/// that ask for them.
pub const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

const LIMIT: &[&str] = &["limit"];
const WITH_REASON: &[&str] = &["limit", "reason"];
const WITH_OUTCOME: &[&str] = &["limit", "outcome"];

/// One metric: a name, and what its values mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name, with the unit in it where the values have one.
    pub name: &'static str,
    /// How its values change.
    pub kind: Kind,
    /// What is counted or measured.
    pub unit: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

/// How the values of a metric change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// They only rise.
    Counter,
    /// They rise and fall.
    Gauge,
    /// Each is recorded by itself.
    Histogram,
}

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    Metric { name, kind, unit, labels, meaning }
}

pub(super) const ADMITTED: Metric =
    metric("tollgate_admitted_total", Kind::Counter, "calls", LIMIT, "Calls that were admitted.");
pub(super) const ADMITTED_TOKENS: Metric =
    metric("tollgate_admitted_tokens_total", Kind::Counter, "tokens", LIMIT, "What they cost.");
pub(super) const REFUSED: Metric =
    metric("tollgate_refused_total", Kind::Counter, "calls", WITH_REASON, "Calls that were refused.");
pub(super) const REFUSED_TOKENS: Metric = metric(
    "tollgate_refused_tokens_total",
    Kind::Counter,
    "tokens",
    LIMIT,
    "What refused calls would have cost.",
);
pub(super) const WOULD_REFUSE: Metric = metric(
    "tollgate_would_refuse_total",
    Kind::Counter,
    "calls",
    WITH_REASON,
    "Calls that a limit in shadow mode admitted and would have refused; admitted calls count them too.",
);
pub(super) const WOULD_REFUSE_TOKENS: Metric = metric(
    "tollgate_would_refuse_tokens_total",
    Kind::Counter,
    "tokens",
    LIMIT,
    "What those calls cost; admitted tokens count it too.",
);
pub(super) const AVAILABLE: Metric = metric(
    "tollgate_available_tokens",
    Kind::Gauge,
    "tokens",
    LIMIT,
    "Whole tokens in the bucket, 0 in debt. A pause does not count.",
);
pub(super) const DEBT: Metric =
    metric("tollgate_debt_tokens", Kind::Gauge, "tokens", LIMIT, "Tokens that are owed.");
pub(super) const PAUSED: Metric = metric(
    "tollgate_paused_seconds",
    Kind::Gauge,
    "seconds",
    LIMIT,
    "Time until a pause ends, 0 when there is none.",
);
pub(super) const IN_FLIGHT: Metric =
    metric("tollgate_in_flight", Kind::Gauge, "permits", LIMIT, "Permits in use, by their weights.");
pub(super) const IN_FLIGHT_LIMIT: Metric = metric(
    "tollgate_in_flight_limit",
    Kind::Gauge,
    "permits",
    LIMIT,
    "How many permits may be in use at once.",
);
pub(super) const IN_FLIGHT_WAITING: Metric = metric(
    "tollgate_in_flight_waiting",
    Kind::Gauge,
    "callers",
    LIMIT,
    "Callers that stand in line for a permit.",
);
pub(super) const QUEUE_LENGTH: Metric = metric(
    "tollgate_queue_length",
    Kind::Gauge,
    "entries",
    LIMIT,
    "Entries in the queue: those that wait, and those that have been called and have not come yet.",
);
pub(super) const QUEUE_PLACES: Metric = metric(
    "tollgate_queue_places",
    Kind::Gauge,
    "entries",
    LIMIT,
    "How many entries the queue has places for.",
);
pub(super) const QUEUE_AGE: Metric = metric(
    "tollgate_queue_age_seconds",
    Kind::Gauge,
    "seconds",
    LIMIT,
    "How long the entry has waited that has waited longest, 0 if none waits.",
);
pub(super) const LEASED: Metric = metric(
    "tollgate_leased",
    Kind::Gauge,
    "permits or tokens",
    LIMIT,
    "What is held by a lease from elsewhere, 0 once the lease is over.",
);
pub(super) const LEASE_REMAINING: Metric = metric(
    "tollgate_lease_remaining_seconds",
    Kind::Gauge,
    "seconds",
    LIMIT,
    "Time until the lease ends unless it is renewed, 0 once it is over.",
);
pub(super) const RUNNING: Metric = metric(
    "tollgate_downstream_in_flight",
    Kind::Gauge,
    "calls",
    LIMIT,
    "Calls behind the limit that have begun and have not ended.",
);
pub(super) const DOWNSTREAM: Metric = metric(
    "tollgate_downstream_seconds",
    Kind::Histogram,
    "seconds",
    WITH_OUTCOME,
    "How long a call behind the limit took, from its permit to its end.",
);
pub(super) const WAITING: Metric =
    metric("tollgate_waiting", Kind::Gauge, "callers", LIMIT, "Callers that wait for the limit's answer.");
pub(super) const WAIT: Metric = metric(
    "tollgate_wait_seconds",
    Kind::Histogram,
    "seconds",
    WITH_OUTCOME,
    "How long a caller waited for the limit's answer.",
);

/// Every metric that there is. `docs/metrics.md` has the same list.
pub const METRICS: &[Metric] = &[
    ADMITTED,
    ADMITTED_TOKENS,
    REFUSED,
    REFUSED_TOKENS,
    WOULD_REFUSE,
    WOULD_REFUSE_TOKENS,
    AVAILABLE,
    DEBT,
    PAUSED,
    IN_FLIGHT,
    IN_FLIGHT_LIMIT,
    IN_FLIGHT_WAITING,
    QUEUE_LENGTH,
    QUEUE_PLACES,
    QUEUE_AGE,
    LEASED,
    LEASE_REMAINING,
    RUNNING,
    DOWNSTREAM,
    WAITING,
    WAIT,
];

/// A label and its value.
pub(super) type Label = (&'static str, &'static str);

impl Metric {
    pub(super) fn counter(&self, labels: &[Label]) -> Counter {
        counter!(self.name, labels)
    }

    pub(super) fn gauge(&self, labels: &[Label]) -> Gauge {
        gauge!(self.name, labels)
    }

    pub(super) fn histogram(&self, labels: &[Label]) -> Histogram {
        histogram!(self.name, labels)
    }

    fn describe(&self) {
        let unit = if self.unit == "seconds" { Unit::Seconds } else { Unit::Count };
        match self.kind {
            Kind::Counter => describe_counter!(self.name, unit, self.meaning),
            Kind::Gauge => describe_gauge!(self.name, unit, self.meaning),
            Kind::Histogram => describe_histogram!(self.name, unit, self.meaning),
        }
    }
}

/// Tells the recorder what all of them mean.
pub(super) fn describe_all() {
    METRICS.iter().for_each(Metric::describe);
}
