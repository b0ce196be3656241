//! The whole field, walked with the type of each contender known.

use crate::baselines::{Instants, Locked, Parking, Rw, Spin, Std, Word};
use crate::decide::{Contender, Waits};
use crate::peers::{Governor, LeakyBucket, Ratelimit};
use tollgate::{Bucket, Coarse, Monotonic};

/// Something done with every contender.
pub trait Visitor {
    /// Called once for each, with the name it bears in tables.
    fn visit<C: Contender>(&mut self, name: &'static str);
}

/// Something done with every contender that can tell a wait.
pub trait WaitVisitor {
    /// Called once for each, with the name it bears in tables.
    fn visit<C: Contender + Waits>(&mut self, name: &'static str);
}

/// Walks ours, the baselines and the peers.
pub fn visit(visitor: &mut impl Visitor) {
    ours(visitor);
    baselines(visitor);
    peers(visitor);
}

/// Walks tollgate's own contenders.
pub fn ours(visitor: &mut impl Visitor) {
    visitor.visit::<Bucket<Monotonic>>("tollgate/bucket");
    visitor.visit::<Bucket<Coarse>>("tollgate/bucket+coarse");
}

/// Walks the buckets written by hand.
pub fn baselines(visitor: &mut impl Visitor) {
    visitor.visit::<Word<false>>("word/plain");
    visitor.visit::<Word<true>>("word/backoff");
    visitor.visit::<Locked<Std>>("mutex/std");
    visitor.visit::<Locked<Parking>>("mutex/parking_lot");
    visitor.visit::<Locked<Rw>>("rwlock/std");
    visitor.visit::<Locked<Spin>>("spin");
    visitor.visit::<Locked<Std, Instants>>("mutex/std+instant");
    visitor.visit::<Locked<Parking, Instants>>("mutex/parking_lot+instant");
}

/// Walks the crates of others.
pub fn peers(visitor: &mut impl Visitor) {
    visitor.visit::<Governor>("governor");
    visitor.visit::<Ratelimit>("ratelimit");
    visitor.visit::<LeakyBucket>("leaky-bucket");
}

/// Walks those that can tell a wait.
pub fn waiting(visitor: &mut impl WaitVisitor) {
    visitor.visit::<Bucket<Monotonic>>("tollgate/bucket");
    visitor.visit::<Bucket<Coarse>>("tollgate/bucket+coarse");
    visitor.visit::<Governor>("governor");
    visitor.visit::<Ratelimit>("ratelimit");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Decide;
    use crate::scenario::{Scenario, bound};
    use tollgate::{Fill, Quota};

    struct TakesExactlyItsBurst;

    impl Visitor for TakesExactlyItsBurst {
        fn visit<C: Contender>(&mut self, name: &'static str) {
            let hourly = Quota::with_burst(1, std::time::Duration::from_secs(3600), 10).unwrap();
            let full = C::build(hourly);
            assert_eq!((0..20).filter(|_| full.handle().decide()).count(), 10, "{name}");
            let empty = C::build(hourly.fill(Fill::Empty).unwrap());
            assert!(!empty.handle().decide(), "{name} was to start empty");
            let weighted = C::build(hourly);
            assert!(weighted.handle().decide_n(7) && !weighted.handle().decide_n(4), "{name}");
        }
    }

    #[test]
    fn every_contender_limits() {
        visit(&mut TakesExactlyItsBurst);
    }

    struct KeepsTheBound;

    impl Visitor for KeepsTheBound {
        fn visit<C: Contender>(&mut self, name: &'static str) {
            let quota = Scenario::Boundary.quota(500.0, C::GRAIN_NANOS);
            assert!(C::fits(quota), "{name}");
            let limiter = C::build(quota);
            let start = limiter.now();
            let admitted = (0..20_000).filter(|_| limiter.handle().decide()).count() as u64;
            let most = bound(quota, limiter.now() - start) + C::slack(quota);
            assert!(admitted <= most, "{name}: {admitted} of at most {most}");
        }
    }

    #[test]
    fn every_contender_keeps_the_bound_by_its_own_clock() {
        visit(&mut KeepsTheBound);
    }

    struct TellsTheWait;

    impl WaitVisitor for TellsTheWait {
        fn visit<C: Contender + Waits>(&mut self, name: &'static str) {
            let limiter = C::build(Scenario::Deny.quota(0.0, 0));
            let wait = limiter.decide_or_wait().expect_err("nothing is left");
            assert!(wait > std::time::Duration::from_secs(3590), "{name}: {wait:?}");
        }
    }

    #[test]
    fn a_refusal_tells_its_wait() {
        waiting(&mut TellsTheWait);
    }
}
