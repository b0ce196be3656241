//! Any schedule of changes and calls, against the exact model.

use proptest::prelude::*;
use tollgate::Manual;
use tollgate::adjust::{Adjustable, Held};

use super::helds;
use super::model::{Model, Terms};
use crate::quotas::{Cost, costs};
use crate::support::{S, answer_of, at, nanos, quota};

#[derive(Clone, Copy, Debug)]
enum Step {
    Change(usize, Held),
    Try(Cost),
    UpTo(Cost),
    Charge(Cost),
    Refund(Cost),
    Pause(u64),
    Resume,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_usize, helds()).prop_map(|(quota, held)| Step::Change(quota, held)),
        6 => costs().prop_map(Step::Try),
        1 => costs().prop_map(Step::UpTo),
        2 => costs().prop_map(Step::Charge),
        2 => costs().prop_map(Step::Refund),
        1 => (0..S).prop_map(Step::Pause),
        1 => Just(Step::Resume),
    ]
}

/// On the exact scale, and small enough for a model in 128 bits.
fn quotas() -> impl Strategy<Value = [(u64, u64, u64); 4]> {
    let wide = (1..=8_u64, 1..=100 * S, 1..=1_000_000_u64);
    prop::array::uniform4(prop_oneof![wide, small()])
}

/// Of a size with each other, so that what an older reading finds missing under one is no endless debt under another.
fn small_quotas() -> impl Strategy<Value = [(u64, u64, u64); 4]> {
    let near = (1..=3_u64, 1..=12_u64, prop_oneof![Just(100), 99..102_u64]);
    prop::array::uniform4(prop_oneof![small(), near])
}

fn small() -> impl Strategy<Value = (u64, u64, u64)> {
    (1..=8_u64, 1..=12_u64, 1..=20_u64)
}

struct Walk {
    limit: Adjustable<Manual>,
    model: Model,
    quotas: [(u64, u64, u64); 4],
}

impl Walk {
    fn new(quotas: [(u64, u64, u64); 4]) -> Self {
        let (tokens, period, burst) = quotas[0];
        Walk {
            limit: Adjustable::with_clock(quota(tokens, period, burst), Manual::new()),
            model: Model::new(Terms::new(tokens, period, burst)),
            quotas,
        }
    }

    fn step(&mut self, step: Step, now: u64) {
        let burst = self.model.terms.capacity as u64;
        // Debts stay small, for a saturated one has a test of its own.
        let bounded = |cost: Cost| cost.of(burst).clamp(1, 2 * burst);
        match step {
            Step::Change(which, held) => {
                let (tokens, period, burst) = self.quotas[which];
                self.limit.adjust_at(quota(tokens, period, burst), held, at(now));
                self.model.change(Terms::new(tokens, period, burst), held, now);
            }
            Step::Try(cost) => {
                let answer = answer_of(self.limit.try_acquire_n_at(cost.of(burst), at(now)));
                assert_eq!(answer, self.model.ask(cost.of(burst), now), "{:?} {:?}", self.limit, self.model);
                if answer == crate::oracle::Answer::Admitted {
                    self.model.charge(cost.of(burst), now);
                }
            }
            Step::UpTo(cost) => {
                let taken = self.limit.acquire_up_to_at(cost.of(burst), at(now));
                let paused = self.model.paused_for(now) > 0;
                let there = if paused { 0 } else { self.model.available(now).min(cost.of(burst)) };
                assert_eq!(taken, there);
                self.model.charge(taken, now);
            }
            Step::Charge(cost) => {
                self.limit.charge_at(bounded(cost), at(now));
                self.model.charge(bounded(cost), now);
            }
            Step::Refund(cost) => {
                self.limit.refund_at(bounded(cost), at(now));
                self.model.refund(bounded(cost), now);
            }
            Step::Pause(span) => {
                self.limit.pause_until(at(now + span));
                self.model.pause_until(now + span);
            }
            Step::Resume => {
                self.limit.resume();
                self.model.resume();
            }
        }
        self.check(now);
    }

    /// Everything that a level tells, to the nanosecond.
    fn check(&self, now: u64) {
        let level = self.limit.peek_at(at(now));
        let (p, missing) = (self.model.terms.p, self.model.missing(now));
        let told = (level.available(), level.debt(), level.time_to_full(), level.paused_for());
        let to_full = nanos(super::model::ceil(missing, p) as u64);
        let model =
            (self.model.available(now), self.model.debt(now), to_full, nanos(self.model.paused_for(now)));
        assert_eq!(told, model, "at {now}: {:?} {:?}", self.limit, self.model);
    }
}

proptest! {
    #[test]
    fn every_answer_is_the_exact_models(
        quotas in quotas(),
        schedule in prop::collection::vec((prop_oneof![Just(0), 1..20_u64, 1..3 * S], steps()), 1..60),
    ) {
        let (mut walk, mut now) = (Walk::new(quotas), 0);
        for (later, step) in schedule {
            now += later;
            walk.step(step, now);
        }
    }

    /// Readings that jump back and forth, also to before the changes.
    #[test]
    fn in_any_order_of_readings(
        quotas in small_quotas(),
        schedule in prop::collection::vec((prop_oneof![0..40_u64, 0..3 * S], steps()), 1..60),
    ) {
        let mut walk = Walk::new(quotas);
        for (now, step) in schedule {
            walk.step(step, now);
        }
    }

    /// Whole tokens are whole on every scale, so what a change carries over is exact as tokens are told.
    #[test]
    fn on_every_scale_a_change_keeps_what_it_should(
        old in crate::quotas::quotas(),
        new in crate::quotas::quotas(),
        taken in 0..=u16::MAX,
        held in helds(),
    ) {
        let spent = Cost::Part(taken).of(old.burst);
        let limit = Adjustable::with_clock(quota(old.tokens, old.period, old.burst), Manual::new());
        limit.charge_at(spent, at(0));
        limit.adjust_at(quota(new.tokens, new.period, new.burst), held, at(0));
        let level = limit.peek_at(at(0));
        let (spent, old, new) = (u128::from(spent), u128::from(old.burst), u128::from(new.burst));
        let missing = match held {
            Held::Tokens => new.saturating_sub(old - spent),
            Held::Fraction => (spent * new).div_ceil(old),
            Held::Deficit => spent,
        };
        let (there, owed) = (new.saturating_sub(missing), missing.saturating_sub(new));
        let told = (u128::from(level.available()), u128::from(level.debt()));
        // The word has room for a debt of one more capacity at least; past its end it says as much as it can.
        if owed <= new {
            prop_assert_eq!(told, (there, owed), "{:?}", limit);
        } else {
            prop_assert!(told.0 == 0 && (new..=owed).contains(&told.1), "{} owed: {:?}", owed, limit);
        }
    }
}
