//! What a stream of costs leaves to be served at a rate, in exact integers.
//!
//! It is a leaky bucket that is never asked for permission: request `k` at time `t_k` of cost `c_k` moves its level to
//!
//! ```text
//! x_k = max(0, x_(k-1) - r*(t_k - t_(k-1))) + c_k
//! ```
//!
//! Unrolled, `x_k` is the maximum over `j <= k` of `c_j + ... + c_k - r*(t_k - t_j)`: each `max` either keeps the sum
//! that began earlier or begins anew at `k`.
//!
//! The level is kept as whole tokens and a fraction over the period, both integers, so nothing is rounded and nothing
//! can overflow.

use tollgate::{Nanos, Quota};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Leak {
    rate: Ratio,
    level: Level,
    last: Nanos,
}

/// `tokens` every `per` nanoseconds, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    pub(crate) tokens: u128,
    pub(crate) per: u128,
}

/// Whole tokens and parts of one: `tokens + parts / rate.per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) tokens: u128,
    pub(crate) parts: u128,
}

impl Leak {
    /// An empty one that leaks at the rate of `quota`; its capacity does not matter.
    pub(crate) fn new(quota: &Quota) -> Self {
        let rate = Ratio::lowest(quota.tokens().into(), quota.period().as_nanos());
        Self { rate, level: Level { tokens: 0, parts: 0 }, last: Nanos::ZERO }
    }

    pub(crate) fn rate(&self) -> Ratio {
        self.rate
    }

    /// The level after a cost at `now`; times must not step back.
    pub(crate) fn add(&mut self, now: Nanos, cost: u64) -> Level {
        let nanos = now.saturating_sub(self.last).as_u64();
        self.last = now;
        self.level = self.level.leak(self.rate, nanos);
        self.level.tokens += u128::from(cost);
        self.level
    }

    /// What will be left of the level after so long without a cost.
    pub(crate) fn after(&self, span: Nanos) -> Level {
        self.level.leak(self.rate, span.as_u64())
    }
}

impl Ratio {
    pub(crate) fn lowest(tokens: u128, per: u128) -> Self {
        let (mut a, mut b) = (tokens, per);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self { tokens: tokens / a, per: per / a }
    }
}

impl Level {
    /// The fewest whole tokens that hold it.
    pub(crate) fn ceil(self) -> u128 {
        self.tokens + u128::from(self.parts > 0)
    }

    /// What is left after `nanos` nanoseconds of the rate; the product of two 64-bit numbers fits.
    fn leak(self, rate: Ratio, nanos: u64) -> Self {
        let leaked = rate.tokens * u128::from(nanos);
        let (tokens, parts) = (leaked / rate.per, leaked % rate.per);
        let borrow = u128::from(parts > self.parts);
        match self.tokens.checked_sub(tokens + borrow) {
            Some(tokens) => Self { tokens, parts: self.parts + borrow * rate.per - parts },
            None => Self { tokens: 0, parts: 0 },
        }
    }
}
