//! The crates people use today, each called in the cheapest way its docs offer, with its default clock.

use crate::decide::{Contender, Decide, Waits};
use governor::clock::{Clock as _, DefaultClock, FakeRelativeClock, QuantaInstant, Reference};
use governor::state::{InMemoryState, NotKeyed};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use tollgate::{Fill, Quota};

/// governor's unkeyed limiter: GCRA in nanoseconds, on quanta's clock by default.
pub struct Governor<C: governor::clock::Clock = DefaultClock> {
    limiter:
        governor::RateLimiter<NotKeyed, InMemoryState, C, governor::middleware::NoOpMiddleware<C::Instant>>,
    clock: C,
}

impl<C: governor::clock::Clock + Clone> Governor<C> {
    /// A limiter for a quota whose token takes whole nanoseconds. An empty one is made by draining it.
    pub fn with_clock(quota: Quota, clock: C) -> Self {
        let burst = NonZeroU32::new(quota.capacity() as u32).expect("a capacity that governor can count");
        let token = Duration::from_nanos(token_nanos(quota));
        let limit = governor::Quota::with_period(token).expect("a token takes time").allow_burst(burst);
        let limiter = governor::RateLimiter::direct_with_clock(limit, clock.clone());
        if let Some(missing) = NonZeroU32::new((quota.capacity() - initial(quota)) as u32) {
            assert!(matches!(limiter.check_n(missing), Ok(Ok(()))), "a fresh governor is full");
        }
        Self { limiter, clock }
    }
}

impl<C: governor::clock::Clock> Decide for Governor<C> {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.limiter.check().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        NonZeroU32::new(cost).is_some_and(|cost| matches!(self.limiter.check_n(cost), Ok(Ok(()))))
    }
}

impl<C: governor::clock::Clock> Waits for Governor<C> {
    #[inline(always)]
    fn decide_or_wait(&self) -> Result<(), Duration> {
        self.limiter.check().map_err(|refusal| refusal.wait_time_from(self.clock.now()))
    }
}

impl Contender for Governor {
    type Handle<'a> = &'a Self;

    fn build(quota: Quota) -> Self {
        Self::with_clock(quota, DefaultClock::default())
    }

    fn fits(quota: Quota) -> bool {
        quota.period().as_nanos().is_multiple_of(u128::from(quota.tokens()))
            && u32::try_from(quota.capacity()).is_ok()
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        quanta_nanos(self.clock.now())
    }
}

/// governor on its own test clock, which stands still: the decision alone.
pub type StillGovernor = Governor<FakeRelativeClock>;

fn quanta_nanos(reading: QuantaInstant) -> u64 {
    let origin = reading.saturating_sub(governor::nanos::Nanos::new(u64::MAX));
    reading.duration_since(origin).as_u64()
}

/// The `ratelimit` crate: tokens and time of the last refill in two words, refilled at most once a microsecond.
pub struct Ratelimit {
    limiter: ratelimit::Ratelimiter,
    origin: Instant,
}

impl Decide for Ratelimit {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.limiter.try_wait().is_ok()
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.limiter.try_wait_n(u64::from(cost)).is_ok()
    }
}

impl Waits for Ratelimit {
    #[inline(always)]
    fn decide_or_wait(&self) -> Result<(), Duration> {
        self.limiter.try_wait().map_err(|refusal| match refusal {
            ratelimit::TryWaitError::Insufficient(wait) => wait,
            _ => Duration::MAX,
        })
    }
}

impl Contender for Ratelimit {
    type Handle<'a> = &'a Self;
    const GRAIN_NANOS: u64 = 1_000;

    fn build(quota: Quota) -> Self {
        let limiter = ratelimit::Ratelimiter::builder(quota.tokens())
            .period(quota.period())
            .max_tokens(quota.capacity())
            .initial_available(initial(quota))
            .build()
            .expect("a quota that ratelimit takes");
        Self { limiter, origin: Instant::now() }
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// What had been issued, but not yet been added, when the measured time began.
    fn slack(quota: Quota) -> u64 {
        issued(quota, 2 * Self::GRAIN_NANOS) + 1
    }
}

/// The `leaky-bucket` crate by its only synchronous call. Fair, as it is by default.
pub struct LeakyBucket {
    limiter: leaky_bucket::RateLimiter,
    origin: Instant,
}

impl LeakyBucket {
    const MILLI: u64 = 1_000_000;
}

impl Decide for LeakyBucket {
    #[inline(always)]
    fn decide(&self) -> bool {
        self.limiter.try_acquire(1)
    }

    #[inline(always)]
    fn decide_n(&self, cost: u32) -> bool {
        self.limiter.try_acquire(cost as usize)
    }
}

impl Contender for LeakyBucket {
    type Handle<'a> = &'a Self;

    /// Intervals are whole milliseconds.
    const GRAIN_NANOS: u64 = Self::MILLI;

    fn build(quota: Quota) -> Self {
        let by_the_milli = issued(quota, Self::MILLI);
        let (refill, interval) = if by_the_milli > 0 {
            (by_the_milli, Duration::from_millis(1))
        } else {
            (quota.tokens(), quota.period())
        };
        let limiter = leaky_bucket::RateLimiter::builder()
            .max(quota.capacity() as usize)
            .initial(initial(quota) as usize)
            .refill(refill as usize)
            .interval(interval)
            .build();
        Self { limiter, origin: Instant::now() }
    }

    fn handle(&self) -> &Self {
        self
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// A refill may fall due just after the measured time began.
    fn slack(quota: Quota) -> u64 {
        issued(quota, Self::MILLI) + 1
    }
}

fn token_nanos(quota: Quota) -> u64 {
    quota.period().as_nanos() as u64 / quota.tokens()
}

fn issued(quota: Quota, nanos: u64) -> u64 {
    (u128::from(quota.tokens()) * u128::from(nanos) / quota.period().as_nanos()) as u64
}

fn initial(quota: Quota) -> u64 {
    match quota.initial() {
        Fill::Full => quota.capacity(),
        Fill::Empty => 0,
        Fill::Tokens(tokens) => tokens,
    }
}
