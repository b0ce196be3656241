//! The token bucket in exact rational numbers, written without looking at the core.
//!
//! State: how many tokens are missing, as a fraction, and at which reading that was true. Between writes the missing
//! part shrinks by the rate; it is never below zero. The rate is `p / q` tokens a nanosecond in lowest terms, so every
//! quantity is a whole number of `q`-ths of a token and nothing is ever rounded but the two answers that are whole by
//! nature: a wait (up) and a number of tokens left (down).
//!
//! Bounds, which [`Oracle::new`] and [`Oracle::missing`] assert: `p, q < 2^64`, capacity `< 2^61`, readings `< 2^61`.
//! Then a capacity has fewer than `2^125` parts and so has all that is issued in `2^61` ns; sums of three such fit `i128`.
//! Debt alone could grow past it and is held at `2^125` parts, [`Oracle::SATURATED`].
//!
//! Nothing here uses the crate under test, so that the fuzz targets can include the file by its path.

#![allow(dead_code, reason = "the fuzz targets use a part of it")]

/// What the model answers to a request for some tokens at one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The tokens are there (and taken, if the question was a request).
    Admitted,
    /// Nanoseconds until they will be, rounded up; never zero.
    Wait(u128),
    /// More than the capacity: no wait helps.
    Never,
    /// A cost of nothing is not a request.
    Zero,
}

/// The model of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Oracle {
    /// Parts issued in one nanosecond.
    p: i128,
    /// Parts in one token.
    q: i128,
    /// Parts in a full bucket.
    full: i128,
    /// Parts missing from a full bucket at `last`; more than `full` is debt.
    missing: i128,
    /// The reading at which `missing` was true.
    last: u64,
    /// Nothing is admitted at a reading before this one.
    hold: u64,
}

impl Oracle {
    /// The most parts of debt the model remembers.
    pub(crate) const SATURATED: i128 = 1 << 125;

    /// A bucket of `capacity` tokens, full at every reading, refilled with `tokens` a `period_nanos`.
    pub(crate) fn new(tokens: u64, period_nanos: u128, capacity: u64) -> Self {
        let shared = gcd(u128::from(tokens), period_nanos);
        let (p, q) = (u128::from(tokens) / shared, period_nanos / shared);
        assert!(p > 0 && p < 1 << 64 && q > 0 && q < 1 << 64, "rate outside the model: {p}/{q}");
        assert!(capacity < 1 << 61, "capacity outside the model: {capacity}");
        let (p, q) = (p as i128, q as i128);
        Oracle { p, q, full: i128::from(capacity) * q, missing: 0, last: 0, hold: 0 }
    }

    /// The same bucket holding `tokens` at reading `now`.
    pub(crate) fn holding(mut self, tokens: u64, now: u64) -> Self {
        self.missing = (self.full - i128::from(tokens) * self.q).max(0);
        self.last = now;
        self
    }

    /// The rate in lowest terms, tokens over nanoseconds.
    pub(crate) fn rate(&self) -> (u128, u128) {
        (self.p as u128, self.q as u128)
    }

    /// Tokens in a full bucket.
    pub(crate) fn capacity(&self) -> u64 {
        u64::try_from(self.full / self.q).unwrap()
    }

    /// Parts in one token: the unit of [`Oracle::missing`].
    pub(crate) fn parts_of_a_token(&self) -> i128 {
        self.q
    }

    /// Parts missing from a full bucket at `now`. A reading older than the last write sees the tokens of its own time:
    /// fewer by what was issued between the two.
    pub(crate) fn missing(&self, now: u64) -> i128 {
        assert!(now < 1 << 61 && self.last < 1 << 61, "reading outside the model");
        let since = i128::from(now) - i128::from(self.last);
        (self.missing - self.p * since).max(0)
    }

    // ---- questions --------------------------------------------------------------------------------------------

    /// Would `cost` be admitted at `now`, and if not, when?
    pub(crate) fn ask(&self, cost: u64, now: u64) -> Answer {
        let parts = self.parts(cost);
        if cost == 0 {
            return Answer::Zero;
        }
        if parts > self.full {
            return Answer::Never;
        }
        let refill = self.nanos_to_lower(self.missing(now) + parts - self.full);
        match refill.max(u128::from(self.hold.saturating_sub(now))) {
            0 => Answer::Admitted,
            wait => Answer::Wait(wait),
        }
    }

    /// The first reading from `now` on at which `cost` is admitted. Only for a cost of 1 to the capacity.
    pub(crate) fn earliest(&self, cost: u64, now: u64) -> u128 {
        match self.ask(cost, now) {
            Answer::Admitted => u128::from(now),
            Answer::Wait(wait) => u128::from(now) + wait,
            never => panic!("{never:?}: cost {cost} has no earliest reading"),
        }
    }

    /// Whole tokens there at `now`.
    pub(crate) fn available(&self, now: u64) -> u64 {
        ((self.full - self.missing(now)).max(0) / self.q) as u64
    }

    /// Whole tokens owed at `now`, a started one counted.
    pub(crate) fn debt(&self, now: u64) -> u128 {
        ceil_div(self.missing(now) - self.full, self.q)
    }

    /// Nanoseconds until the bucket is full.
    pub(crate) fn to_full(&self, now: u64) -> u128 {
        self.nanos_to_lower(self.missing(now))
    }

    /// Nanoseconds until the pause is over.
    pub(crate) fn paused_for(&self, now: u64) -> u64 {
        self.hold.saturating_sub(now)
    }

    // ---- requests ---------------------------------------------------------------------------------------------

    /// Takes `cost` tokens if they are all there. A refusal changes nothing.
    pub(crate) fn try_take(&mut self, cost: u64, now: u64) -> Answer {
        let answer = self.ask(cost, now);
        if answer == Answer::Admitted {
            self.charge(cost, now);
        }
        answer
    }

    /// Takes what is there, `most` at most, and tells how much.
    pub(crate) fn take_up_to(&mut self, most: u64, now: u64) -> u64 {
        if self.paused_for(now) > 0 {
            return 0;
        }
        let taken = most.min(self.available(now));
        self.charge(taken, now);
        taken
    }

    /// Takes everything that is there, a started token too, and tells how many whole tokens it was.
    pub(crate) fn drain(&mut self, now: u64) -> u64 {
        let taken = self.available(now);
        self.missing = self.missing(now).max(self.full);
        self.last = now;
        taken
    }

    /// Takes `cost` tokens, there or not: the bucket may be in debt after it.
    pub(crate) fn charge(&mut self, cost: u64, now: u64) {
        if cost > 0 {
            self.missing = self.missing(now).saturating_add(self.parts(cost)).min(Self::SATURATED);
            self.last = now;
        }
    }

    /// Takes `cost` tokens, there or not, but not so many that the bucket owes more than `most` after it. What it owes already stays.
    pub(crate) fn owe(&mut self, cost: u64, most: u64, now: u64) {
        let missing = self.missing(now);
        let all = missing.saturating_add(self.parts(cost)).min(self.full.saturating_add(self.parts(most)));
        self.missing = missing.max(all).min(Self::SATURATED);
        self.last = now;
    }

    /// Gives `cost` tokens back, up to a full bucket.
    pub(crate) fn refund(&mut self, cost: u64, now: u64) {
        let missing = self.missing(now);
        if cost > 0 && missing > 0 {
            self.missing = (missing - self.parts(cost)).max(0);
            self.last = now;
        }
    }

    /// Admits nothing before `until`. A shorter pause changes nothing.
    pub(crate) fn pause_until(&mut self, until: u64) {
        self.hold = self.hold.max(until);
    }

    /// Ends every pause.
    pub(crate) fn resume(&mut self) {
        self.hold = 0;
    }

    // ---- arithmetic -------------------------------------------------------------------------------------------

    fn parts(&self, cost: u64) -> i128 {
        i128::from(cost).saturating_mul(self.q)
    }

    /// Nanoseconds in which at least `parts` are issued.
    fn nanos_to_lower(&self, parts: i128) -> u128 {
        ceil_div(parts, self.p)
    }
}

/// `a / b` rounded up, zero when `a` is not positive.
fn ceil_div(a: i128, b: i128) -> u128 {
    if a <= 0 { 0 } else { (a as u128).div_ceil(b as u128) }
}

/// The greatest common divisor.
pub(crate) fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn three_at_once_then_one_every_half_second() {
        let mut model = Oracle::new(2, S.into(), 3);
        for _ in 0..3 {
            assert_eq!(model.try_take(1, 0), Answer::Admitted);
        }
        assert_eq!(model.try_take(1, 0), Answer::Wait(500_000_000));
        assert_eq!(model.try_take(1, 250_000_000), Answer::Wait(250_000_000));
        assert_eq!(model.try_take(1, 499_999_999), Answer::Wait(1));
        assert_eq!(model.try_take(1, 500_000_000), Answer::Admitted);
        assert_eq!(model.try_take(1, 500_000_000), Answer::Wait(500_000_000));
    }

    #[test]
    fn an_interval_that_is_no_whole_number_is_rounded_only_in_the_answer() {
        let mut model = Oracle::new(3, u128::from(2 * S), 3);
        assert_eq!(model.ask(4, 0), Answer::Never);
        assert_eq!(model.try_take(3, 0), Answer::Admitted);
        assert_eq!(model.ask(1, 0), Answer::Wait(666_666_667));
        assert_eq!(model.ask(3, 0), Answer::Wait(2 * u128::from(S)));
        assert_eq!(model.to_full(1), 2 * u128::from(S) - 1);
        assert_eq!((model.available(666_666_666), model.available(666_666_667)), (0, 1));
    }

    #[test]
    fn debt_refund_and_pause() {
        let mut model = Oracle::new(50, S.into(), 50);
        model.charge(60, 0);
        assert_eq!((model.debt(0), model.available(0), model.take_up_to(5, 0)), (10, 0, 0));
        assert_eq!(model.ask(1, 0), Answer::Wait(220_000_000));
        model.refund(1000, 0);
        assert_eq!((model.debt(0), model.available(0), model.to_full(0)), (0, 50, 0));
        model.pause_until(10);
        model.pause_until(5);
        assert_eq!((model.ask(1, 0), model.take_up_to(5, 9)), (Answer::Wait(10), 0));
        assert_eq!((model.ask(51, 0), model.ask(0, 0)), (Answer::Never, Answer::Zero));
        assert_eq!(model.take_up_to(5, 10), 5);
    }

    #[test]
    fn an_older_reading_is_answered_more_strictly_and_mints_nothing() {
        let mut model = Oracle::new(10, S.into(), 10);
        assert_eq!(model.try_take(10, 10 * S), Answer::Admitted);
        for _ in 0..5 {
            assert_eq!(model.try_take(1, 0), Answer::Wait(10_100_000_000));
            assert_eq!(model.try_take(1, 10 * S), Answer::Wait(100_000_000));
        }
        assert_eq!(model.available(11 * S), 10);
    }
}
