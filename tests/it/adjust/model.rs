//! The bucket with a changing quota in exact numbers, written without looking at the core.
//!
//! A token has `q` parts, `p` of which are issued in a nanosecond. A change turns parts of one token into parts of
//! another and rounds once, up to the whole part, what is missing; nothing else is ever rounded.

use tollgate::adjust::Held;

use crate::oracle::{Answer, gcd};

/// A rate and a capacity in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) p: i128,
    pub(crate) q: i128,
    pub(crate) capacity: i128,
}

impl Terms {
    pub(crate) fn new(tokens: u64, period: u64, burst: u64) -> Self {
        let shared = gcd(tokens.into(), period.into()) as i128;
        Terms { p: i128::from(tokens) / shared, q: i128::from(period) / shared, capacity: burst.into() }
    }

    fn full(self) -> i128 {
        self.capacity * self.q
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) terms: Terms,
    /// Parts missing from a full bucket at `last`.
    missing: i128,
    last: u64,
    hold: u64,
    /// The last change.
    since: u64,
}

impl Model {
    pub(crate) fn new(terms: Terms) -> Self {
        Model { terms, missing: 0, last: 0, hold: 0, since: 0 }
    }

    pub(crate) fn missing(&self, now: u64) -> i128 {
        (self.missing - self.terms.p * (i128::from(now) - i128::from(self.last))).max(0)
    }

    pub(crate) fn change(&mut self, terms: Terms, held: Held, now: u64) {
        if terms == self.terms {
            return;
        }
        let (old, now) = (self.terms, now.max(self.since));
        let missing = self.missing(now);
        let debt = (missing - old.full()).max(0);
        // As fractions: tokens = parts / q.
        self.missing = match held {
            Held::Deficit => ceil(missing * terms.q, old.q),
            _ if debt > 0 => terms.full() + ceil(debt * terms.q, old.q),
            Held::Tokens => (terms.full() - (old.full() - missing) * terms.q / old.q).max(0),
            Held::Fraction => ceil(missing * terms.full(), old.full()),
        };
        (self.terms, self.last, self.since) = (terms, now, now);
    }

    pub(crate) fn ask(&self, cost: u64, now: u64) -> Answer {
        let parts = i128::from(cost) * self.terms.q;
        if cost == 0 {
            return Answer::Zero;
        }
        if parts > self.terms.full() {
            return Answer::Never;
        }
        let refill = ceil((self.missing(now) + parts - self.terms.full()).max(0), self.terms.p);
        match refill.max(i128::from(self.paused_for(now))) {
            0 => Answer::Admitted,
            wait => Answer::Wait(wait as u128),
        }
    }

    pub(crate) fn paused_for(&self, now: u64) -> u64 {
        self.hold.max(self.since).saturating_sub(now)
    }

    pub(crate) fn available(&self, now: u64) -> u64 {
        ((self.terms.full() - self.missing(now)).max(0) / self.terms.q) as u64
    }

    pub(crate) fn debt(&self, now: u64) -> u64 {
        ceil((self.missing(now) - self.terms.full()).max(0), self.terms.q) as u64
    }

    pub(crate) fn charge(&mut self, cost: u64, now: u64) {
        if cost > 0 {
            self.missing = self.missing(now) + i128::from(cost) * self.terms.q;
            self.last = now;
        }
    }

    pub(crate) fn refund(&mut self, cost: u64, now: u64) {
        let missing = self.missing(now);
        if missing > 0 && cost > 0 {
            self.missing = (missing - i128::from(cost) * self.terms.q).max(0);
            self.last = now;
        }
    }

    pub(crate) fn pause_until(&mut self, until: u64) {
        self.hold = self.hold.max(until);
    }

    pub(crate) fn resume(&mut self) {
        self.hold = 0;
    }
}

pub(crate) fn ceil(a: i128, b: i128) -> i128 {
    (a as u128).div_ceil(b as u128) as i128
}
