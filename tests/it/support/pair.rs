//! A bucket and its model, driven together.

use std::time::Duration;

use tollgate::{Bucket, Fill, Manual};

use crate::oracle::{Answer, Oracle};
use crate::support::{FIFTY_YEARS, Scale, answer_of, at, bucket, nanos, quota};

/// A bucket of the core and its model, driven together. Every call checks what GUARANTEES 1 promises of it.
///
/// On the binary scale the two may part by less than a unit, so the model follows the core: what the core admitted is
/// charged to the model. The difference cannot grow, for each rounds the same reading once.
pub(crate) struct Pair {
    pub(crate) bucket: Bucket<Manual>,
    pub(crate) model: Oracle,
    pub(crate) scale: Scale,
}

impl Pair {
    pub(crate) fn new(tokens: u64, period: u64, burst: u64) -> Self {
        Self {
            bucket: bucket(quota(tokens, period, burst)),
            model: Oracle::new(tokens, period.into(), burst),
            scale: Scale::of(tokens, period, burst),
        }
    }

    /// The pair that holds `held` tokens at reading `now`.
    pub(crate) fn holding(tokens: u64, period: u64, burst: u64, held: u64, now: u64) -> Self {
        let quota =
            quota(tokens, period, burst).fill(Fill::Tokens(held)).expect("a fill within the capacity");
        Self {
            bucket: Bucket::with_clock(quota, Manual::starting_at(at(now))),
            model: Oracle::new(tokens, period.into(), burst).holding(held, now),
            scale: Scale::of(tokens, period, burst),
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.scale, Scale::Exact { .. })
    }

    /// One request: the answers agree, a refusal writes nothing and its wait is the right one.
    pub(crate) fn try_take(&mut self, cost: u64, now: u64) -> Answer {
        let before = format!("{:?}", self.bucket);
        let answer = answer_of(self.bucket.try_acquire_n_at(cost, at(now)));
        self.check_answer(answer, cost, now);
        if answer == Answer::Admitted {
            self.model.charge(cost, now);
        } else {
            assert_eq!(before, format!("{:?}", self.bucket), "a refusal wrote, cost {cost} at {now}");
        }
        answer
    }

    /// The request is admitted.
    pub(crate) fn ok(&mut self, cost: u64, now: u64) {
        assert_eq!(self.try_take(cost, now), Answer::Admitted, "cost {cost} at {now}: {:?}", self.bucket);
    }

    /// The request is refused with this wait; on the binary scale it may be a nanosecond longer, never shorter.
    pub(crate) fn deny(&mut self, cost: u64, now: u64, wait: u64) {
        match self.try_take(cost, now) {
            Answer::Wait(got) if got == u128::from(wait) => {}
            Answer::Wait(got) if !self.is_exact() && got == u128::from(wait) + 1 => {}
            other => {
                panic!("{other:?} instead of a wait of {wait} ns, cost {cost} at {now}: {:?}", self.bucket)
            }
        }
    }

    /// The request is refused for good.
    pub(crate) fn never(&mut self, cost: u64, now: u64) {
        assert_eq!(self.try_take(cost, now), Answer::Never, "cost {cost} at {now}: {:?}", self.bucket);
    }

    /// Whole tokens left at `now`.
    pub(crate) fn remaining(&self, now: u64) -> u64 {
        self.check_level(now);
        self.bucket.peek_at(at(now)).available()
    }

    /// Nanoseconds until the bucket is full.
    pub(crate) fn to_full(&self, now: u64) -> u64 {
        self.check_level(now);
        u64::try_from(self.bucket.peek_at(at(now)).time_to_full().as_nanos()).unwrap()
    }

    /// The same question without taking anything.
    pub(crate) fn ask(&self, cost: u64, now: u64) -> Answer {
        let answer = match self.bucket.peek_at(at(now)).wait_for(cost) {
            Ok(Duration::ZERO) => Answer::Admitted,
            Ok(wait) => Answer::Wait(wait.as_nanos()),
            Err(refusal) => answer_of(Err(refusal)),
        };
        self.check_answer(answer, cost, now);
        answer
    }

    fn check_answer(&self, answer: Answer, cost: u64, now: u64) {
        let expected = self.model.ask(cost, now);
        let context =
            || format!("cost {cost} at {now}, {:?}\n{:?}\n{:?}", self.scale, self.model, self.bucket);
        match (answer, expected) {
            _ if self.is_exact() || matches!(expected, Answer::Never | Answer::Zero) => {
                assert_eq!(clip(answer, now), clip(expected, now), "{}", context());
            }
            (Answer::Admitted, _) => {
                assert!(self.may_admit(cost, now), "too early, {expected:?}: {}", context())
            }
            (Answer::Wait(wait), _) => self.check_wait(wait, cost, now, &context),
            _ => panic!("{answer:?} for {expected:?}: {}", context()),
        }
        if let Answer::Wait(wait) = answer {
            self.check_wait_is_the_least(wait, cost, now, &context);
        }
    }

    /// Whether the rational model admits, or less than a unit is missing.
    fn may_admit(&self, cost: u64, now: u64) -> bool {
        let parts = self.model.parts_of_a_token();
        let excess =
            self.model.missing(now) + parts * i128::from(cost) - parts * i128::from(self.model.capacity());
        self.model.paused_for(now) == 0 && self.scale.forgives(excess, parts)
    }

    /// A refusal on the binary scale: the first admitting reading is at most 1 ns after the model's and early by less
    /// than one unit.
    fn check_wait(&self, wait: u128, cost: u64, now: u64, context: &impl Fn() -> String) {
        assert!(wait > 0, "a wait of nothing: {}", context());
        let (ready, earliest) = (u128::from(now) + wait, self.model.earliest(cost, now));
        let counts = |reading| reading < u128::from(FIFTY_YEARS);
        let (late, early) = (ready > earliest + 1, counts(ready) && !self.may_admit(cost, ready as u64));
        assert!(!counts(earliest) || !late, "more than 1 ns late: {wait}, model {earliest}: {}", context());
        assert!(!early, "too early: {wait}, model {earliest}: {}", context());
    }

    /// After the wait the call is admitted, a nanosecond sooner it is not.
    fn check_wait_is_the_least(&self, wait: u128, cost: u64, now: u64, context: &impl Fn() -> String) {
        let ready = u128::from(now) + wait;
        if ready > u128::from(FIFTY_YEARS) {
            return;
        }
        let level = |reading: u128| self.bucket.peek_at(at(reading as u64)).wait_for(cost);
        assert_eq!(level(ready), Ok(Duration::ZERO), "wait {wait} not sufficient: {}", context());
        assert_eq!(level(ready - 1), Ok(nanos(1)), "wait {wait} not minimal: {}", context());
    }

    /// Takes up to `most`; the amount is the model's, on the binary scale within a nanosecond's issue and a unit.
    pub(crate) fn take_up_to(&mut self, most: u64, now: u64) -> u64 {
        let taken = self.bucket.acquire_up_to_at(most, at(now));
        self.check_amount(taken, most, now);
        self.model.charge(taken, now);
        taken
    }

    fn check_amount(&self, taken: u64, most: u64, now: u64) {
        let paused = self.model.paused_for(now) > 0;
        let allowed = |reading| if paused { 0 } else { most.min(self.model.available(reading)) };
        let late = allowed(now.saturating_sub(1)) <= taken && taken < allowed(now);
        let early = allowed(now) < taken && taken <= most && self.may_admit(taken, now);
        let agrees = taken == allowed(now) || (!self.is_exact() && (late || early));
        assert!(agrees, "took {taken} of {} at {now}: {:?}", allowed(now), self.bucket);
    }

    /// Empties the bucket; a level after it tells whether it did.
    pub(crate) fn drain(&mut self, now: u64) {
        let taken = self.bucket.drain_at(at(now));
        let (least, most) = (self.model.available(now.saturating_sub(1)), self.model.available(now));
        let agrees = taken == most || (!self.is_exact() && (least..=most + 1).contains(&taken));
        assert!(agrees, "drained {taken} of {most} at {now}: {:?}", self.bucket);
        self.model.drain(now);
        self.check_level(now);
    }

    pub(crate) fn charge(&mut self, cost: u64, now: u64) {
        let _booked = self.bucket.charge_at(cost, at(now));
        self.model.charge(cost, now);
    }

    pub(crate) fn refund(&mut self, cost: u64, now: u64) {
        self.bucket.refund_at(cost, at(now));
        self.model.refund(cost, now);
    }

    pub(crate) fn pause_until(&mut self, until: u64) {
        self.bucket.pause_until(at(until));
        self.model.pause_until(until);
    }

    pub(crate) fn resume(&mut self) {
        self.bucket.resume();
        self.model.resume();
    }

    /// Everything a level tells is the model's; on the binary scale within a unit and 1 ns.
    pub(crate) fn check_level(&self, now: u64) {
        let level = self.bucket.peek_at(at(now));
        let told = (level.available(), level.debt(), clip_wait(level.time_to_full().as_nanos(), now));
        let model =
            (self.model.available(now), self.model.debt(now) as u64, clip_wait(self.model.to_full(now), now));
        assert_eq!(level.paused_for(), nanos(self.model.paused_for(now)), "{:?}", self.bucket);
        if self.is_exact() {
            assert_eq!(told, model, "at {now}: {:?}", self.bucket);
            return;
        }
        let late = now.saturating_sub(1);
        let (available, debt) = (
            self.model.available(late)..=model.0 + 1,
            model.1.saturating_sub(1)..=self.model.debt(late) as u64,
        );
        assert!(
            available.contains(&told.0),
            "available {told:?}, model {model:?} at {now}: {:?}",
            self.bucket
        );
        assert!(debt.contains(&told.1), "debt {told:?}, model {model:?} at {now}: {:?}", self.bucket);
        assert!(
            told.2 <= model.2.saturating_add(1),
            "time to full {told:?}, model {model:?} at {now}: {:?}",
            self.bucket
        );
        if told.2 != BEYOND {
            let rest = self.model.missing((u128::from(now) + told.2) as u64);
            let forgiven = self.scale.forgives(rest, self.model.parts_of_a_token());
            assert!(forgiven, "time to full {told:?} too short, model {model:?} at {now}: {:?}", self.bucket);
        }
    }
}

/// A wait that ends after fifty years.
const BEYOND: u128 = u128::MAX;

/// Waits that end after fifty years are all the same: the core may say so much, or that the end is beyond counting.
fn clip_wait(wait: u128, now: u64) -> u128 {
    if u128::from(now) + wait > u128::from(FIFTY_YEARS) { BEYOND } else { wait }
}

fn clip(answer: Answer, now: u64) -> Answer {
    match answer {
        Answer::Wait(wait) => Answer::Wait(clip_wait(wait, now)),
        other => other,
    }
}
