//! The core against the rational model, over every kind of quota and schedules that sit on the boundaries.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{Denied, Fill, Quota};

use crate::oracle::{Answer, Oracle};
use crate::quotas::{Cost, Plain, When, costs, exact_quotas, origins, quotas, sized, whens};
use crate::support::{
    Admission, DAY, FIFTY_YEARS, Pair, S, Scale, YEAR, answer_of, arrival_of, at, bucket, nanos,
    over_the_bound, quota,
};

#[derive(Clone, Copy, Debug)]
enum Step {
    Try(Cost),
    /// Asks and tries at each of the five nanoseconds around the one at which the cost becomes due.
    Hug(Cost),
    TakeUpTo(Cost),
    Drain,
    Charge(Cost),
    Refund(Cost),
    Pause(u64),
    Resume,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => costs().prop_map(Step::Try),
        4 => costs().prop_map(Step::Hug),
        2 => costs().prop_map(Step::TakeUpTo),
        1 => Just(Step::Drain),
        2 => costs().prop_map(Step::Charge),
        2 => costs().prop_map(Step::Refund),
        1 => sized().prop_map(|span| Step::Pause(span % DAY)),
        1 => Just(Step::Resume),
    ]
}

/// Drives one pair through a schedule. What must hold at each step, [`Pair`] checks.
struct Walk {
    pair: Pair,
    burst: u64,
    now: u64,
    /// Since the last refund, for refunds widen the bound.
    admitted: Vec<Admission>,
}

impl Walk {
    fn new(plain: Plain, held: u64, now: u64) -> Self {
        let pair = Pair::holding(plain.tokens, plain.period, plain.burst, held, now);
        Walk { pair, burst: plain.burst, now, admitted: Vec::new() }
    }

    /// Goes on to the reading of the next step; `false` past the years that are promised.
    fn go_on(&mut self, when: When) -> bool {
        let due = match when {
            When::Same => u128::from(self.now),
            When::Later(span) => u128::from(self.now) + u128::from(span),
            When::Due(cost, offset) => self.due(cost.of(self.burst)).saturating_add_signed(offset.into()),
            When::Full(offset) => (u128::from(self.now) + self.pair.model.to_full(self.now))
                .saturating_add_signed(offset.into()),
        };
        let within = due <= u128::from(FIFTY_YEARS);
        if within {
            self.now = self.now.max(due as u64);
        }
        within
    }

    /// The reading at which a cost is due; now, for one that never is.
    fn due(&self, cost: u64) -> u128 {
        if (1..=self.burst).contains(&cost) {
            self.pair.model.earliest(cost, self.now)
        } else {
            self.now.into()
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Try(cost) => self.take(cost.of(self.burst), self.now),
            Step::Hug(cost) => self.hug(cost.of(self.burst)),
            Step::TakeUpTo(cost) => {
                let taken = self.pair.take_up_to(cost.of(self.burst), self.now);
                self.admitted.push((self.now, taken));
            }
            Step::Drain => self.pair.drain(self.now),
            Step::Charge(cost) if self.fits(cost.of(self.burst)) => {
                self.pair.charge(cost.of(self.burst), self.now)
            }
            Step::Charge(_) => {}
            Step::Refund(cost) => {
                self.pair.refund(cost.of(self.burst), self.now);
                self.admitted.clear();
            }
            Step::Pause(span) => self.pair.pause_until(self.now + span),
            Step::Resume => self.pair.resume(),
        }
        self.pair.check_level(self.now);
    }

    fn take(&mut self, cost: u64, now: u64) {
        if self.pair.try_take(cost, now) == Answer::Admitted {
            self.admitted.push((now, cost));
        }
    }

    fn hug(&mut self, cost: u64) {
        let due = self.due(cost);
        if due + 2 > u128::from(FIFTY_YEARS) {
            return;
        }
        let readings = (due as u64).saturating_sub(2).max(self.now)..=due as u64 + 2;
        for reading in readings.clone() {
            for other in [0, 1, cost, self.burst, self.burst + 1, u64::MAX] {
                self.pair.ask(other, reading);
            }
            self.pair.check_level(reading);
        }
        for reading in readings {
            self.take(cost, reading);
            self.now = reading;
        }
    }

    /// Whether the word can hold the debt. Where it cannot it saturates, which has a test of its own.
    fn fits(&self, cost: u64) -> bool {
        let (p, q) = self.pair.model.rate();
        let owed = self.pair.model.missing(self.now) as u128 + u128::from(cost) * q;
        let issued = u128::from(self.now) * p;
        let (units, end) = match self.pair.scale {
            Scale::Exact { .. } => (issued + owed, u128::from(u64::MAX)),
            Scale::Binary { fraction } => (issued / q + owed / q + 3, u128::from(u64::MAX) >> fraction),
        };
        units < end
    }

    fn check_the_bound(&self) {
        let over = over_the_bound(&self.admitted, &self.pair.model, self.pair.scale);
        assert_eq!(over, None, "{:?}", self.pair.bucket);
    }
}

proptest! {
    /// Every answer, amount and level is the model's: to the nanosecond on the exact scale, as GUARANTEES 1 says on the
    /// binary one. Refusals write nothing; their waits are sufficient and minimal; every interval is within the bound.
    #[test]
    fn every_answer_is_the_rational_models(
        plain in quotas(),
        held in costs(),
        origin in origins(),
        schedule in prop::collection::vec((whens(), steps()), 1..40),
    ) {
        let held = held.of(plain.burst).min(plain.burst);
        let mut walk = Walk::new(plain, held, origin);
        for (when, step) in schedule {
            if !walk.go_on(when) {
                break;
            }
            walk.step(step);
        }
        walk.check_the_bound();
    }

    /// The scale is the one of the rule, and the units issued are the rate's, rounded down.
    #[test]
    fn the_scale_is_the_one_of_the_rule(plain in quotas(), now in 0..FIFTY_YEARS) {
        let Plain { tokens, period, burst } = plain;
        let empty = |now| {
            let quota = quota(tokens, period, burst).fill(Fill::Empty).unwrap();
            arrival_of(&tollgate::Bucket::with_clock(quota, tollgate::Manual::starting_at(at(now))))
        };
        let (span, model) = (empty(0), Oracle::new(tokens, period.into(), burst));
        let (issued, (p, q)) = (u128::from(empty(now) - span), model.rate());
        match Scale::of(tokens, period, burst) {
            Scale::Exact { p: units, q: unit } => {
                prop_assert_eq!((span, issued), (unit * burst, u128::from(units) * u128::from(now)));
            }
            Scale::Binary { fraction } => {
                prop_assert_eq!(span, burst << fraction);
                prop_assert!(issued * q <= (p * u128::from(now)) << fraction, "never faster than the rate");
                let late = (p * u128::from(now.saturating_sub(1))) << fraction;
                prop_assert!((issued + 1) * q > late, "and less than a nanosecond and a unit behind it");
            }
        }
    }

    /// The bound needs no order of readings: threads whose clocks disagree by hours mint nothing.
    #[test]
    fn no_order_of_readings_breaks_the_bound(
        plain in quotas(),
        readings in prop::collection::vec((hostile(), costs(), any::<bool>()), 1..150),
    ) {
        let Plain { tokens, period, burst } = plain;
        let (bucket, mut admitted) = (bucket(quota(tokens, period, burst)), Vec::new());
        for (reading, cost, in_part) in readings {
            let (now, cost) = (reading.of(plain), cost.of(burst));
            if in_part {
                admitted.push((now, bucket.acquire_up_to_at(cost, at(now))));
            } else if bucket.try_acquire_n_at(cost, at(now)).is_ok() {
                admitted.push((now, cost));
            }
        }
        let model = Oracle::new(tokens, period.into(), burst);
        prop_assert_eq!(over_the_bound(&admitted, &model, Scale::of(tokens, period, burst)), None);
    }

    /// An older reading is answered as if by a bucket that has issued less: exactly so on the exact scale.
    #[test]
    fn an_older_reading_is_answered_exactly_as_strictly_as_it_should(
        plain in exact_quotas(),
        schedule in prop::collection::vec((hostile(), steps()), 1..60),
    ) {
        let mut walk = Walk::new(plain, plain.burst, 0);
        for (reading, step) in schedule {
            walk.now = reading.of(plain);
            match step {
                Step::Hug(_) => {}
                Step::Charge(cost) => walk.pair.charge(cost.of(plain.burst).clamp(1, plain.burst), walk.now),
                other => walk.step(other),
            }
        }
        walk.check_the_bound();
    }

    /// A bucket never holds more than its capacity and never less than nothing, whatever is done to it.
    #[test]
    fn no_input_panics_or_wraps(
        plain in quotas(),
        calls in prop::collection::vec((0..8_u8, any_number(), any_number()), 1..60),
    ) {
        let bucket = bucket(quota(plain.tokens, plain.period, plain.burst));
        for (call, cost, now) in calls {
            let reading = at(now);
            match call {
                0 => drop(bucket.try_acquire_n_at(cost, reading)),
                1 => drop(bucket.charge_at(cost, reading)),
                2 => bucket.refund_at(cost, reading),
                3 => prop_assert!(bucket.acquire_up_to_at(cost, reading) <= cost.min(plain.burst)),
                4 => bucket.pause_until(at(cost)),
                5 => bucket.charge_at(cost, reading).undo_at(at(now.wrapping_add(cost))),
                6 => prop_assert!(bucket.drain_at(reading) <= plain.burst),
                _ => bucket.reset_at(reading),
            }
            let level = bucket.peek_at(reading);
            prop_assert!(level.available() <= plain.burst);
            prop_assert!(level.available() == 0 || level.debt() == 0);
            prop_assert!(level.wait_for(cost).is_ok() == (1..=plain.burst).contains(&cost));
            let _text = format!("{bucket:?} {level:?} {:?}", bucket.try_acquire_at(reading));
        }
    }

    /// Debt beyond what the word holds saturates: it is never forgotten, and nothing is admitted early.
    #[test]
    fn debt_saturates_and_is_not_forgotten(
        plain in quotas(),
        charges in prop::collection::vec(sized(), 1..5),
        now in 0..FIFTY_YEARS,
        later in 0..FIFTY_YEARS,
    ) {
        let bucket = bucket(quota(plain.tokens, plain.period, plain.burst));
        let mut model = Oracle::new(plain.tokens, plain.period.into(), plain.burst);
        for cost in charges {
            let _booked = bucket.charge_at(cost, at(now));
            model.charge(cost, now);
        }
        let _booked = bucket.charge_at(u64::MAX, at(now));
        model.charge(u64::MAX, now);
        let later = now.max(later);
        let within = model.ask(1, later) == Answer::Admitted;
        prop_assert!(within || bucket.try_acquire_at(at(later)).is_err(), "{bucket:?}");
        prop_assert!(bucket.peek_at(at(now)).debt() > 0, "{bucket:?}");
    }

    /// Every way to fill a bucket at first, and after a reset, holds that many tokens.
    #[test]
    fn a_fill_holds_at_the_start_and_after_a_reset(plain in quotas(), held in any::<u64>(), now in origins()) {
        let held = held % (plain.burst + 1);
        for (fill, tokens) in [(Fill::Full, plain.burst), (Fill::Empty, 0), (Fill::Tokens(held), held)] {
            let quota = quota(plain.tokens, plain.period, plain.burst).fill(fill).unwrap();
            let bucket = tollgate::Bucket::with_clock(quota, tollgate::Manual::starting_at(at(now)));
            prop_assert_eq!(bucket.peek().available(), tokens);
            prop_assert_eq!(bucket.drain(), tokens);
            bucket.reset();
            prop_assert_eq!(bucket.peek().available(), tokens);
            prop_assert_eq!(bucket.peek().debt(), 0);
        }
    }

    /// `retry_after` is the wait in whole seconds, rounded up and never zero.
    #[test]
    fn retry_after_is_the_wait_in_whole_seconds(plain in quotas(), cost in costs(), now in origins()) {
        let bucket = bucket(quota(plain.tokens, plain.period, plain.burst));
        bucket.drain_at(at(now));
        if let Err(refusal @ Denied::NotYet(not_yet)) = bucket.try_acquire_n_at(cost.of(plain.burst), at(now)) {
            let (wait, seconds) = (not_yet.wait(), not_yet.retry_after());
            prop_assert_eq!(seconds.subsec_nanos(), 0);
            prop_assert!(seconds >= wait && seconds >= Duration::from_secs(1));
            prop_assert!(seconds == Duration::from_secs(1) || seconds - wait < Duration::from_secs(1));
            prop_assert_eq!((refusal.wait(), refusal.retry_after()), (Some(wait), Some(seconds)));
        }
    }
}

/// A reading from a clock that nobody should have.
#[derive(Clone, Copy, Debug)]
enum Hostile {
    /// So many intervals of one token after ten bursts, and so many nanoseconds more.
    Near(i16, i8),
    Anywhere(u64),
}

fn hostile() -> impl Strategy<Value = Hostile> {
    prop_oneof![
        5 => (-40..40_i16, -2..=2_i8).prop_map(|(intervals, offset)| Hostile::Near(intervals, offset)),
        1 => (0..FIFTY_YEARS).prop_map(Hostile::Anywhere),
    ]
}

impl Hostile {
    fn of(self, plain: Plain) -> u64 {
        match self {
            Hostile::Anywhere(reading) => reading,
            Hostile::Near(intervals, offset) => {
                let interval = i128::from(plain.period).div_euclid(plain.tokens.into()).max(1);
                let reading = interval * 50 + i128::from(intervals) * interval + i128::from(offset);
                reading.clamp(0, FIFTY_YEARS.into()) as u64
            }
        }
    }
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        sized(),
        any::<u64>(),
        (0..4_u64).prop_map(|below| u64::MAX - below),
        (0..4_u64).prop_map(|below| (1 << 63) + below - 2),
    ]
}

/// The checker of [`Pair`] must itself be able to fail: a bucket that is one nanosecond or one unit off is caught.
mod known_bad {
    use super::*;

    fn caught(
        model: Oracle,
        scale: Scale,
        bucket_quota: Quota,
        walk: impl Fn(&mut Pair) + std::panic::UnwindSafe,
    ) -> bool {
        let result = std::panic::catch_unwind(move || {
            walk(&mut Pair { bucket: bucket(bucket_quota), model, scale });
        });
        result.is_err()
    }

    fn drain_and_wait(pair: &mut Pair) {
        pair.try_take(pair.model.capacity(), 0);
        pair.try_take(1, 0);
    }

    #[test]
    fn an_interval_rounded_to_nanoseconds_is_caught_on_the_exact_scale() {
        let model = Oracle::new(3, S.into(), 3);
        assert!(!caught(model.clone(), Scale::of(3, S, 3), quota(3, S, 3), drain_and_wait));
        assert!(caught(model.clone(), Scale::of(3, S, 3), quota(1, 333_333_333, 3), drain_and_wait));
        assert!(caught(model, Scale::of(3, S, 3), quota(1, 333_333_335, 3), drain_and_wait));
    }

    #[test]
    fn two_nanoseconds_late_are_caught_on_the_binary_scale() {
        let model = || Oracle::new(9, S.into(), 9);
        let scale = Scale::of(9, S, 9);
        assert!(!caught(model(), scale, quota(9, S, 9), drain_and_wait));
        assert!(caught(model(), scale, quota(1, 111_111_114, 9), drain_and_wait));
        assert!(caught(model(), scale, quota(1, 111_111_110, 9), drain_and_wait));
    }

    #[test]
    fn a_token_too_many_is_caught_by_the_bound() {
        let (model, scale) = (Oracle::new(1, S.into(), 5), Scale::of(1, S, 5));
        assert!(over_the_bound(&[(0, 5), (YEAR, 6)], &model, scale).is_some());
        assert!(over_the_bound(&[(YEAR, 5), (0, 5), (YEAR + S, 1)], &model, scale).is_none());
        assert_eq!(answer_of(bucket(quota(1, S, 5)).try_acquire_n_at(6, at(0))), Answer::Never);
        assert_eq!(nanos(0), Duration::ZERO);
    }
}
