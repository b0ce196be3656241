//! tollgate's own contenders.

use crate::decide::{Contender, Decide, Waits};
use std::sync::OnceLock;
use std::time::Duration;
use tollgate::{Bucket, Clock, Coarse, Limiter, Manual, Monotonic, Quota};

/// Any limiter of the crate, asked through the trait that wrappers have.
pub struct Asked<L>(pub L);

impl<L: Limiter> Decide for Asked<L> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.0.try_acquire().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.0.try_acquire_n(cost.into()).is_ok()
    }
}

impl<L: Limiter> Waits for Asked<L> {
    #[inline(always)]
    fn decide_or_wait(&self) -> Result<(), Duration> {
        self.0.try_acquire().map_err(|denied| denied.wait().unwrap_or(Duration::MAX))
    }
}

impl<C: Clock> Decide for Bucket<C> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.try_acquire().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.try_acquire_n(u64::from(cost)).is_ok()
    }
}

impl<C: Clock> Waits for Bucket<C> {
    #[inline(always)]
    fn decide_or_wait(&self) -> Result<(), Duration> {
        self.try_acquire().map_err(|denied| denied.wait().unwrap_or(Duration::MAX))
    }
}

impl Contender for Bucket<Monotonic> {
    type Handle<'a> = &'a Self;

    fn build(quota: Quota) -> Self {
        Self::with_clock(quota, Monotonic::new())
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.clock().now().as_u64()
    }
}

/// How often the shared coarse clock is refreshed.
pub const COARSE_INTERVAL: Duration = Duration::from_millis(1);

/// The coarse clock of this process: started once, shared by all that measure with it.
pub fn coarse() -> Coarse {
    static CLOCK: OnceLock<Coarse> = OnceLock::new();
    CLOCK.get_or_init(|| Coarse::start(COARSE_INTERVAL).expect("a thread for the coarse clock")).clone()
}

impl Contender for Bucket<Coarse> {
    type Handle<'a> = &'a Self;

    /// Under load the refreshing thread is scheduled late now and then: allow for four intervals.
    const GRAIN_NANOS: u64 = 4 * COARSE_INTERVAL.as_nanos() as u64;

    fn build(quota: Quota) -> Self {
        Self::with_clock(quota, coarse())
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.clock().now().as_u64()
    }
}

/// A bucket whose clock stands still: the decision alone, without any clock.
impl Contender for Bucket<Manual> {
    type Handle<'a> = &'a Self;

    fn build(quota: Quota) -> Self {
        Self::with_clock(quota, Manual::new())
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.clock().now().as_u64()
    }
}
