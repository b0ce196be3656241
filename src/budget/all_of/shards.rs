//! An allowance that is leased to cores, beside other limits.

use super::limit::{CallTime, Grant, Limit, Reading};
use super::refused::Reason;
use crate::budget::reserve::{Late, Settled};
use crate::clock::Clock;
use crate::sharded::{Sharded, Spent};

/// An undo puts what was spent back into the calling thread's credit; what the root itself admitted is given back by the
/// prompt rule. The look and the charge read the clock only where the credit does not do.
impl<C: Clock> Limit for Sharded<C> {
    type Held<'a>
        = Spent<'a, C>
    where
        Self: 'a;

    #[inline]
    fn reading(&self, _: &mut CallTime) -> Reading {
        None
    }

    #[inline]
    fn look(&self, cost: u64, _: Reading) -> Result<(), Reason> {
        self.would_admit(cost).map_err(Reason::Denied)
    }

    #[inline]
    fn take(&self, cost: u64, _: Reading) -> Result<Spent<'_, C>, Reason> {
        self.spend(cost).map_err(Reason::Denied)
    }

    fn undo(&self, held: Spent<'_, C>) {
        self.put_back(held);
    }
}

/// It is final.
impl<C: Clock> Grant for Spent<'_, C> {
    fn settle(self, _: u64) -> Option<Result<Settled, Late>> {
        None
    }
}
