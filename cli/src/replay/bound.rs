//! The audit: was the bound kept in every interval? Worked out from the admissions alone, apart from the limiter.
//!
//! The bound says that in **any** interval `[s, e]` the admitted cost is at most `B + r*(e - s)`, with the capacity `B`
//! and the rate `r`. Trying all intervals would need all admissions in memory. The level of a [`Leak`] to which all
//! admissions are put is one number that does the same: it is the most, over all intervals that end at an admission, by
//! which an interval's cost is above `r` times its length. Only intervals that begin and end at an admission matter,
//! because any other one holds the same admissions as a shorter one of those. So the bound is kept in all intervals that
//! end at an admission exactly when the level after it is at most `B`, and in all intervals when that holds for each.
//!
//! On the binary scale the limiter may admit less than one unit more (`GUARANTEES` sections 1 and 2); the size of that
//! unit is worked out here from the specification's rule, not asked of the limiter.

use tollgate::{Nanos, Quota};

use crate::leak::{Leak, Level, Ratio};

/// Watches admissions and finds those that break the bound.
#[derive(Clone, Debug)]
pub(crate) struct BoundAudit {
    leak: Leak,
    capacity: u64,
    /// The excess over the capacity, in `1/rate.per` of a token, from which on it is a violation; less is the slack of
    /// the binary scale.
    excess: u128,
    violations: u64,
}

impl BoundAudit {
    pub(crate) fn new(quota: &Quota) -> Self {
        let leak = Leak::new(quota);
        let rate = leak.rate();
        Self {
            leak,
            capacity: quota.capacity(),
            excess: rate.per.div_ceil(units_per_token(rate, quota.capacity())).max(1),
            violations: 0,
        }
    }

    /// An admission at `now`; times must not step back.
    pub(crate) fn admitted(&mut self, now: Nanos, cost: u64) {
        let level = self.leak.add(now, cost);
        if self.is_over(level) {
            self.violations += 1;
        }
    }

    /// The capacity `B`.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many admissions ended an interval that held more than the bound.
    pub(crate) fn violations(&self) -> u64 {
        self.violations
    }

    fn is_over(&self, level: Level) -> bool {
        let capacity = u128::from(self.capacity);
        level.tokens > capacity || (level.tokens == capacity && level.parts >= self.excess)
    }
}

/// `U` of GUARANTEES section 1: `q` on the exact scale, whose bound has no slack, else the largest `2^F`.
fn units_per_token(rate: Ratio, capacity: u64) -> u128 {
    const LIMIT: u128 = 1 << 61;
    let (p, q, capacity) = (rate.tokens, rate.per, u128::from(capacity));
    if p <= 8 && capacity.checked_mul(q).is_some_and(|units| units < LIMIT) {
        return q;
    }
    let fits = |f: &u32| capacity << f < LIMIT && p << f <= 2 * q;
    1 << (1..=60).take_while(fits).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Violations among `(time in ns, cost)`.
    fn violations(limit: &str, admissions: &[(u64, u64)]) -> u64 {
        let mut audit = BoundAudit::new(&limit.parse().unwrap());
        for &(at, cost) in admissions {
            audit.admitted(Nanos::new(at), cost);
        }
        audit.violations()
    }

    const HALF: u64 = 500_000_000;

    #[test]
    fn the_worked_example_is_kept_and_one_nanosecond_sooner_is_caught() {
        let kept = [(0, 1), (0, 1), (0, 1), (HALF, 1), (2 * HALF, 1), (4 * HALF, 2)];
        assert_eq!(violations("2/s burst 3", &kept), 0);
        assert_eq!(violations("2/s burst 3", &[(0, 3), (HALF - 1, 1)]), 1);
        assert_eq!(violations("2/s burst 3", &[(0, 4)]), 1);
        assert_eq!(violations("2/s burst 3", &[(0, 3), (HALF, 1), (3 * HALF - 1, 2), (20 * HALF, 3)]), 1);
    }

    #[test]
    fn an_interval_that_begins_late_is_seen() {
        let hour = 3_600_000_000_000;
        assert_eq!(violations("2/s burst 3", &[(0, 1), (hour, 2), (hour + HALF, 2)]), 0);
        assert_eq!(violations("2/s burst 3", &[(0, 1), (hour, 2), (hour + HALF - 1, 2)]), 1);
    }

    #[test]
    fn the_recursion_equals_all_intervals() {
        let mut random = 1_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut caught = 0;
        for _ in 0..500 {
            let mut now = 0;
            let admissions: Vec<(u64, u64)> = (0..12)
                .map(|_| {
                    now += draw(6);
                    (now, 1 + draw(3))
                })
                .collect();
            let quota = Quota::with_burst(3, Duration::from_nanos(5), 7).unwrap();
            let mut audit = BoundAudit::new(&quota);
            for (k, &(end, cost)) in admissions.iter().enumerate() {
                let before = audit.violations();
                audit.admitted(Nanos::new(end), cost);
                let broken = (0..=k).any(|j| {
                    let held: u64 = admissions[j..=k].iter().map(|(_, cost)| cost).sum();
                    5 * held > 5 * 7 + 3 * (end - admissions[j].0)
                });
                assert_eq!(audit.violations() > before, broken, "{admissions:?} at {k}");
                caught += u32::from(broken);
            }
        }
        assert!((1_000..5_000).contains(&caught), "{caught} of 6000");
    }

    #[test]
    fn only_the_binary_scale_has_slack_and_less_than_a_unit() {
        // 7 in 3 ns and a capacity of 2^60: on the binary scale with F = 0 a unit is a token.
        let wide = Quota::with_burst(7, Duration::from_nanos(3), 1 << 60).unwrap();
        assert_eq!(units_per_token(Ratio::lowest(7, 3), wide.capacity()), 1);
        let mut audit = BoundAudit::new(&wide);
        audit.admitted(Nanos::new(0), 1 << 60);
        audit.admitted(Nanos::new(1), 3);
        assert_eq!(audit.violations(), 0, "2/3 of a token over");
        audit.admitted(Nanos::new(1), 1);
        assert_eq!(audit.violations(), 1, "1 2/3 tokens over");
        // The same on the exact scale: a third of a token over is a violation.
        assert_eq!(violations("7 per 3ns burst 10", &[(0, 10), (1, 2)]), 0);
        assert_eq!(violations("7 per 3ns burst 10", &[(0, 10), (1, 3)]), 1);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let quota = Quota::with_burst(1, Duration::MAX, (1 << 61) - 1).unwrap();
        let mut audit = BoundAudit::new(&quota);
        audit.admitted(Nanos::ZERO, (1 << 61) - 1);
        audit.admitted(Nanos::MAX, 0);
        assert_eq!(audit.violations(), 0);
        for _ in 0..3 {
            audit.admitted(Nanos::MAX, u64::MAX);
        }
        assert_eq!(audit.violations(), 3);
    }
}
