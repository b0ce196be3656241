//! One allowance, leased to cores.
//!
//! A bucket that all cores share costs each admission a reading of the clock and, under contention, a cache line that
//! travels between cores. A [`Sharded`] allowance keeps a *root* bucket and lets *shards* draw credit from it in
//! advance. Spending credit is a comparison and a subtraction in memory that no other core writes: no clock, no atomic
//! read-modify-write.
//!
//! # The bound stays
//!
//! Credit is charged to the root when it is drawn. With `N` shards of at most `C` tokens each, the root's capacity is
//! `B - N*C`, so the root and all shards together never hold more than `B`. What they hold grows by refill alone, and
//! drawing or returning credit moves tokens without making any. In every interval of length `t`, no more than
//! `B + r*t` is admitted: the bound of one bucket, without a correction term. A lease that is spent late cannot break it.
//!
//! # What it costs
//!
//! Tokens in an idle shard are not there for the others. With `B` = 1 000 000, `N` = 8 and the default `C` = `B/8/N` =
//! 15 625:
//!
//! * a fresh allowance admits `B - N*C` = 875 000 at once, since shards begin empty;
//! * idle shards hold at most `(N-1)*C` = 109 375, so one shard alone bursts between `B - N*C` = 875 000 and
//!   `B - (N-1)*C` = 890 625;
//! * the largest cost ever admitted is `B - N*C` = 875 000; a larger one is refused for ever;
//! * no refill is lost: the rate is `r`, whatever the shards hold.
//!
//! Shards draw much while the root has much, less as it empties, and in the end no more than the cost itself, so that
//! near the limit every decision is the root's own and nothing lies idle. A cost above `C` goes to the root directly. A
//! capacity too small to divide makes a plain bucket ([`Plan::is_plain`]).
//!
//! # Pauses
//!
//! [`Sharded::pause_until`] reaches credit already drawn: a shard compares an epoch, which the pause advances, on every
//! call, and when it has changed returns its credit and asks the root. Every call that happens after the pause obeys it;
//! one that another thread has already begun may complete. So the bound on what a pause lets through is one call a
//! thread.

mod place;
mod plan;
mod shard;
mod slot;

use core::time::Duration;
use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use self::place::Place;
pub use self::plan::{Plan, PlanError};
pub use self::shard::Shard;
use crate::bucket::Bucket;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::{Fill, Quota};
use crate::sync::{AtomicU64, Ordering};

/// A token bucket whose tokens are leased to shards, under the bound of one bucket; see the [module](self).
///
/// Clones share one allowance. Give each thread a [`shard`](Self::shard), or call the allowance itself, which finds the
/// calling thread's shard. Threads for which there is no shard go to the root and stay correct.
///
/// ```
/// use tollgate::{Denied, quota, sharded::Sharded};
///
/// let limit = Sharded::new(quota!("1M/s"));
/// limit.try_acquire()?;
/// limit.try_acquire_n(100)?;
/// # Ok::<(), Denied>(())
/// ```
pub struct Sharded<C: Clock = Monotonic> {
    shared: Arc<Shared<C>>,
}

/// What all shards see.
struct Shared<C: Clock> {
    root: Bucket<C>,
    plan: Plan,
    /// Draws take one part in `2^part` of what the root has.
    part: u32,
    /// Advanced by each pause; credit of an earlier epoch is returned unspent.
    epoch: CachePadded<AtomicU64>,
    places: Box<[CachePadded<Place>]>,
}

impl Sharded {
    /// An allowance on the [`Monotonic`] clock, with two shards for each core.
    pub fn new(quota: Quota) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = u32::try_from(cores.saturating_mul(2)).unwrap_or(u32::MAX);
        Self::with_plan(Plan::for_threads(&quota, threads), Monotonic::new())
    }
}

impl<C: Clock> Sharded<C> {
    /// An allowance divided by `plan`, on a clock of the caller's.
    pub fn with_plan(plan: Plan, clock: C) -> Self {
        let places = (0..plan.shards()).map(|_| CachePadded::new(Place::new())).collect();
        let root = Bucket::with_clock(root_quota(&plan), clock);
        // A quarter of an equal share: the shards that draw after this one find enough to draw too.
        let part =
            plan.shards().saturating_mul(4).checked_next_power_of_two().map_or(31, u32::trailing_zeros);
        let epoch = CachePadded::new(AtomicU64::new(0));
        Self { shared: Arc::new(Shared { root, plan, part, epoch, places }) }
    }

    /// A shard of its own for a thread or a group of tasks.
    ///
    /// If all places are taken, the shard has no credit and asks the root each time.
    pub fn shard(&self) -> Shard<C> {
        Shard::new(Arc::clone(&self.shared))
    }

    /// Admits one token now, or refuses and consumes nothing. Spends the calling thread's credit.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the wait until the root has what the credit lacks.
    #[inline]
    pub fn try_acquire(&self) -> Result<(), Denied> {
        self.try_acquire_n(1)
    }

    /// Admits `cost` tokens now, all of them or none. Spends the calling thread's credit.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the wait until the root has what the credit lacks, [`Denied::OverCapacity`] for a cost
    /// above [`max_cost`](Self::max_cost), or [`Denied::ZeroCost`].
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let (shared, slot) = (&*self.shared, slot::current());
        if let Some(place) = shared.places.get(slot)
            && place.is_of(slot)
        {
            let (credit, epoch) = place.credit();
            // A cost of 0 wraps and is not below any credit.
            if cost.wrapping_sub(1) < credit && epoch == shared.epoch() {
                place.set_credit(credit - cost);
                return Ok(());
            }
        }
        shared.draw_for(slot, cost)
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many: the calling thread's credit first, then
    /// what the root has. It never makes a debt.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        let shared = &*self.shared;
        match shared.place_of(slot::current()) {
            Some(place) => {
                let (taken, credit) = shared.take_up_to(most, place.credit().0, shared.plan.ceiling());
                place.set_credit(credit);
                taken
            }
            None => shared.root.acquire_up_to(most),
        }
    }

    /// Returns the calling thread's credit to the root, for other shards to draw. For a thread that will be idle.
    pub fn park(&self) {
        if let Some(place) = self.shared.place_of(slot::current()) {
            self.shared.root.refund(place.credit().0);
            place.set_credit(0);
        }
    }

    /// Takes `cost` tokens from the root whether they are there or not. Shards may still spend the credit they have.
    pub fn charge(&self, cost: u64) {
        self.shared.root.charge(cost);
    }

    /// Gives `cost` tokens back to the root, up to its capacity. As with [`Bucket::refund`], each refund may widen the
    /// bound by its amount.
    pub fn refund(&self, cost: u64) {
        self.shared.root.refund(cost);
    }

    /// Admits nothing before the clock reads `until`, from the root or from any shard; see the [module](self#pauses).
    pub fn pause_until(&self, until: Nanos) {
        self.shared.root.pause_until(until);
        self.shared.advance();
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for(&self, span: Duration) {
        self.shared.root.pause_for(span);
        self.shared.advance();
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.shared.root.resume();
    }

    /// Looks into the root: what any caller could have now beside its own credit.
    pub fn peek(&self) -> Level {
        self.shared.root.peek()
    }

    /// How the capacity is divided.
    pub fn plan(&self) -> Plan {
        self.shared.plan
    }

    /// The largest cost that is ever admitted, in tokens.
    pub fn max_cost(&self) -> u64 {
        self.shared.plan.root_capacity()
    }

    /// The root's clock.
    pub fn clock(&self) -> &C {
        self.shared.root.clock()
    }

    /// The quota of the whole.
    pub fn quota(&self) -> Quota {
        self.shared.plan.quota()
    }
}

impl<C: Clock> Shared<C> {
    /// The credit that is left of `credit` when `cost` is admitted, after drawing what it lacks.
    fn spend(&self, cost: u64, credit: u64, ceiling: u64) -> Result<u64, Denied> {
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
    fn take_up_to(&self, most: u64, credit: u64, ceiling: u64) -> (u64, u64) {
        let from_credit = most.min(credit);
        let (mut taken, mut credit) = (from_credit, credit - from_credit);
        if taken < most && ceiling > 0 {
            let drawn = self.root.lend(1, ceiling, self.part).unwrap_or(0);
            let spent = drawn.min(most - taken);
            (taken, credit) = (taken + spent, drawn - spent);
        }
        if taken < most {
            taken += self.root.acquire_up_to(most - taken);
        }
        (taken, credit)
    }

    #[cold]
    #[inline(never)]
    fn draw_for(&self, slot: usize, cost: u64) -> Result<(), Denied> {
        let Some(place) = self.place_of(slot) else {
            return self.root.try_acquire_n(cost);
        };
        let credit = self.spend(cost, place.credit().0, self.plan.ceiling())?;
        place.set_credit(credit);
        Ok(())
    }

    /// The place of the thread, its credit returned if it was drawn before the last pause.
    fn place_of(&self, slot: usize) -> Option<&Place> {
        let place = self.places.get(slot).filter(|place| place.is_or_becomes_of(slot))?;
        let ((credit, drawn_in), epoch) = (place.credit(), self.epoch());
        if drawn_in != epoch {
            self.root.refund(credit);
            place.set_credit(0);
            place.set_epoch(epoch);
        }
        Some(place)
    }

    /// A place for a handle. From the end, since threads have theirs from the front.
    fn claim(&self) -> Option<usize> {
        self.places.iter().rposition(|place| place.claim())
    }

    fn release(&self, place: usize) {
        self.places[place].release();
    }

    /// Acquires what the pause that began the epoch has stored, above all the root's hold.
    #[inline]
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    fn advance(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }
}

/// The quota of the root: the whole rate, and what the shards leave of the capacity.
fn root_quota(plan: &Plan) -> Quota {
    let (quota, capacity) = (plan.quota(), plan.root_capacity());
    let fill = match quota.initial() {
        Fill::Tokens(tokens) => Fill::Tokens(tokens.min(capacity)),
        other => other,
    };
    quota.resized(capacity, fill)
}

impl<C: Clock> Clone for Sharded<C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<C: Clock> Limiter for Sharded<C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }
}

impl<C: Clock> fmt::Debug for Sharded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { root, plan, .. } = &*self.shared;
        f.debug_struct("Sharded")
            .field("quota", &format_args!("{}", plan.quota()))
            .field("shards", &plan.shards())
            .field("ceiling", &plan.ceiling())
            .field("root", root)
            .finish()
    }
}
