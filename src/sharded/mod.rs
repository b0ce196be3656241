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
//! call, and when it has changed and the root is paused, returns its credit and asks the root. Every call that happens
//! after the pause obeys it; one that another thread has already begun may complete. So the bound on what a pause lets
//! through is one call a thread.
//!
//! # Changes of the quota
//!
//! With the feature `adjust`, `Sharded::adjustable` makes an allowance whose quota can be changed while threads ask. Its
//! root is an `Adjustable`. That and a [`Bucket`] are all that a caller can name as a [`Root`]; a fixed allowance pays
//! nothing for it.

#[cfg(feature = "redis")]
mod pauser;
mod place;
mod plan;
mod root;
mod shard;
mod shared;
#[cfg(feature = "budget")]
mod spent;

use core::time::Duration;
use std::fmt;
use std::sync::Arc;

#[cfg(feature = "redis")]
pub(crate) use self::pauser::Pauser;
use self::place::Place;
pub use self::plan::{Plan, PlanError};
#[cfg(any(feature = "adjust", feature = "redis"))]
pub(crate) use self::root::Lender;
pub use self::root::Root;
pub use self::shard::Shard;
use self::shared::Shared;
#[cfg(feature = "budget")]
pub use self::spent::Spent;
use crate::bucket::Bucket;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::slot;

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
pub struct Sharded<C: Clock = Monotonic, R: Root<C> = Bucket<C>> {
    shared: Arc<Shared<C, R>>,
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
        Self::with_root(plan, Bucket::with_clock(plan.root_quota(), clock))
    }
}

impl<C: Clock, R: Root<C>> Sharded<C, R> {
    /// An allowance whose root has the plan's part for it.
    pub(crate) fn with_root(plan: Plan, root: R) -> Self {
        Self { shared: Arc::new(Shared::new(plan, root)) }
    }

    /// Something that pauses it without keeping it.
    #[cfg(feature = "redis")]
    pub(crate) fn pauser(&self) -> Pauser<C, R> {
        Pauser::new(&self.shared)
    }

    /// Divides another quota in the proportion of the first. `change` is told the plan that was in force and the new one, and
    /// changes the root from its part in the one to its part in the other.
    #[cfg(feature = "adjust")]
    pub(crate) fn divide(&self, quota: &Quota, change: impl FnOnce(&R, &Plan, &Plan)) {
        self.shared.divide(quota, change);
    }

    /// A shard of its own for a thread or a group of tasks.
    ///
    /// If all places are taken, the shard has no credit and asks the root each time.
    pub fn shard(&self) -> Shard<C, R> {
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

    /// Admits `cost` tokens now, or refuses and takes none. Spends the calling thread's credit.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the wait until the root has what the credit lacks, [`Denied::OverCapacity`] for a cost
    /// above [`max_cost`](Self::max_cost), or [`Denied::ZeroCost`].
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let (shared, slot) = (&*self.shared, slot::current());
        if let Some(place) = shared.place(slot)
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
    /// what the root has. What is not there is refused, not waited for. It never makes a debt.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        let shared = &*self.shared;
        match shared.place_of(slot::current()) {
            Some(place) => {
                let (taken, credit) = shared.take_up_to(most, place.credit().0, shared.ceiling());
                place.set_credit(credit);
                taken
            }
            None => shared.take_up_to(most, 0, 0).0,
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
        self.pause_until(self.clock().now().saturating_add(Nanos::from_duration(span)));
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.shared.root.resume();
    }

    /// Looks into the root: what any caller could have now beside its own credit.
    pub fn peek(&self) -> Level {
        self.shared.root.peek()
    }

    /// How the capacity is divided: the plan in force, which for an adjustable allowance takes a lock.
    pub fn plan(&self) -> Plan {
        self.shared.plan()
    }

    /// The largest cost that is ever admitted under the quota in force, in tokens.
    pub fn max_cost(&self) -> u64 {
        self.shared.root.quota().capacity()
    }

    /// The root's clock.
    pub fn clock(&self) -> &C {
        self.shared.root.clock()
    }

    /// The quota of the whole: the one in force, which for an adjustable allowance takes a lock.
    pub fn quota(&self) -> Quota {
        self.plan().quota()
    }
}

impl<C: Clock, R: Root<C>> Clone for Sharded<C, R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<C: Clock, R: Root<C>> Limiter for Sharded<C, R> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }
}

impl<C: Clock, R: Root<C> + fmt::Debug> fmt::Debug for Sharded<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan();
        f.debug_struct("Sharded")
            .field("quota", &format_args!("{}", plan.quota()))
            .field("shards", &plan.shards())
            .field("ceiling", &plan.ceiling())
            .field("root", &self.shared.root)
            .finish()
    }
}
