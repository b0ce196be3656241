//! Any schedule of changes, calls and sweeps: every answer is that of buckets that change and are never swept.

use proptest::prelude::*;
use tollgate::adjust::{Adjustable, Held};
use tollgate::keyed::{Keyed, Overflow};
use tollgate::{Denied, Level, Manual};

use super::keyed;
use crate::adjust::bound::{Log, Plain as Small, plains};
use crate::adjust::helds;
use crate::adjust::model::{Model, Terms, ceil};
use crate::oracle::Answer;
use crate::quotas::{Cost, Plain, costs, quotas, sized};
use crate::support::{DAY, FIFTY_YEARS, S, answer_of, at, nanos, quota};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Of a class, to one of four quotas.
    Change(usize, usize, Held),
    Try(u64, Cost),
    Charge(u64, Cost),
    Refund(u64, Cost),
    Pause(u64, u64),
    Resume(u64),
    Sweep,
}

/// When a step comes, seen from the step before.
#[derive(Clone, Copy, Debug)]
enum When {
    Later(u64),
    /// So far from the reading at which this key's bucket is full.
    Full(u64, i64),
}

const KEYS: u64 = 4;

fn steps() -> impl Strategy<Value = Step> {
    let keys = || 0..KEYS;
    prop_oneof![
        3 => (0..2_usize, 0..4_usize, helds()).prop_map(|(class, quota, held)| Step::Change(class, quota, held)),
        6 => (keys(), costs()).prop_map(|(key, cost)| Step::Try(key, cost)),
        1 => (keys(), costs()).prop_map(|(key, cost)| Step::Charge(key, cost)),
        1 => (keys(), costs()).prop_map(|(key, cost)| Step::Refund(key, cost)),
        1 => (keys(), sized()).prop_map(|(key, span)| Step::Pause(key, span % S)),
        1 => keys().prop_map(Step::Resume),
        3 => Just(Step::Sweep),
    ]
}

fn schedules() -> impl Strategy<Value = Vec<(When, Step)>> {
    let whens = prop_oneof![
        3 => Just(When::Later(0)),
        2 => (1..20_u64).prop_map(When::Later),
        2 => sized().prop_map(|span| When::Later(span % DAY)),
        4 => (0..KEYS, -2..=2_i64).prop_map(|(key, offset)| When::Full(key, offset)),
    ];
    prop::collection::vec((whens, steps()), 1..60)
}

fn told(level: Level) -> (u64, u64, std::time::Duration, std::time::Duration) {
    (level.available(), level.debt(), level.time_to_full(), level.paused_for())
}

/// One key in exact numbers, and a bucket that is never touched, which all that are not known must be like.
struct Exact {
    limit: Keyed<u64, Manual>,
    keys: Vec<Model>,
    untouched: Model,
    quotas: [(u64, u64, u64); 4],
    now: u64,
}

impl Exact {
    fn new(quotas: [(u64, u64, u64); 4]) -> Self {
        let (tokens, period, burst) = quotas[0];
        let untouched = Model::new(Terms::new(tokens, period, burst));
        Exact {
            limit: keyed(quota(tokens, period, burst), 100, Overflow::Refuse),
            keys: vec![untouched.clone(); KEYS as usize],
            untouched,
            quotas,
            now: 0,
        }
    }

    fn go_on(&mut self, when: When) {
        self.now = match when {
            When::Later(span) => self.now + span % (3 * S),
            When::Full(key, offset) => {
                let full = self.now + self.to_full(&self.keys[key as usize]);
                full.saturating_add_signed(offset).max(self.now)
            }
        };
        self.limit.clock().set(at(self.now));
    }

    fn to_full(&self, model: &Model) -> u64 {
        ceil(model.missing(self.now), model.terms.p) as u64
    }

    fn step(&mut self, step: Step) {
        let (now, burst) = (self.now, self.untouched.terms.capacity as u64);
        // Debts stay small, for a saturated one has a test of its own.
        let bounded = |cost: Cost| cost.of(burst).clamp(1, 2 * burst);
        match step {
            Step::Change(_, which, held) => {
                let (tokens, period, burst) = self.quotas[which];
                self.limit.adjust(0, quota(tokens, period, burst), held).unwrap();
                for model in self.keys.iter_mut().chain([&mut self.untouched]) {
                    model.change(Terms::new(tokens, period, burst), held, now);
                }
            }
            Step::Try(key, cost) => {
                let (answer, model) =
                    (self.limit.try_acquire_n(&key, cost.of(burst)), &mut self.keys[key as usize]);
                let expected = model.ask(cost.of(burst), now);
                assert_eq!(answer_of(answer), expected, "key {key} at {now}: {model:?}");
                if expected == Answer::Admitted {
                    model.charge(cost.of(burst), now);
                }
            }
            Step::Charge(key, cost) => {
                self.limit.charge(&key, bounded(cost));
                self.keys[key as usize].charge(bounded(cost), now);
            }
            Step::Refund(key, cost) => {
                // A key that is not known gets nothing, though after a change its bucket may not be full.
                if self.limit.peek(&key).is_some() {
                    self.limit.refund(&key, bounded(cost));
                    self.keys[key as usize].refund(bounded(cost), now);
                }
            }
            Step::Pause(key, span) => {
                assert!(self.limit.pause_until(&key, at(now + span)));
                self.keys[key as usize].pause_until(now + span);
            }
            Step::Resume(key) => {
                self.limit.resume(&key);
                self.keys[key as usize].resume();
            }
            Step::Sweep => drop(self.limit.sweep()),
        }
    }

    fn check(&self) {
        for (key, model) in (0..).zip(&self.keys) {
            let of = |model: &Model| {
                let to_full = nanos(self.to_full(model));
                let paused_for = nanos(model.paused_for(self.now));
                (model.available(self.now), model.debt(self.now), to_full, paused_for)
            };
            match self.limit.peek(&key) {
                Some(level) => assert_eq!(told(level), of(model), "key {key} at {}: {model:?}", self.now),
                None => assert_eq!(of(model), of(&self.untouched), "key {key} is not known"),
            }
        }
    }

    /// Once all are full, in the time that it takes to fill one under the last quota, and at least a second, a sweep
    /// leaves nobody, whatever changed.
    fn check_end(&mut self) {
        let full = self.keys.iter().map(|model| self.to_full(model).max(model.paused_for(self.now))).max();
        let terms = self.untouched.terms;
        let to_fill = ceil(terms.capacity * terms.q, terms.p) as u64;
        let end = self.now + full.unwrap_or(0).max(to_fill).max(S);
        self.limit.sweep_at(at(end));
        assert_eq!(self.limit.len(), 0, "at {end}: {:?}", self.keys);
    }
}

/// One after another, all keys of two classes as buckets of their own, on any scale.
struct Buckets {
    limit: Keyed<u64, Manual>,
    all: Vec<Adjustable<Manual>>,
    quotas: [Plain; 4],
    now: u64,
}

fn of(plain: Plain) -> tollgate::Quota {
    quota(plain.tokens, plain.period, plain.burst)
}

impl Buckets {
    fn new(quotas: [Plain; 4]) -> Self {
        let builder =
            Keyed::builder(of(quotas[0])).class(of(quotas[1])).class_of(|key: &u64| *key as usize % 2);
        let bucket = |key: u64| Adjustable::with_clock(of(quotas[key as usize % 2]), Manual::new());
        let limit = builder.clock(Manual::new()).build().unwrap();
        Buckets { limit, all: (0..KEYS).map(bucket).collect(), quotas, now: 0 }
    }

    /// `false` past the years that are promised.
    fn go_on(&mut self, when: When) -> bool {
        let due = match when {
            When::Later(span) => self.now + span,
            When::Full(key, offset) => {
                let to_full = self.all[key as usize].peek_at(at(self.now)).time_to_full().as_nanos();
                self.now
                    .saturating_add(u64::try_from(to_full).unwrap_or(u64::MAX))
                    .saturating_add_signed(offset)
            }
        };
        self.now = due.max(self.now);
        self.limit.clock().set(at(self.now));
        self.now <= FIFTY_YEARS
    }

    fn step(&self, step: Step) {
        let (now, limit) = (at(self.now), &self.limit);
        let bucket = |key: u64| (&self.all[key as usize], self.all[key as usize].quota().capacity());
        match step {
            Step::Change(class, which, held) => {
                limit.adjust(class, of(self.quotas[which]), held).unwrap();
                let of_class = self.all.iter().skip(class).step_by(2);
                of_class.for_each(|bucket| bucket.adjust_at(of(self.quotas[which]), held, now));
            }
            Step::Try(key, cost) => {
                let (bucket, burst) = bucket(key);
                let told = |answer: Result<(), Denied>| {
                    answer.err().map(|denied| (denied.to_string(), denied.wait()))
                };
                let expected = told(bucket.try_acquire_n_at(cost.of(burst), now));
                assert_eq!(told(limit.try_acquire_n(&key, cost.of(burst))), expected, "key {key}");
            }
            Step::Charge(key, cost) => {
                let (bucket, burst) = bucket(key);
                limit.charge(&key, cost.of(burst));
                bucket.charge_at(cost.of(burst), now);
            }
            Step::Refund(key, cost) => {
                let (bucket, burst) = bucket(key);
                if limit.peek(&key).is_some() {
                    limit.refund(&key, cost.of(burst));
                    bucket.refund_at(cost.of(burst), now);
                }
            }
            Step::Pause(key, span) => {
                assert!(limit.pause_until(&key, at(self.now + span)));
                bucket(key).0.pause_until(at(self.now + span));
            }
            Step::Resume(key) => {
                limit.resume(&key);
                bucket(key).0.resume();
            }
            Step::Sweep => drop(limit.sweep()),
        }
    }

    fn check(&self) {
        for (key, bucket) in (0..).zip(&self.all) {
            if let Some(level) = self.limit.peek(&key) {
                assert_eq!(told(level), told(bucket.peek_at(at(self.now))), "key {key} at {}", self.now);
            }
        }
    }
}

/// On the exact scale, and small enough for a model in 128 bits.
fn exact_quotas() -> impl Strategy<Value = [(u64, u64, u64); 4]> {
    let wide = (1..=8_u64, 1..=100 * S, 1..=1_000_000_u64);
    prop::array::uniform4(prop_oneof![wide, plains()])
}

proptest! {
    /// To the nanosecond, in exact numbers; and everyone is forgotten in the end.
    #[test]
    fn every_answer_is_the_exact_models(quotas in exact_quotas(), schedule in schedules()) {
        let mut exact = Exact::new(quotas);
        for (when, step) in schedule {
            exact.go_on(when);
            exact.step(step);
            exact.check();
        }
        exact.check_end();
    }

    #[test]
    fn on_every_scale_sweeping_decides_as_no_sweeping(
        quotas in prop::array::uniform4(quotas()),
        schedule in schedules(),
    ) {
        let mut buckets = Buckets::new(quotas);
        for (when, step) in schedule {
            if !buckets.go_on(when) {
                break;
            }
            buckets.step(step);
            buckets.check();
        }
    }

    /// Readings of all ages, between sweeps and changes: never looser than the bound.
    #[test]
    fn late_readings_are_within_the_bound(
        first in plains(),
        schedule in prop::collection::vec((0..12_u64, late_steps()), 1..100),
    ) {
        let of = |(tokens, period, burst): Small| quota(tokens, period, burst);
        let limit = keyed(of(first), 100, Overflow::Refuse);
        let mut now = 1000;
        let mut log = Log { changes: vec![(0, first, Held::Tokens)], admitted: Vec::new() };
        for (later, step) in schedule {
            now += later;
            limit.clock().set(at(now));
            match step {
                Late::Change(plain, held) => {
                    limit.adjust(0, of(plain), held).unwrap();
                    log.changes.push((now, plain, held));
                }
                Late::Sweep => drop(limit.sweep()),
                Late::Try(cost, age) => {
                    let cost = cost.of(limit.quota(0).unwrap().capacity());
                    if limit.try_acquire_n_at(&1, cost, at(now - age)).is_ok() {
                        log.admitted.push((now - age, cost));
                    }
                }
            }
        }
        prop_assert_eq!(log.over(), None, "{:?}", log);
    }
}

#[derive(Clone, Copy, Debug)]
enum Late {
    Change(Small, Held),
    Sweep,
    /// A cost, asked for with a reading so much older than now.
    Try(Cost, u64),
}

fn late_steps() -> impl Strategy<Value = Late> {
    let ages = prop_oneof![2 => Just(0), 1 => 0..15_u64, 1 => 0..200_u64];
    prop_oneof![
        1 => (plains(), helds()).prop_map(|(plain, held)| Late::Change(plain, held)),
        1 => Just(Late::Sweep),
        4 => (costs(), ages).prop_map(|(cost, age)| Late::Try(cost, age)),
    ]
}
