//! What has been spent and may be put back, for an admission by several limits at once.

use std::fmt;

use super::Sharded;
use crate::bucket::Charge;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::slot;

/// Tokens that were admitted together with those of other limits. Dropped, they stay spent.
pub struct Spent<'a, C: Clock>(Source<'a, C>);

enum Source<'a, C: Clock> {
    /// So many tokens of the thread's credit, drawn before or for this.
    Credit(u64),
    /// The root decided alone: there is no shard for the thread, or its credit never holds so much.
    Root(Charge<'a, C>),
}

impl<C: Clock> Sharded<C> {
    /// What [`try_acquire_n`](Self::try_acquire_n) would answer; it takes nothing.
    pub(crate) fn would_admit(&self, cost: u64) -> Result<(), Denied> {
        let (credit, ceiling) = self.credit_and_ceiling();
        let root = &self.shared.root;
        if cost.wrapping_sub(1) < credit {
            return Ok(());
        }
        let lack = if cost == 0 || cost > ceiling { cost } else { cost - credit };
        root.would_admit_at(lack, root.clock().now())
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), in a way that can be put back.
    pub(crate) fn spend(&self, cost: u64) -> Result<Spent<'_, C>, Denied> {
        if cost > self.credit_and_ceiling().1 {
            return self.shared.root.try_charge(cost).map(|charge| Spent(Source::Root(charge)));
        }
        self.try_acquire_n(cost).map(|()| Spent(Source::Credit(cost)))
    }

    /// Puts back what the same thread has just spent. Credit that was spent leaves room for itself: a shard never holds more
    /// than its ceiling, so the bound stays whatever the root has been refilled with meanwhile.
    pub(crate) fn put_back(&self, spent: Spent<'_, C>) {
        match spent.0 {
            Source::Root(charge) => charge.undo(),
            Source::Credit(cost) => {
                if let Some(place) = self.shared.place_of(slot::current()) {
                    place.set_credit(place.credit().0.saturating_add(cost).min(self.shared.ceiling()));
                }
            }
        }
    }

    fn credit_and_ceiling(&self) -> (u64, u64) {
        match self.shared.place_of(slot::current()) {
            Some(place) => (place.credit().0, self.shared.ceiling()),
            None => (0, 0),
        }
    }
}

impl<C: Clock> fmt::Debug for Spent<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Credit(cost) => f.debug_tuple("Spent").field(cost).finish(),
            Source::Root(charge) => f.debug_tuple("Spent").field(charge).finish(),
        }
    }
}
