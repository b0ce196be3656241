//! The one door behind which every limiter of the field stands.

use std::ops::Deref;
use std::time::Duration;
use tollgate::Quota;

/// One decision, asked in the cheapest way the limiter offers.
pub trait Decide: Sized {
    /// Takes one token if it is there.
    fn decide(&self) -> bool;

    /// Takes `cost` tokens if they are there.
    fn decide_n(&self, cost: u32) -> bool;
}

/// A limiter that can say how long to wait.
pub trait Waits: Decide {
    /// Takes one token, or tells how long until it is there, in the way the limiter's docs propose.
    fn decide_or_wait(&self) -> Result<(), Duration>;
}

/// A limiter that can be built for a quota and entered by many threads.
pub trait Contender: Send + Sync + Sized + 'static {
    /// What one thread calls. A limiter shared by reference gives `&Self`; one that leases to threads gives a lease.
    type Handle<'a>: Deref<Target: Decide>
    where
        Self: 'a;

    /// The step in which the limiter's refill becomes visible, in nanoseconds; 0 where it is continuous.
    const GRAIN_NANOS: u64 = 0;

    /// A fresh limiter. Panics if this limiter cannot express the quota, see [`Contender::fits`].
    fn build(quota: Quota) -> Self;

    /// Whether this limiter can express the quota without bending it.
    fn fits(_quota: Quota) -> bool {
        true
    }

    /// The calling thread's way in.
    fn handle(&self) -> Self::Handle<'_>;

    /// A reading of the limiter's own clock in nanoseconds. The audit measures `t` of `B + r*t` with it.
    fn now(&self) -> u64;

    /// Tokens by which the limiter may exceed `B + r*t` by its own design (a clock that is stale, a refill in steps).
    fn slack(_quota: Quota) -> u64 {
        0
    }

    /// Tokens that may lie where a caller cannot reach them: credit that was drawn in advance by others.
    fn held_back(_quota: Quota) -> u64 {
        0
    }
}
