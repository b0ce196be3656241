//! What an allowance may have at its root.

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;

/// What holds the tokens that shards draw: a [`Bucket`], or with the feature `adjust` an `Adjustable`, whose quota can be
/// changed while threads ask. There are no others, but for what a lease of the feature `redis` has inside.
pub trait Root<C: Clock>: Lender<C> {}

impl<C: Clock, R: Lender<C>> Root<C> for R {}

/// What shards ask of a root. It cannot be named outside of the crate, and so not be implemented.
pub trait Lender<C: Clock>: Limiter {
    /// Whether the quota can be changed. If not, the plan that was made is the plan in force.
    const CHANGES: bool;

    /// Takes at least `least` tokens, or none, and at most `most`: one part in `2^part` of what is there, if that lies
    /// between the two.
    fn lend(&self, least: u64, most: u64, part: u32) -> Result<u64, Denied>;

    fn charge(&self, cost: u64);

    fn refund(&self, cost: u64);

    fn pause_until(&self, until: Nanos);

    fn resume(&self);

    fn peek(&self) -> Level;

    fn quota(&self) -> Quota;

    fn clock(&self) -> &C;
}

impl<C: Clock> Lender<C> for Bucket<C> {
    const CHANGES: bool = false;

    #[inline]
    fn lend(&self, least: u64, most: u64, part: u32) -> Result<u64, Denied> {
        Self::lend(self, least, most, part)
    }

    fn charge(&self, cost: u64) {
        Self::charge(self, cost);
    }

    fn refund(&self, cost: u64) {
        Self::refund(self, cost);
    }

    fn pause_until(&self, until: Nanos) {
        Self::pause_until(self, until);
    }

    fn resume(&self) {
        Self::resume(self);
    }

    fn peek(&self) -> Level {
        Self::peek(self)
    }

    fn quota(&self) -> Quota {
        Self::quota(self)
    }

    fn clock(&self) -> &C {
        Self::clock(self)
    }
}
