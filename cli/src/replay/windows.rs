//! `--algorithm`: the three forms of windows, on the trace's own time, and an audit of what each promises.

use tollgate::window::{Every, Fixed, SlidingCounter, SlidingLog, WindowError};
use tollgate::{Denied, Manual, Nanos, Quota, QuotaError};

use super::bound::BoundAudit;
use super::period::InPeriod;
use crate::args::{Algorithm, Limit};
use crate::failure::Failure;
use crate::trace::Arrival;

/// A limit by windows of its period, the first of which begins with the first arrival.
pub(super) struct ByWindows {
    windows: Windows,
    law: Law,
}

enum Windows {
    Fixed(Fixed<Every, Manual>),
    Counter(SlidingCounter<Manual>),
    Log(SlidingLog<Manual>),
}

/// What a form promises, worked out from the admissions alone.
enum Law {
    /// So much in each window: of the last one, its number and what it holds.
    EachWindow { length: u64, limit: u64, window: u64, held: u128, violations: u64 },
    /// The bound of a bucket with the limit as its capacity: see docs/theory.md.
    Bucket(BoundAudit),
    /// So much in every interval.
    EveryInterval { in_period: InPeriod, limit: u64, violations: u64 },
}

impl ByWindows {
    /// A bucket is none of them, and counts as fixed windows here.
    pub(super) fn new(limit: &Limit, algorithm: Algorithm) -> Result<Self, Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::Input(format!("--limit {:?} with --algorithm {}: {error}", limit.text, algorithm.name()))
        };
        let windows = Windows::new(&limit.quota, algorithm).map_err(|error| refused(&error))?;
        let law = Law::new(&limit.quota, algorithm).map_err(|error| refused(&error))?;
        Ok(Self { windows, law })
    }

    pub(super) fn decide(&mut self, arrival: &Arrival) -> Result<(), Denied> {
        let (now, cost) = (arrival.at, arrival.cost);
        let decision = match &self.windows {
            Windows::Fixed(fixed) => fixed.try_acquire_n_at(cost, now),
            Windows::Counter(counter) => counter.try_acquire_n_at(cost, now),
            Windows::Log(log) => log.try_acquire_n_at(cost, now),
        };
        if decision.is_ok() {
            self.law.admitted(now, cost);
        }
        decision
    }

    pub(super) fn left(&self, arrival: &Arrival) -> u64 {
        let usage = match &self.windows {
            Windows::Fixed(fixed) => fixed.peek_at(arrival.at),
            Windows::Counter(counter) => counter.peek_at(arrival.at),
            Windows::Log(log) => log.peek_at(arrival.at),
        };
        usage.remaining()
    }

    pub(super) fn violations(&self) -> u64 {
        match &self.law {
            Law::Bucket(audit) => audit.violations(),
            Law::EachWindow { violations, .. } | Law::EveryInterval { violations, .. } => *violations,
        }
    }
}

impl Windows {
    fn new(quota: &Quota, algorithm: Algorithm) -> Result<Self, WindowError> {
        let (tokens, every, clock) = (quota.tokens(), Every::new(quota.period())?, Manual::new());
        Ok(match algorithm {
            Algorithm::Bucket | Algorithm::Fixed => Self::Fixed(Fixed::with_clock(tokens, every, clock)?),
            Algorithm::SlidingCounter => Self::Counter(SlidingCounter::with_clock(tokens, every, clock)?),
            Algorithm::SlidingLog => Self::Log(SlidingLog::with_clock(tokens, quota.period(), clock)?),
        })
    }
}

impl Law {
    fn new(quota: &Quota, algorithm: Algorithm) -> Result<Self, QuotaError> {
        let (limit, violations) = (quota.tokens(), 0);
        Ok(match algorithm {
            Algorithm::Bucket | Algorithm::Fixed => {
                let length = Nanos::from_duration(quota.period()).as_u64();
                Self::EachWindow { length, limit, window: 0, held: 0, violations }
            }
            Algorithm::SlidingCounter => Self::Bucket(BoundAudit::new(&Quota::new(limit, quota.period())?)),
            Algorithm::SlidingLog => {
                Self::EveryInterval { in_period: InPeriod::new(quota.period()), limit, violations }
            }
        })
    }

    fn admitted(&mut self, now: Nanos, cost: u64) {
        match self {
            Self::EachWindow { length, limit, window, held, violations } => {
                let this = now.as_u64() / *length;
                *held = u128::from(cost) + if this == *window { *held } else { 0 };
                *window = this;
                *violations += u64::from(*held > u128::from(*limit));
            }
            Self::Bucket(audit) => audit.admitted(now, cost),
            Self::EveryInterval { in_period, limit, violations } => {
                in_period.admitted(now, cost);
                *violations += u64::from(in_period.held_at(now) > *limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(algorithm: Algorithm, admissions: &[(u64, u64)]) -> u64 {
        let limit: Limit = "3 per 10ns".parse().unwrap();
        let mut windows = ByWindows {
            windows: Windows::new(&"3/s".parse().unwrap(), algorithm).unwrap(),
            law: Law::new(&limit.quota, algorithm).unwrap(),
        };
        admissions.iter().for_each(|&(at, cost)| windows.law.admitted(Nanos::new(at), cost));
        windows.violations()
    }

    #[test]
    fn each_law_is_kept_up_to_its_edge() {
        use Algorithm::{Fixed, SlidingCounter, SlidingLog};

        let edge = [(9, 3), (10, 3), (19, 1), (20, 2)];
        assert_eq!(violations(Fixed, &edge), 1);
        assert_eq!(violations(Fixed, &[(9, 3), (10, 3), (29, 3)]), 0);
        assert_eq!(violations(SlidingLog, &[(9, 3), (18, 1), (19, 3)]), 2);
        assert_eq!(violations(SlidingLog, &[(9, 3), (19, 3)]), 0);
        assert_eq!(violations(SlidingCounter, &[(9, 3), (19, 3)]), 0);
        assert_eq!(violations(SlidingCounter, &[(9, 3), (18, 3)]), 1);
    }

    #[test]
    fn a_limit_that_does_not_fit_is_told() {
        let limit: Limit = "1000000000/s".parse().unwrap();
        let Err(failure) = ByWindows::new(&limit, Algorithm::SlidingCounter) else { panic!("it fits") };
        let Failure::Input(text) = failure else { panic!("{failure:?}") };
        assert!(text.contains("--algorithm sliding-counter: limit of 1000000000 tokens"), "{text}");
    }
}
