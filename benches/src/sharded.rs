//! One allowance leased to cores, entered in its two ways: by a handle of the thread's own, and by look-up.

use crate::decide::{Contender, Decide};
use std::ops::Deref;
use tollgate::sharded::{Plan, Root, Shard, Sharded};
use tollgate::{Clock, Monotonic, Quota};

impl<C: Clock, R: Root<C>> Decide for Shard<C, R> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.try_acquire().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.try_acquire_n(u64::from(cost)).is_ok()
    }
}

impl<C: Clock, R: Root<C>> Decide for Sharded<C, R> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.try_acquire().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.try_acquire_n(u64::from(cost)).is_ok()
    }
}

/// An allowance of which each thread takes a handle.
pub struct ByHandle(Sharded);

/// The handle of one thread. When it is dropped, its credit goes back.
pub struct Lease(Shard);

impl Deref for Lease {
    type Target = Shard;

    #[inline(always)]
    fn deref(&self) -> &Shard {
        &self.0
    }
}

impl Contender for ByHandle {
    type Handle<'a> = Lease;

    fn build(quota: Quota) -> Self {
        Self(Sharded::new(quota))
    }

    fn handle(&self) -> Lease {
        Lease(self.0.shard())
    }

    fn now(&self) -> u64 {
        self.0.clock().now().as_u64()
    }

    fn held_back(quota: Quota) -> u64 {
        held_back(quota)
    }
}

/// An allowance that finds the calling thread's shard by itself.
impl Contender for Sharded<Monotonic> {
    type Handle<'a> = &'a Self;

    fn build(quota: Quota) -> Self {
        Self::new(quota)
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.clock().now().as_u64()
    }

    fn held_back(quota: Quota) -> u64 {
        held_back(quota)
    }
}

/// `N*C` of the default plan.
fn held_back(quota: Quota) -> u64 {
    let plan: Plan = Sharded::new(quota).plan();
    plan.ceiling() * u64::from(plan.shards())
}
