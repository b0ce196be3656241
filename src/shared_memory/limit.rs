//! A shared bucket as one of several limits.

use super::bucket::SharedBucket;
use super::charge::SharedCharge;
use crate::budget::{CallTime, Grant, Late, Limit, Reading, Reason, Settled};
use crate::clock::Clock;

/// An undo gives back by the prompt rule; see [`SharedCharge::undo`].
impl Limit for SharedBucket {
    type Held<'a> = SharedCharge<'a>;

    #[inline]
    fn reading(&self, time: &mut CallTime) -> Reading {
        Some(time.by(self.clock()))
    }

    #[inline]
    fn look(&self, cost: u64, now: Reading) -> Result<(), Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.would_admit_at(cost, now).map_err(Reason::Denied)
    }

    #[inline]
    fn take(&self, cost: u64, now: Reading) -> Result<SharedCharge<'_>, Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.try_charge_at(cost, now).map_err(Reason::Denied)
    }

    fn undo(&self, held: SharedCharge<'_>) {
        held.undo();
    }
}

/// It is final.
impl Grant for SharedCharge<'_> {
    fn settle(self, _: u64) -> Option<Result<Settled, Late>> {
        None
    }
}
