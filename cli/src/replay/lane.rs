//! One limit under replay: what it decided, in all and over time.

use std::time::Duration;

use tollgate::Quota;

use super::by_key::ByKey;
use super::decision::Decision;
#[cfg(feature = "redis")]
use super::limiter::Remote;
use super::limiter::{Alone, Limiter};
use super::period::InPeriod;
use super::series::Course;
use super::windows::ByWindows;
use crate::args::{Algorithm, Limit};
use crate::failure::Failure;
use crate::trace::Arrival;

/// Requests of one outcome and the sum of their costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) requests: u64,
    pub(crate) cost: u128,
}

impl Count {
    pub(super) fn add(&mut self, cost: u64) {
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

    fn add(&mut self, cost: u64, decision: Decision) {
        match decision {
            Decision::Admitted => self.admitted.add(cost),
            Decision::Refused(wait) => self.refuse(cost, wait),
            Decision::Never => self.never.add(cost),
            Decision::ZeroCost => self.zero_cost += 1,
        }
    }

    fn refuse(&mut self, cost: u64, wait: Duration) {
        self.refused.add(cost);
        self.longest_wait = self.longest_wait.max(wait);
        self.total_wait_nanos += wait.as_nanos();
    }
}

/// A limit and everything that is kept about it; constant in size, but for what is kept of each key.
pub(crate) struct Lane {
    name: String,
    limit: String,
    quota: Quota,
    limiter: Limiter,
    form: Option<Form>,
    tally: Tally,
    least_available: Option<u64>,
    course: Option<Course>,
    /// In a store: how often the bucket in memory beside it decided otherwise.
    otherwise: Option<u64>,
}

/// How a limit decides, where that was asked for, and what its last period holds.
pub(crate) struct Form {
    pub(crate) algorithm: Algorithm,
    pub(crate) in_period: InPeriod,
}

impl Lane {
    /// One bucket for all arrivals. `draw`: keep what a picture needs.
    pub(crate) fn alone(limit: &Limit, draw: bool) -> Self {
        let limiter = Limiter::Alone(Box::new(Alone::new(limit.quota)));
        Self { course: draw.then(Course::new), ..Self::new(limit, limiter) }
    }

    /// A bucket for each key. Fails for a quota that a keyed limiter does not take.
    pub(crate) fn by_key(limit: &Limit) -> Result<Self, Failure> {
        let limiter = ByKey::new(limit.quota)
            .map_err(|error| Failure::Input(format!("--limit {:?} with --key: {error}", limit.text)))?;
        Ok(Self::new(limit, Limiter::ByKey(Box::new(limiter))))
    }

    /// One limiter of that form for all arrivals. Fails for a limit that its windows do not take.
    pub(crate) fn in_form(limit: &Limit, algorithm: Algorithm, draw: bool) -> Result<Self, Failure> {
        let limiter = match algorithm {
            Algorithm::Bucket => Limiter::Alone(Box::new(Alone::new(limit.quota))),
            form => Limiter::ByWindows(Box::new(ByWindows::new(limit, form)?)),
        };
        let lane = Self::new(limit, limiter);
        Ok(Self {
            name: format!("{}, {}", limit.text, algorithm.name()),
            form: Some(Form { algorithm, in_period: InPeriod::new(limit.quota.period()) }),
            least_available: Some(lane.capacity()),
            course: draw.then(Course::new),
            ..lane
        })
    }

    /// One bucket for all arrivals, in a store that is asked in that way.
    #[cfg(feature = "redis")]
    pub(super) fn in_store(limit: &Limit, how: &str, remote: Box<dyn Remote>) -> Self {
        let name = format!("{}, {how}", limit.text);
        Self { name, otherwise: Some(0), ..Self::new(limit, Limiter::InStore(remote)) }
    }

    fn new(limit: &Limit, limiter: Limiter) -> Self {
        Self {
            name: limit.text.clone(),
            limit: limit.text.clone(),
            quota: limit.quota,
            limiter,
            form: None,
            tally: Tally::default(),
            least_available: Some(limit.quota.capacity()),
            course: None,
            otherwise: None,
        }
    }

    /// Puts one arrival to the limit.
    pub(crate) fn offer(&mut self, arrival: &Arrival) -> Result<Decision, Failure> {
        let (at, cost) = (arrival.at, arrival.cost);
        if let Some(course) = &mut self.course {
            match (&mut self.form, &self.limiter) {
                (Some(form), _) => course.before(|now| form.in_period.held_at(now), at),
                (None, Limiter::Alone(alone)) => {
                    course.before(|now| alone.bucket().peek_at(now).available(), at)
                }
                (None, _) => {}
            }
        }
        let decision = self.limiter.decide(arrival)?;
        self.tally.add(cost, decision);
        let left = self.limiter.left(arrival);
        self.least_available = self.least_available.zip(left).map(|(least, left)| least.min(left));
        if let (Some(form), Decision::Admitted) = (&mut self.form, decision) {
            form.in_period.admitted(at, cost);
        }
        if let Some(course) = &mut self.course {
            let left = left.unwrap_or_default();
            let level = self.form.as_mut().map_or(left, |form| form.in_period.held_at(at));
            course.after(at, cost, decision == Decision::Admitted, level);
        }
        Ok(decision)
    }

    /// The limit as it was asked for, and its form where that was.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The limit as it was asked for.
    pub(crate) fn limit(&self) -> &str {
        &self.limit
    }

    /// Its form, where that was asked for.
    pub(crate) fn form(&self) -> Option<&Form> {
        self.form.as_ref()
    }

    /// The largest cost that is ever admitted.
    pub(crate) fn capacity(&self) -> u64 {
        match self.limiter {
            Limiter::ByWindows(_) => self.quota.tokens(),
            _ => self.quota.capacity(),
        }
    }

    pub(crate) fn quota(&self) -> Quota {
        self.quota
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Of one bucket, or summed over the keys.
    pub(crate) fn violations(&self) -> u64 {
        self.limiter.violations()
    }

    /// The lowest level of a bucket, or the least left of a limit by windows, right after a decision on it.
    pub(crate) fn least_available(&self) -> Option<u64> {
        self.least_available
    }

    /// After the last arrival. Fails only where a store does.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.limiter.finish()
    }

    /// The bucket in memory beside it said so.
    #[cfg(feature = "redis")]
    pub(crate) fn compare(&mut self, own: Decision, beside: Decision) {
        if let Some(otherwise) = self.otherwise.as_mut().filter(|_| !own.is_like(beside)) {
            *otherwise += 1;
        }
    }

    /// In a store: how often the bucket in memory beside it decided otherwise.
    pub(crate) fn otherwise(&self) -> Option<u64> {
        self.otherwise
    }

    pub(crate) fn course(&self) -> Option<&Course> {
        self.course.as_ref()
    }

    /// What is known of the keys, if it limits by key.
    pub(crate) fn keys(&self) -> Option<&ByKey> {
        match &self.limiter {
            Limiter::ByKey(by_key) => Some(by_key),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate::Nanos;

    use super::*;

    fn arrival(millis: u64, cost: u64) -> Arrival {
        Arrival { at: Nanos::from_duration(Duration::from_millis(millis)), cost, key: None, latency: None }
    }

    #[test]
    fn every_outcome_has_its_count() {
        let limit: Limit = "2/s burst 3".parse().unwrap();
        let mut lane = Lane::alone(&limit, false);
        for (millis, cost) in [(0, 2), (0, 0), (0, 2), (0, 4), (250, 2), (1_000, 1)] {
            lane.offer(&arrival(millis, cost)).unwrap();
        }
        let tally = lane.tally();
        assert_eq!(tally.admitted, Count { requests: 2, cost: 3 });
        assert_eq!(tally.refused, Count { requests: 2, cost: 4 });
        assert_eq!(tally.never, Count { requests: 1, cost: 4 });
        assert_eq!((tally.zero_cost, tally.offered()), (1, Count { requests: 5, cost: 11 }));
        assert_eq!(tally.longest_wait, Duration::from_millis(500));
        assert_eq!(tally.mean_wait(), Some(Duration::from_millis(375)));
        assert_eq!((lane.violations(), lane.least_available()), (0, Some(1)));
    }
}
