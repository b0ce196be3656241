//! Each form against a list of everything that was ever taken, in 128 bits.

use proptest::prelude::*;
use tollgate::window::{Algorithm, Windowed};
use tollgate::{Denied, Manual};

use super::{at, counter, fixed, wait};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Fixed,
    Counter {
        granularity: u128,
    },
    #[cfg(feature = "std")]
    Log,
}

/// All that was taken, at its readings.
#[derive(Debug)]
struct Model {
    form: Form,
    limit: u128,
    length: u128,
    taken: Vec<(u128, u128)>,
    hold: u128,
}

impl Model {
    fn new(form: Form, limit: u64, length: u64) -> Self {
        Self { form, limit: limit.into(), length: length.into(), taken: Vec::new(), hold: 0 }
    }

    fn sum(&self, counts: impl Fn(u128) -> bool) -> u128 {
        self.taken.iter().filter(|(at, _)| counts(*at)).map(|(_, cost)| cost).sum()
    }

    /// What counts at a reading, times the length.
    fn used(&self, now: u128) -> u128 {
        let window = now / self.length;
        match self.form {
            Form::Fixed => self.sum(|at| at / self.length == window) * self.length,
            Form::Counter { granularity } => {
                let previous = self.sum(|at| at / self.length + 1 == window).next_multiple_of(granularity);
                let current = self.sum(|at| at / self.length == window);
                previous * (self.length - now % self.length) + current * self.length
            }
            #[cfg(feature = "std")]
            Form::Log => self.sum(|at| at + self.length > now) * self.length,
        }
    }

    fn admits(&self, cost: u64, now: u64) -> bool {
        let (cost, now) = (u128::from(cost), u128::from(now));
        now >= self.hold && self.used(now) + cost * self.length <= self.limit * self.length
    }

    /// The most that is admitted at a reading.
    fn there(&self, now: u64) -> u64 {
        (1..=self.limit as u64).take_while(|cost| self.admits(*cost, now)).count() as u64
    }

    fn take(&mut self, cost: u64, now: u64) {
        self.taken.push((now.into(), cost.into()));
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64),
    UpTo(u64),
    Charge(u64),
    /// A part, in per cent, of what was taken so many takings ago.
    Refund(usize, u64),
    Pause(u64),
    Resume,
}

fn op(limit: u64) -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..=limit).prop_map(Op::Acquire),
        4 => Just(Op::Acquire(1)),
        3 => (1..=limit * 2).prop_map(Op::UpTo),
        1 => (1..=limit / 2 + 1).prop_map(Op::Charge),
        3 => (0..6_usize, 1..=100_u64).prop_map(|(back, part)| Op::Refund(back, part)),
        1 => (1..3000_u64).prop_map(Op::Pause),
        1 => Just(Op::Resume),
    ]
}

/// Steps of time: none, small, about a window, much more.
fn step(length: u64) -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        6 => 0..length / 2,
        3 => length - 2..=length + 2,
        1 => length..length * 4,
    ]
}

fn schedule(limits: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = (u64, u64, Vec<(u64, Op)>)> {
    (limits, 1000..2000_u64).prop_flat_map(|(limit, length)| {
        let calls = prop::collection::vec((step(length), op(limit)), 1..60);
        (Just(limit), Just(length), calls)
    })
}

/// Runs the calls on both, and compares every answer, every wait and every look.
fn compare<A: Algorithm>(limit: &Windowed<A, Manual>, mut model: Model, calls: &[(u64, Op)]) {
    let mut now = 0;
    for &(step, op) in calls {
        now += step;
        match op {
            Op::Acquire(cost) => {
                let decision = limit.try_acquire_n_at(cost, at(now));
                assert_eq!(decision.is_ok(), model.admits(cost, now), "{op:?} at {now}: {model:?}");
                match wait(decision) {
                    None => model.take(cost, now),
                    Some(wait) => check_wait(limit, &model, cost, now, wait),
                }
            }
            Op::UpTo(most) => {
                let there = model.there(now).min(most);
                assert_eq!(limit.acquire_up_to_at(most, at(now)), there, "{op:?} at {now}: {model:?}");
                model.take(there, now);
            }
            Op::Charge(cost) => {
                // Up to twice the limit is counted for certain.
                let window = u128::from(now) / model.length;
                if model.sum(|at| at / model.length == window) + u128::from(cost) > 2 * model.limit {
                    continue;
                }
                limit.charge_at(cost, at(now));
                model.take(cost, now);
            }
            Op::Refund(back, percent) => {
                let Some(place) = model.taken.len().checked_sub(back + 1) else { continue };
                let (taken_at, cost) = &mut model.taken[place];
                let part = *cost * u128::from(percent) / 100;
                limit.refund(part as u64, at(*taken_at as u64));
                *cost -= part;
            }
            Op::Pause(span) => {
                limit.pause_until(at(now + span));
                model.hold = model.hold.max((now + span).into());
            }
            Op::Resume => {
                limit.resume();
                model.hold = 0;
            }
        }
        let usage = limit.peek_at(at(now));
        assert_eq!(
            u128::from(usage.used()),
            model.used(now.into()).div_ceil(model.length),
            "{now}: {model:?}"
        );
        let held = u128::from(usage.resets_at().as_u64());
        assert!(
            held >= now.into() && (model.used(held) == 0 || model.form == Form::Fixed),
            "{held}: {model:?}"
        );
    }
}

/// Admitted at the told wait, and at no reading before: tried at the last nanosecond, around every begin of a window, and in
/// between.
fn check_wait<A: Algorithm>(limit: &Windowed<A, Manual>, model: &Model, cost: u64, now: u64, wait: u64) {
    let ready = now + wait;
    assert!(wait > 0 && model.admits(cost, ready), "{cost} at {now}, told {ready}: {model:?}");
    let length = model.length as u64;
    let begins =
        (now / length + 1..=ready / length).flat_map(|window| [window * length - 1, window * length]);
    let between = (0..8).map(|part| now + wait * part / 8);
    for early in begins.chain(between).chain([ready - 1]).filter(|early| *early < ready) {
        assert!(!model.admits(cost, early), "{cost} at {now}, told {ready}, but {early}: {model:?}");
    }
    for asked in [now, ready - 1, ready] {
        let told = limit.wait_for_at(cost, at(asked)).unwrap();
        assert_eq!(told.as_nanos(), (ready - asked).into(), "{model:?}");
    }
    assert_eq!(limit.wait_for_at(0, at(now)), Err(Denied::ZeroCost));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn fixed_windows_are_the_list((limit, length, calls) in schedule(1..=40)) {
        compare(&fixed(limit, length), Model::new(Form::Fixed, limit, length), &calls);
    }

    #[test]
    fn the_sliding_counter_is_the_list((limit, length, calls) in schedule(1..=7)) {
        let counter = counter(limit, length);
        assert_eq!(counter.granularity(), 1);
        compare(&counter, Model::new(Form::Counter { granularity: 1 }, limit, length), &calls);
    }

    /// Its windows are a thousand times as long, so that larger limits are exact.
    #[test]
    fn the_sliding_counter_of_long_windows_is_the_list((limit, length, calls) in schedule(8..=80)) {
        let length = length * 1_000_000;
        let calls: Vec<_> = calls.into_iter().map(|(step, op)| (step * 1_000_000, op)).collect();
        let counter = counter(limit, length);
        assert_eq!(counter.granularity(), 1);
        compare(&counter, Model::new(Form::Counter { granularity: 1 }, limit, length), &calls);
    }

    #[cfg(feature = "std")]
    #[test]
    fn the_sliding_log_is_the_list((limit, length, calls) in schedule(1..=40)) {
        compare(&super::log(limit, length), Model::new(Form::Log, limit, length), &calls);
    }

    /// Where the count of the window before is rounded, it is rounded up to the granularity, and all else is exact. No
    /// refunds, of which the rounded count keeps a part.
    #[test]
    fn the_coarse_counter_rounds_as_it_says(
        limit in 8192..(1_u64 << 18),
        calls in prop::collection::vec((step(1_000_000_000), 1..=100_u64), 1..60),
    ) {
        let counter = counter(limit, 1_000_000_000);
        let granularity = counter.granularity();
        assert!(granularity > 1 && granularity * 256 <= limit);
        let calls: Vec<_> =
            calls.into_iter().map(|(step, part)| (step, Op::Acquire((limit * part / 100).max(1)))).collect();
        compare(&counter, Model::new(Form::Counter { granularity: granularity.into() }, limit, 1_000_000_000), &calls);
    }
}
