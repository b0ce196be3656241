//! Against rational numbers that are never rounded: a bucket that has been changed holds no more than they say, and less by
//! no more than one unit for each change.

use proptest::prelude::*;
use tollgate::Manual;
use tollgate::adjust::{Adjustable, Held};

use super::helds;
use super::model::Terms;
use crate::oracle::gcd;
use crate::support::{at, quota};

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(over: i128, under: i128) -> Self {
        let shared = gcd(over.unsigned_abs(), under.unsigned_abs()) as i128;
        Ratio(over / shared, under / shared)
    }

    fn plus(self, other: Self) -> Self {
        Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }

    fn less(self, other: Self) -> Self {
        self.plus(Ratio(-other.0, other.1))
    }

    fn times(self, over: i128, under: i128) -> Self {
        Self::new(self.0 * over, self.1 * under)
    }

    fn at_most(self, whole: i128) -> Self {
        if self.0 > whole * self.1 { Ratio(whole, 1) } else { self }
    }

    fn floor(self) -> i128 {
        self.0.div_euclid(self.1)
    }
}

/// Tokens that are there, as if nothing had been rounded, and by how much the bucket may lag behind.
struct Exact {
    terms: Terms,
    tokens: Ratio,
    lag: Ratio,
    last: u64,
}

impl Exact {
    fn new(terms: Terms) -> Self {
        Exact { terms, tokens: Ratio(terms.capacity, 1), lag: Ratio(0, 1), last: 0 }
    }

    fn go_on(&mut self, now: u64) {
        let issued = Ratio::new(self.terms.p * i128::from(now - self.last), self.terms.q);
        self.tokens = self.tokens.plus(issued).at_most(self.terms.capacity);
        self.last = now;
    }

    fn change(&mut self, terms: Terms, held: Held) {
        if terms == self.terms {
            return;
        }
        let (before, after) = (self.terms.capacity, terms.capacity);
        self.tokens = match held {
            Held::Deficit => self.tokens.plus(Ratio(after - before, 1)),
            Held::Fraction if self.tokens.0 > 0 => self.tokens.times(after, before),
            Held::Fraction | Held::Tokens => self.tokens.at_most(after),
        };
        let grown = if held == Held::Fraction { self.lag.times(after.max(before), before) } else { self.lag };
        (self.lag, self.terms) = (grown.plus(Ratio(1, terms.q)), terms);
    }

    fn check(&self, limit: &Adjustable<Manual>) {
        let level = limit.peek_at(at(self.last));
        let told = i128::from(level.available()) - i128::from(level.debt());
        let (most, least) = (self.tokens.floor(), self.tokens.less(self.lag).floor());
        assert!((least..=most).contains(&told), "{told} told, {least} to {most} there: {limit:?}");
    }
}

type Plain = (u64, u64, u64);

#[derive(Clone, Copy, Debug)]
enum Step {
    Change(Plain, Held),
    Try(u64),
    Charge(u64),
    Refund(u64),
}

fn plains() -> impl Strategy<Value = Plain> {
    (1..=8_u64, 1..=12_u64, 1..=20_u64)
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (plains(), helds()).prop_map(|(plain, held)| Step::Change(plain, held)),
        2 => (1..=20_u64).prop_map(Step::Try),
        1 => (1..=10_u64).prop_map(Step::Charge),
        1 => (1..=10_u64).prop_map(Step::Refund),
    ]
}

proptest! {
    #[test]
    fn it_holds_no_more_than_the_rational_amount_and_hardly_less(
        first in plains(),
        schedule in prop::collection::vec((0..6_u64, steps()), 1..30),
    ) {
        let of = |(tokens, period, burst): Plain| (quota(tokens, period, burst), Terms::new(tokens, period, burst));
        let limit = Adjustable::with_clock(of(first).0, Manual::new());
        let (mut exact, mut changes) = (Exact::new(of(first).1), 0);
        for (later, step) in schedule {
            let now = exact.last + later;
            exact.go_on(now);
            match step {
                // Each change may make the fraction's denominator twenty times as large.
                Step::Change(..) if changes == 6 => {}
                Step::Change(plain, held) => {
                    limit.adjust_at(of(plain).0, held, at(now));
                    exact.change(of(plain).1, held);
                    changes += 1;
                }
                Step::Try(cost) if limit.try_acquire_n_at(cost, at(now)).is_ok() => {
                    exact.tokens = exact.tokens.less(Ratio(cost.into(), 1));
                    prop_assert!(exact.tokens.0 >= 0, "{cost} at {now}: {:?}", limit);
                }
                Step::Try(_) => {}
                Step::Charge(cost) => {
                    limit.charge_at(cost, at(now));
                    exact.tokens = exact.tokens.less(Ratio(cost.into(), 1));
                }
                Step::Refund(cost) => {
                    limit.refund_at(cost, at(now));
                    exact.tokens = exact.tokens.plus(Ratio(cost.into(), 1)).at_most(exact.terms.capacity);
                }
            }
            exact.check(&limit);
        }
    }
}
