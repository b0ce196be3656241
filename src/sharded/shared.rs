//! What all shards of an allowance see, and how credit passes between them and the root.
//!
//! # Epochs
//!
//! Credit lies where only its shard touches it, so nobody else can take it away. What can be done is to make the shard
//! look up: it compares one number, the *epoch*, on every call, and when that has advanced it *catches up*: it keeps no
//! more than the ceilings allow that there have been meanwhile, and while the root is paused it returns the rest.
//!
//! # A change of the quota
//!
//! Let the root have the capacity `R`, and let `C` be the ceiling of each of `N` shards. What can be spent is
//! `A`, what is at the root and, of the credit of each shard, what it will keep when it next looks up. One change is made
//! at a time, under the lock of the plan in force, and in an order such that `A <= R + N*C <= B` at every step, `B` being
//! the larger of the two capacities while the change is under way:
//!
//! * *The ceiling falls*: first the ceiling, then the limit of every place, then the epoch, and last the root. From the
//!   limits on no shard keeps more than the new ceiling; only then does the root take up what they leave.
//! * *The ceiling rises*: first the root, then the ceiling. Credit stays as it is, so no epoch is needed.
//!
//! The limit is each place's own and stays until its shard has looked up. The ceiling that is then in force would not do:
//! it may have risen again since, and what did not fit in between would come back. The theory (section 11) has the proof.
//!
//! # Memory ordering
//!
//! * A shard loads the **epoch** with `Acquire`; whoever advances it does so with `Release`, after all else. So a shard
//!   that sees the epoch sees the root's pause, its limit, and the ceiling.
//! * A place's **limit** (`lowest`) is lowered with `Release`, after the ceiling, and taken with `Acquire`. A shard may
//!   take it early, while it catches up with an older epoch: then it must see the ceiling too, for when it comes to the
//!   epoch of the change it will find no limit there, and keep what it has drawn.
//! * The **ceiling** itself is relaxed: the other two publish it. One that is too old or too new does no harm otherwise.
//!   Drawing charges the root, by a read-modify-write, whatever the ceiling; it only decides how much is moved.
//!
//! A call that has compared the epoch already goes on with what it saw, as beside a pause: it may spend, or return, what
//! it held under the old ceiling. That is one call a thread.

use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use super::{Place, Plan, Root};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// What all shards see.
pub(super) struct Shared<C: Clock, R: Root<C>> {
    pub(super) root: R,
    /// As it was made. What is in force may be another.
    plan: Plan,
    /// Draws take one part in `2^part` of what the root has.
    part: u32,
    /// In force, in tokens.
    ceiling: AtomicU64,
    /// Advanced by each pause, and when the ceiling falls.
    epoch: CachePadded<AtomicU64>,
    places: Box<[CachePadded<Place>]>,
    in_force: CachePadded<Mutex<Plan>>,
    clock: PhantomData<fn() -> C>,
}

impl<C: Clock, R: Root<C>> Shared<C, R> {
    pub(super) fn new(plan: Plan, root: R) -> Self {
        Self {
            root,
            plan,
            // A quarter of an equal share: the shards that draw after this one find enough to draw too.
            part: plan.shards().saturating_mul(4).checked_next_power_of_two().map_or(31, u32::trailing_zeros),
            ceiling: AtomicU64::new(plan.ceiling()),
            epoch: CachePadded::new(AtomicU64::new(0)),
            places: (0..plan.shards()).map(|_| CachePadded::new(Place::new())).collect(),
            in_force: CachePadded::new(Mutex::new(plan)),
            clock: PhantomData,
        }
    }

    /// The credit that is left of `credit` when `cost` is admitted, after drawing what it lacks.
    pub(super) fn spend(&self, cost: u64, credit: u64, ceiling: u64) -> Result<u64, Denied> {
        if cost.wrapping_sub(1) < credit {
            return Ok(credit - cost);
        }
        if cost == 0 || cost > ceiling {
            return self.root.try_acquire_n(cost).map(|()| credit);
        }
        let drawn = self.root.lend(cost - credit, ceiling - credit, self.part)?;
        Ok(credit + drawn - cost)
    }

    /// Up to `most` tokens out of `credit` and the root, and the credit that is left.
    pub(super) fn take_up_to(&self, most: u64, credit: u64, ceiling: u64) -> (u64, u64) {
        let from_credit = most.min(credit);
        let (mut taken, mut credit) = (from_credit, credit - from_credit);
        if taken < most && ceiling > 0 {
            let drawn = self.root.lend(1, ceiling, self.part).unwrap_or(0);
            let spent = drawn.min(most - taken);
            (taken, credit) = (taken + spent, drawn - spent);
        }
        if taken < most {
            taken += self.root.lend(1, most - taken, 0).unwrap_or(0);
        }
        (taken, credit)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn draw_for(&self, slot: usize, cost: u64) -> Result<(), Denied> {
        let Some(place) = self.place_of(slot) else {
            return self.root.try_acquire_n(cost);
        };
        let credit = self.spend(cost, place.credit().0, self.ceiling())?;
        place.set_credit(credit);
        Ok(())
    }

    /// The place of the thread, caught up.
    pub(super) fn place_of(&self, slot: usize) -> Option<&Place> {
        let place = self.places.get(slot).filter(|place| place.is_or_becomes_of(slot))?;
        let ((credit, drawn_in), epoch) = (place.credit(), self.epoch());
        if drawn_in != epoch {
            place.set_credit(self.kept(place, credit));
            place.set_epoch(epoch);
        }
        Some(place)
    }

    /// What the owner of a place keeps of credit that it drew before the epoch it has just loaded.
    pub(super) fn kept(&self, place: &Place, credit: u64) -> u64 {
        let credit = credit.min(place.take_lowest());
        if credit == 0 || self.root.peek().paused_for().is_zero() {
            return credit;
        }
        self.root.refund(credit);
        0
    }

    /// A place for a handle. From the end, since threads have theirs from the front.
    pub(super) fn claim(&self) -> Option<usize> {
        self.places.iter().rposition(|place| place.claim())
    }

    pub(super) fn release(&self, place: usize) {
        if let Some(place) = self.place(place) {
            place.release();
        }
    }

    #[inline(always)]
    pub(super) fn place(&self, place: usize) -> Option<&Place> {
        self.places.get(place).map(|place| &**place)
    }

    /// Acquires what was stored before the epoch began.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn advance(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// The most credit that a shard may draw; to be read after the epoch.
    pub(super) fn ceiling(&self) -> u64 {
        self.ceiling.load(Ordering::Relaxed)
    }

    pub(super) fn plan(&self) -> Plan {
        if R::CHANGES { *lock(&self.in_force) } else { self.plan }
    }
}

/// What was left in the shards goes back to the root, for whoever has that still.
#[cfg(feature = "redis")]
impl<C: Clock, R: Root<C>> Drop for Shared<C, R> {
    fn drop(&mut self) {
        for place in &self.places {
            self.root.refund(place.credit().0);
        }
    }
}

#[cfg(feature = "adjust")]
impl<C: Clock, R: Root<C>> Shared<C, R> {
    /// Divides another quota as the first one was divided. `change` is told the plan that was in force and the new one, and
    /// changes the root from the one to the other.
    pub(super) fn divide(&self, quota: &crate::quota::Quota, change: impl FnOnce(&R, &Plan, &Plan)) {
        let mut plan = lock(&self.in_force);
        let next = self.plan.scaled_to(quota);
        if next.ceiling() < self.ceiling() {
            self.lower(next.ceiling());
        }
        change(&self.root, &plan, &next);
        self.ceiling.store(next.ceiling(), Ordering::Relaxed);
        *plan = next;
    }

    fn lower(&self, ceiling: u64) {
        self.ceiling.store(ceiling, Ordering::Relaxed);
        for place in &self.places {
            place.lower(ceiling);
        }
        self.advance();
    }
}
