//! One limit under replay: its bucket, what it decided, and the audit of what it admitted.

use std::time::Duration;

use tollgate::{Bucket, Denied, Manual, Quota};

use super::bound::BoundAudit;
use super::series::Course;
use crate::args::Limit;
use crate::trace::Arrival;

/// Requests of one outcome and the sum of their costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) requests: u64,
    pub(crate) cost: u128,
}

impl Count {
    fn add(&mut self, cost: u64) {
        self.requests += 1;
        self.cost += u128::from(cost);
    }
}

/// What a limit decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) admitted: Count,
    /// Not enough tokens at that moment.
    pub(crate) refused: Count,
    /// The cost is above the capacity.
    pub(crate) never: Count,
    /// Arrivals that cost nothing; they are no requests.
    pub(crate) zero_cost: u64,
    pub(crate) longest_wait: Duration,
    total_wait_nanos: u128,
}

impl Tally {
    /// All requests that were put to the limit.
    pub(crate) fn offered(&self) -> Count {
        let outcomes = [self.admitted, self.refused, self.never];
        Count {
            requests: outcomes.iter().map(|count| count.requests).sum(),
            cost: outcomes.iter().map(|count| count.cost).sum(),
        }
    }

    /// The mean of the waits that refusals told, if there was one.
    pub(crate) fn mean_wait(&self) -> Option<Duration> {
        let nanos = self.total_wait_nanos.checked_div(u128::from(self.refused.requests))?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    fn refuse(&mut self, cost: u64, wait: Duration) {
        self.refused.add(cost);
        self.longest_wait = self.longest_wait.max(wait);
        self.total_wait_nanos += wait.as_nanos();
    }
}

/// A limit and everything that is kept about it; all of it constant in size.
pub(crate) struct Lane {
    name: String,
    bucket: Bucket<Manual>,
    tally: Tally,
    audit: BoundAudit,
    least_available: u64,
    course: Option<Course>,
}

impl Lane {
    /// `draw`: keep what a picture needs.
    pub(crate) fn new(limit: &Limit, draw: bool) -> Self {
        Self {
            name: limit.text.clone(),
            bucket: Bucket::with_clock(limit.quota, Manual::new()),
            tally: Tally::default(),
            audit: BoundAudit::new(&limit.quota),
            least_available: limit.quota.capacity(),
            course: draw.then(Course::new),
        }
    }

    /// Puts one arrival to the limit.
    pub(crate) fn offer(&mut self, Arrival { at, cost }: Arrival) {
        if let Some(course) = &mut self.course {
            course.before(&self.bucket, at);
        }
        let decision = self.bucket.try_acquire_n_at(cost, at);
        match decision {
            Ok(()) => {
                self.tally.admitted.add(cost);
                self.audit.admitted(at, cost);
            }
            Err(Denied::NotYet(refusal)) => self.tally.refuse(cost, refusal.wait()),
            Err(Denied::OverCapacity { .. }) => self.tally.never.add(cost),
            Err(Denied::ZeroCost) => self.tally.zero_cost += 1,
        }
        let left = self.bucket.peek_at(at).available();
        self.least_available = self.least_available.min(left);
        if let Some(course) = &mut self.course {
            course.after(at, cost, decision.is_ok(), left);
        }
    }

    /// The limit as it was asked for.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn quota(&self) -> Quota {
        self.bucket.quota()
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn violations(&self) -> u64 {
        self.audit.violations()
    }

    /// The lowest level right after a decision.
    pub(crate) fn least_available(&self) -> u64 {
        self.least_available
    }

    pub(crate) fn course(&self) -> Option<&Course> {
        self.course.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use tollgate::Nanos;

    use super::*;

    #[test]
    fn every_outcome_has_its_count() {
        let limit: Limit = "2/s burst 3".parse().unwrap();
        let mut lane = Lane::new(&limit, false);
        for (millis, cost) in [(0, 2), (0, 0), (0, 2), (0, 4), (250, 2), (1_000, 1)] {
            lane.offer(Arrival { at: Nanos::from_duration(Duration::from_millis(millis)), cost });
        }
        let tally = lane.tally();
        assert_eq!(tally.admitted, Count { requests: 2, cost: 3 });
        assert_eq!(tally.refused, Count { requests: 2, cost: 4 });
        assert_eq!(tally.never, Count { requests: 1, cost: 4 });
        assert_eq!((tally.zero_cost, tally.offered()), (1, Count { requests: 5, cost: 11 }));
        assert_eq!(tally.longest_wait, Duration::from_millis(500));
        assert_eq!(tally.mean_wait(), Some(Duration::from_millis(375)));
        assert_eq!((lane.violations(), lane.least_available()), (0, 1));
    }
}
