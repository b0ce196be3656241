//! The least capacity for a rate, and the least rate for a capacity, by the library's own bucket.
//!
//! Both are edges: the value admits the target and the next smaller one does not. For all requests there is one edge.
//! For a part of them there can be several: a larger bucket may admit a large request that then keeps several small ones
//! out. The search begins at a value that is known to be enough ([`backlog`]), and halves what is below.

use std::time::Duration;

use super::backlog;
use super::load::Load;
use super::rate::Rate;
use super::trial;

/// The largest capacity of a bucket.
const MOST: u64 = (1 << 61) - 1;

/// The least capacity that admits `wanted` requests at `rate` within `wait`, or `None` if no bucket holds it.
pub(super) fn capacity(load: &Load, rate: Rate, wait: Duration, wanted: u64) -> Option<u64> {
    let admits =
        |capacity: u64| rate.quota(capacity).is_ok_and(|quota| trial::admits(load, quota, wait, wanted));
    let enough = backlog::enough(load, &rate.quota(1).ok()?, wait, wanted);
    // On the binary scale a decision may come a nanosecond late, which is at most ten tokens.
    let high = (enough..=enough.saturating_add(10).min(MOST)).find(|capacity| admits(*capacity))?;
    if !admits(high - 1) {
        return Some(high);
    }
    Some(edge(0, high - 1, admits))
}

/// The least rate, in whole tokens each period of `start`, that admits `wanted` requests at once with `capacity`, or `None`
/// if none is found: too many requests cost more, or come at one moment.
pub(super) fn rate(load: &Load, start: Rate, capacity: u64, wanted: u64) -> Option<Rate> {
    let admits = |tokens: u64| {
        start
            .with(tokens)
            .quota(capacity)
            .is_ok_and(|quota| trial::admits(load, quota, Duration::ZERO, wanted))
    };
    let most = start.period.as_nanos().saturating_mul(10).try_into().unwrap_or(u64::MAX);
    let doubled = std::iter::successors(Some(start.tokens.min(most)), |&tokens| {
        (tokens < most).then(|| tokens.saturating_mul(2).min(most))
    });
    let mut low = 0;
    for high in doubled {
        if admits(high) {
            return Some(start.with(edge(low, high, admits)));
        }
        low = high;
    }
    None
}

/// The value between `low`, which does not pass, and `high`, which does, that passes while the next smaller does not.
fn edge(mut low: u64, mut high: u64, passes: impl Fn(u64) -> bool) -> u64 {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use tollgate::Nanos;

    use super::super::load::Request;
    use super::*;

    fn load(requests: &[(u64, u64)]) -> Load {
        let requests: Vec<_> =
            requests.iter().map(|&(at, cost)| Request { at: Nanos::new(at), cost }).collect();
        Load { requests, ..Load::default() }
    }

    fn per(nanos: u64, tokens: u64) -> Rate {
        Rate { tokens, period: Duration::from_nanos(nanos) }
    }

    /// Requests that a bucket of `capacity` admits at `tokens` in `nanos`: level by level, in units of `1/nanos` token. It
    /// may owe what comes within `wait` nanoseconds.
    fn admitted_within(wait: u64, requests: &[(u64, u64)], tokens: u64, nanos: u64, capacity: u64) -> u64 {
        let [wait, tokens, nanos, capacity] = [wait, tokens, nanos, capacity].map(|number| number as i64);
        let (mut level, mut last, mut admitted) = (capacity * nanos, 0, 0);
        for &(at, cost) in requests {
            let (at, cost) = (at as i64, cost as i64);
            level = (level + tokens * (at - last)).min(capacity * nanos);
            last = at;
            if cost <= capacity && cost * nanos <= level + tokens * wait {
                level -= cost * nanos;
                admitted += 1;
            }
        }
        admitted
    }

    fn admitted(requests: &[(u64, u64)], tokens: u64, nanos: u64, capacity: u64) -> u64 {
        admitted_within(0, requests, tokens, nanos, capacity)
    }

    fn random_loads(mut check: impl FnMut(&[(u64, u64)], u64, u64)) {
        let mut random = 3_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let mut at = 0;
            let requests: Vec<(u64, u64)> = (0..12)
                .map(|_| {
                    at += draw(5);
                    (at, 1 + draw(9))
                })
                .collect();
            check(&requests, 1 + draw(7), 1 + draw(7));
        }
    }

    #[test]
    fn for_all_requests_the_least_is_that_of_an_exhaustive_search() {
        random_loads(|requests, tokens, nanos| {
            let load = load(requests);
            let all = requests.len() as u64;
            let least = (1..).find(|&capacity| admitted(requests, tokens, nanos, capacity) == all);
            assert_eq!(
                capacity(&load, per(nanos, tokens), Duration::ZERO, all),
                least,
                "{requests:?} at {tokens}/{nanos}"
            );

            let room = least.unwrap();
            let slowest = (1..).find(|&tokens| admitted(requests, tokens, nanos, room) == all).unwrap();
            assert!(slowest <= tokens);
            let found = rate(&load, per(nanos, 2), room, all);
            assert_eq!(found, Some(per(nanos, slowest)), "{requests:?} with {room}");
        });
    }

    #[test]
    fn for_a_part_of_them_it_is_an_edge_and_all_above_what_is_enough_is_too() {
        let mut below_enough = 0;
        random_loads(|requests, tokens, nanos| {
            let (load, quota) = (load(requests), per(nanos, tokens).quota(1).unwrap());
            for wanted in 1..requests.len() as u64 {
                let admits = |capacity| admitted(requests, tokens, nanos, capacity) >= wanted;
                let found = capacity(&load, per(nanos, tokens), Duration::ZERO, wanted).unwrap();
                assert!(admits(found) && (found == 1 || !admits(found - 1)), "{requests:?}: {found}");
                let enough = backlog::enough(&load, &quota, Duration::ZERO, wanted);
                assert!(found <= enough && (enough..enough + 20).all(admits), "{requests:?}: {enough}");
                below_enough += u32::from(found < enough);

                let admits = |tokens| admitted(requests, tokens, nanos, enough) >= wanted;
                let found = rate(&load, per(nanos, 1), enough, wanted).unwrap().tokens;
                assert!(found <= tokens.next_power_of_two(), "{requests:?}: {found}");
                assert!(admits(found) && (found == 1 || !admits(found - 1)), "{requests:?}: {found}");
            }
        });
        assert!(below_enough > 200, "{below_enough}: what is refused leaves room");
    }

    #[test]
    fn with_waiting_too() {
        let mut saved = 0;
        random_loads(|requests, tokens, nanos| {
            let (load, all) = (load(requests), requests.len() as u64);
            for (wait, wanted) in [(1, all), (4, all), (9, all), (4, all - 2), (9, all / 2)] {
                let admits = |capacity| admitted_within(wait, requests, tokens, nanos, capacity) >= wanted;
                let found = capacity(&load, per(nanos, tokens), Duration::from_nanos(wait), wanted).unwrap();
                assert!(admits(found) && (found == 1 || !admits(found - 1)), "{requests:?} {wait}: {found}");
                if wanted == all {
                    assert_eq!(Some(found), (1..).find(|&capacity| admits(capacity)), "{requests:?} {wait}");
                    saved += u32::from(admitted(requests, tokens, nanos, found) < all);
                }
            }
        });
        assert!(saved > 300, "{saved}: less capacity than without waiting");
        let large = load(&[(0, 1), (1, 1_000), (1, 1)]);
        assert_eq!(
            capacity(&large, per(1, 1), Duration::from_secs(1), 3),
            Some(1_000),
            "no wait makes it smaller"
        );
    }

    /// Rates whose numerator is above 8, in nanoseconds: the bucket may be a nanosecond late, which is up to ten tokens.
    #[test]
    fn on_the_binary_scale_it_is_an_edge_of_the_bucket_itself() {
        random_loads(|requests, tokens, nanos| {
            let requests: Vec<_> = requests.iter().map(|&(at, cost)| (at * 977, cost * 1_000)).collect();
            let (load, all) = (load(&requests), requests.len() as u64);
            let rate = per(nanos * 1_000, tokens * 1_013 + 11);
            let found = capacity(&load, rate, Duration::ZERO, all).unwrap();
            let admits = |capacity| trial::admits(&load, rate.quota(capacity).unwrap(), Duration::ZERO, all);
            assert!(admits(found) && !admits(found - 1), "{requests:?}: {found}");
            let exact = backlog::enough(&load, &rate.quota(1).unwrap(), Duration::ZERO, all);
            assert!(found.abs_diff(exact) <= 10, "{requests:?}: {found} for {exact}");
        });
    }

    #[test]
    fn what_no_bucket_can_is_told() {
        let load = load(&[(0, 5), (1, 6)]);
        assert_eq!(rate(&load, per(1_000_000_000, 7), 5, 2), None, "6 is never admitted");
        assert_eq!(
            rate(&load, per(1_000_000_000, 7), 5, 1),
            Some(per(1_000_000_000, 1)),
            "the slowest there is"
        );
        let huge = self::load(&[(0, 1 << 60), (0, 1 << 60)]);
        assert_eq!(capacity(&huge, per(1, 1), Duration::ZERO, 2), None, "2^61 is one too many");
        assert_eq!(capacity(&huge, per(1, 1), Duration::ZERO, 1), Some(1 << 60));
    }
}
