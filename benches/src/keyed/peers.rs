//! governor's keyed limiter on its stores, with its default clock.

use governor::clock::DefaultClock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::{DashMapStateStore, DefaultKeyedStateStore, HashMapStateStore, KeyedStateStore};
use governor::{Quota as Limit, RateLimiter};
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::time::Duration;
use tollgate::Quota;

type Limiter<S> =
    RateLimiter<u64, S, DefaultClock, NoOpMiddleware<<DefaultClock as governor::clock::Clock>::Instant>>;

/// On its default store: a `DashMap` with SipHash.
pub fn governor(quota: Quota) -> impl Fn(&u64) -> bool + Send + Sync + 'static {
    let limiter: Limiter<DefaultKeyedStateStore<u64>> = RateLimiter::keyed(limit(quota));
    decides(limiter)
}

/// On a `DashMap` with another hasher.
pub fn governor_hashing<S>(quota: Quota) -> impl Fn(&u64) -> bool + Send + Sync + 'static
where
    S: BuildHasher + Default + Clone + Send + Sync + 'static,
{
    let limiter: Limiter<DashMapStateStore<u64, S>> =
        RateLimiter::dashmap_with_hasher(limit(quota), S::default());
    decides(limiter)
}

/// On a `HashMap` under one lock, with SipHash.
pub fn governor_locking(quota: Quota) -> impl Fn(&u64) -> bool + Send + Sync + 'static {
    let limiter: Limiter<HashMapStateStore<u64>> = RateLimiter::hashmap(limit(quota));
    decides(limiter)
}

fn decides<S>(limiter: Limiter<S>) -> impl Fn(&u64) -> bool + Send + Sync + 'static
where
    S: KeyedStateStore<u64> + Send + Sync + 'static,
{
    move |key| limiter.check_key(key).is_ok()
}

/// A quota whose token takes whole nanoseconds.
fn limit(quota: Quota) -> Limit {
    let token = quota.period().as_nanos() as u64 / quota.tokens();
    let burst = NonZeroU32::new(quota.capacity() as u32).expect("a capacity that governor can count");
    Limit::with_period(Duration::from_nanos(token)).expect("a token takes time").allow_burst(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_limits_each_key() {
        let quota = Quota::with_burst(1, Duration::from_secs(3600), 2).unwrap();
        let two_of_each = |decides: &dyn Fn(&u64) -> bool| {
            for key in 0..100 {
                assert_eq!([decides(&key), decides(&key), decides(&key)], [true, true, false], "{key}");
            }
        };
        two_of_each(&governor(quota));
        two_of_each(&governor_hashing::<std::hash::RandomState>(quota));
        two_of_each(&governor_locking(quota));
    }
}
