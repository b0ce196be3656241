//! The integer token bucket of the baselines: tokens counted in fractions small enough that refill is whole.

use tollgate::{Fill, Quota};

/// What stays fixed: kept outside the lock.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Units that a nanosecond brings.
    pub units_per_nano: u64,
    /// Units in a token.
    pub unit: u64,
    /// Units in a full bucket.
    pub capacity: u64,
}

/// What the lock guards.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    credit: u64,
    since: u64,
}

impl Rate {
    /// The rate in lowest terms, on which every refill is exact.
    pub fn of(quota: Quota) -> Self {
        let (tokens, period) = (quota.tokens(), quota.period().as_nanos() as u64);
        let divisor = gcd(tokens, period);
        let unit = period / divisor;
        let capacity =
            quota.capacity().checked_mul(unit).expect("capacity times unit fits for the benchmarks");
        Self { units_per_nano: tokens / divisor, unit, capacity }
    }

    /// Units that so many tokens cost.
    #[inline(always)]
    pub fn price(&self, cost: u32) -> u64 {
        u64::from(cost).saturating_mul(self.unit)
    }
}

impl Tokens {
    /// The state at the first reading.
    pub fn new(rate: &Rate, quota: Quota, now: u64) -> Self {
        let credit = match quota.initial() {
            Fill::Full => rate.capacity,
            Fill::Empty => 0,
            Fill::Tokens(tokens) => tokens * rate.unit,
        };
        Self { credit, since: now }
    }

    /// Units there at a reading. An older reading than the last one counts as no time passing.
    #[inline(always)]
    pub fn level(&self, rate: &Rate, now: u64) -> u64 {
        let refill = now.saturating_sub(self.since).saturating_mul(rate.units_per_nano);
        self.credit.saturating_add(refill).min(rate.capacity)
    }

    /// Takes the price if it is there; else leaves the state as it was.
    #[inline(always)]
    pub fn take(&mut self, rate: &Rate, price: u64, now: u64) -> bool {
        let level = self.level(rate, now);
        if level < price {
            return false;
        }
        *self = Self { credit: level - price, since: self.since.max(now) };
        true
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn two_a_second_of_three() {
        let quota = Quota::with_burst(2, Duration::from_secs(1), 3).unwrap();
        let rate = Rate::of(quota);
        let mut tokens = Tokens::new(&rate, quota, 0);
        let half = 500_000_000;
        let asked = [0, 0, 0, 0, half / 2, half, half];
        let answers = asked.map(|now| tokens.take(&rate, rate.price(1), now));
        assert_eq!(answers, [true, true, true, false, false, true, false]);
        assert!(!tokens.take(&rate, rate.price(4), u64::MAX), "four never fit into three");
        assert!(tokens.take(&rate, rate.price(3), u64::MAX), "and the refusal took nothing");
    }
}
