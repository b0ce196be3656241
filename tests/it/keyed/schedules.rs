//! Any schedule, with and without sweeping, against one bucket for each key that is never swept.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tollgate::keyed::{Keyed, Overflow, Table};
use tollgate::{Bucket, Denied, Manual, Quota};

use super::{Chosen, keyed, table};
use crate::oracle::Oracle;
use crate::quotas::{Cost, Plain, costs, origins, quotas, sized};
use crate::support::{Admission, DAY, FIFTY_YEARS, S, Scale, at, bucket, over_the_bound, quota};

#[derive(Clone, Copy, Debug)]
enum Step {
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
    Same,
    Later(u64),
    /// So far from the reading at which this key's bucket is full.
    Full(u64, i64),
}

const KEYS: u64 = 6;

fn keys() -> impl Strategy<Value = u64> {
    0..KEYS
}

fn whens() -> impl Strategy<Value = When> {
    prop_oneof![
        3 => Just(When::Same),
        3 => sized().prop_map(|span| When::Later(span % DAY)),
        4 => (keys(), -2..=2_i64).prop_map(|(key, offset)| When::Full(key, offset)),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (keys(), costs()).prop_map(|(key, cost)| Step::Try(key, cost)),
        1 => (keys(), costs()).prop_map(|(key, cost)| Step::Charge(key, cost)),
        1 => (keys(), costs()).prop_map(|(key, cost)| Step::Refund(key, cost)),
        1 => (keys(), sized()).prop_map(|(key, span)| Step::Pause(key, span % DAY)),
        1 => keys().prop_map(Step::Resume),
        4 => Just(Step::Sweep),
    ]
}

fn schedules() -> impl Strategy<Value = Vec<(When, Step)>> {
    prop::collection::vec((whens(), steps()), 1..60)
}

/// One bucket for each key, never swept: what every keyed form is held against.
struct Buckets {
    quota: Quota,
    now: u64,
    all: BTreeMap<u64, Bucket<Manual>>,
}

impl Buckets {
    fn new(plain: Plain, now: u64) -> Self {
        Buckets { quota: quota(plain.tokens, plain.period, plain.burst), now, all: BTreeMap::new() }
    }

    fn of(&mut self, key: u64) -> &Bucket<Manual> {
        self.all.entry(key).or_insert_with(|| bucket(self.quota))
    }

    /// Goes on to the reading of the next step, by at most `most`; `false` past the years that are promised.
    fn go_on(&mut self, when: When, most: u64) -> bool {
        let now = self.now;
        let due = match when {
            When::Same => now,
            When::Later(span) => now.saturating_add(span),
            When::Full(key, offset) => {
                let to_full = self.of(key).peek_at(at(now)).time_to_full().as_nanos();
                now.saturating_add(u64::try_from(to_full).unwrap_or(u64::MAX)).saturating_add_signed(offset)
            }
        };
        self.now = due.clamp(now, now.saturating_add(most));
        self.now <= FIFTY_YEARS
    }

    /// Keys whose buckets are not full, or paused.
    fn busy(&self) -> usize {
        let is_busy = |bucket: &&Bucket<Manual>| {
            let level = bucket.peek_at(at(self.now));
            !level.time_to_full().is_zero() || !level.paused_for().is_zero()
        };
        self.all.values().filter(is_busy).count()
    }

    fn is_busy(&mut self, key: u64) -> bool {
        let now = at(self.now);
        let level = self.of(key).peek_at(now);
        !level.time_to_full().is_zero() || !level.paused_for().is_zero()
    }
}

/// Nothing, or what the refusal is and how long it says to wait.
fn told(answer: Result<(), Denied>) -> Option<(std::mem::Discriminant<Denied>, Option<std::time::Duration>)> {
    answer.err().map(|denied| (std::mem::discriminant(&denied), denied.wait()))
}

/// Does a step to both; each answer is the bucket's.
fn step(limit: &Keyed<u64, Manual>, buckets: &mut Buckets, step: Step) {
    let now = at(buckets.now);
    let burst = buckets.quota.capacity();
    match step {
        Step::Try(key, cost) => {
            let answer = limit.try_acquire_n(&key, cost.of(burst));
            assert_eq!(
                told(answer),
                told(buckets.of(key).try_acquire_n_at(cost.of(burst), now)),
                "key {key}"
            );
        }
        Step::Charge(key, cost) => {
            limit.charge(&key, cost.of(burst));
            let _kept = buckets.of(key).charge_at(cost.of(burst), now);
        }
        Step::Refund(key, cost) => {
            limit.refund(&key, cost.of(burst));
            buckets.of(key).refund_at(cost.of(burst), now);
        }
        Step::Pause(key, span) => {
            let until = at(buckets.now + span);
            assert!(limit.pause_until(&key, until));
            buckets.of(key).pause_until(until);
        }
        Step::Resume(key) => {
            limit.resume(&key);
            buckets.of(key).resume();
        }
        Step::Sweep => drop(limit.sweep()),
    }
}

/// What a look at each key tells is the bucket's; a key that is not known is full.
fn check_levels(limit: &Keyed<u64, Manual>, buckets: &mut Buckets) {
    for key in 0..KEYS {
        let now = at(buckets.now);
        let expected = buckets.of(key).peek_at(now);
        let tell = |level: tollgate::Level| {
            (level.available(), level.debt(), level.time_to_full(), level.paused_for())
        };
        match limit.peek(&key) {
            Some(level) => assert_eq!(tell(level), tell(expected), "key {key}"),
            None => assert!(!buckets.is_busy(key), "key {key} was forgotten: {expected:?}"),
        }
    }
}

/// Quotas whose units fit the 40 bits of a table on the exact scale, so that a table and a bucket count alike.
fn small_quotas() -> impl Strategy<Value = Plain> {
    (1..=8_u64, 1..=10_000_000_000_u64, 1..=1_000_000_u64).prop_map(|(tokens, period, burst)| {
        let burst = burst.min(((1 << 40) - 1) / period).max(1);
        Plain { tokens, period, burst }
    })
}

/// The scale of a table: the capacity is less than 2^40 units.
fn scale_of_a_table(plain: Plain) -> Scale {
    let (p, q) = Oracle::new(plain.tokens, plain.period.into(), plain.burst).rate();
    let burst = u128::from(plain.burst);
    if p <= 8 && burst * q < 1 << 40 {
        return Scale::Exact { p: p as u64, q: q as u64 };
    }
    let fits = |fraction: &u32| burst << fraction < 1 << 40 && (*fraction == 0 || p << fraction <= 2 * q);
    Scale::Binary { fraction: (0..40).rev().find(fits).unwrap_or(0) }
}

/// Half of the horizon at the highest rate of issue: a table is asked at least so often.
const OFTEN: u64 = (1 << 41) / 8;

/// In a table of one set, each key in a word of its own.
fn own_words(key: u64) -> u64 {
    key * 3 + 1
}

/// Two tags for all keys.
fn two_tags(key: u64) -> u64 {
    key % 2 + 1
}

proptest! {
    /// With sweeping at any time, every answer, wait and level is that of buckets that are never swept.
    #[test]
    fn sweeping_decides_as_no_sweeping(plain in quotas(), origin in origins(), schedule in schedules()) {
        let (mut buckets, limit) = (Buckets::new(plain, origin), {
            let builder = Keyed::builder(quota(plain.tokens, plain.period, plain.burst));
            builder.clock(Manual::starting_at(at(origin))).build().unwrap()
        });
        for (when, next) in schedule {
            if !buckets.go_on(when, u64::MAX) {
                break;
            }
            limit.clock().set(at(buckets.now));
            step(&limit, &mut buckets, next);
            check_levels(&limit, &mut buckets);
        }
    }

    /// After a sweep, the keys that are known are those whose buckets are not full, or paused. One that was filled by a
    /// refund or freed by the end of its pause may be known for as long as it takes to fill a bucket, at least a second.
    #[test]
    fn a_sweep_leaves_exactly_what_is_busy(plain in quotas(), schedule in schedules()) {
        let limit = keyed(quota(plain.tokens, plain.period, plain.burst), 100, Overflow::Refuse);
        let (mut buckets, mut lowered) = (Buckets::new(plain, 0), false);
        for (when, next) in schedule {
            if !buckets.go_on(when, u64::MAX) {
                break;
            }
            limit.clock().set(at(buckets.now));
            step(&limit, &mut buckets, next);
            limit.sweep();
            lowered |= matches!(next, Step::Refund(..) | Step::Resume(_));
            let (live, busy) = (limit.len(), buckets.busy());
            prop_assert!(live == busy || lowered && live > busy, "{live} for {busy} at {}", buckets.now);
        }
        let fill = (u128::from(plain.burst) * u128::from(plain.period)).div_ceil(plain.tokens.into());
        let noticed = u128::from(buckets.now) + fill.max(S.into()) + 1;
        if noticed < FIFTY_YEARS.into() {
            buckets.now = noticed as u64;
            limit.sweep_at(at(buckets.now));
            prop_assert_eq!(limit.len(), buckets.busy(), "in the end, at {}", buckets.now);
        }
    }

    /// At the cap a key is refused for want of room exactly if it is new and as many others are busy; whatever becomes of
    /// it, the others decide as alone.
    #[test]
    fn at_the_cap_room_is_what_is_full(
        plain in quotas(),
        cap in 1..4_usize,
        schedule in prop::collection::vec((whens(), keys(), costs()), 1..60),
    ) {
        let limit = keyed(quota(plain.tokens, plain.period, plain.burst), cap, Overflow::Refuse);
        let mut buckets = Buckets::new(plain, 0);
        for (when, key, cost) in schedule {
            if !buckets.go_on(when, u64::MAX) {
                break;
            }
            let (now, cost) = (at(buckets.now), cost.of(plain.burst));
            limit.clock().set(now);
            let answer = limit.try_acquire_n(&key, cost);
            if let Err(Denied::NoRoom(_)) = answer {
                prop_assert!(!buckets.is_busy(key) && buckets.busy() >= cap, "{cap} places at {}", buckets.now);
                continue;
            }
            let is_new = !buckets.is_busy(key);
            prop_assert_eq!(told(answer), told(buckets.of(key).try_acquire_n_at(cost, now)));
            prop_assert!(answer.is_err() || !is_new || buckets.busy() <= cap);
        }
    }

    /// Readings of all ages: a swept limiter is stricter than buckets, and never looser than the bound.
    #[test]
    fn late_readings_are_within_the_bound(
        plain in quotas(),
        schedule in prop::collection::vec((whens(), keys(), costs(), 0..4_u64, any::<bool>()), 1..60),
    ) {
        let limit = keyed(quota(plain.tokens, plain.period, plain.burst), 3, Overflow::Refuse);
        let (mut buckets, mut admitted) = (Buckets::new(plain, 0), BTreeMap::<u64, Vec<Admission>>::new());
        for (when, key, cost, age, is_sweep) in schedule {
            if !buckets.go_on(when, u64::MAX) {
                break;
            }
            if is_sweep {
                limit.sweep_at(at(buckets.now));
            }
            let (latest, now) = (buckets.now, buckets.now - buckets.now / 8 * age);
            let cost = cost.of(plain.burst);
            if limit.try_acquire_n_at(&key, cost, at(now)).is_ok() {
                admitted.entry(key).or_default().push((now, cost));
                let _noted = buckets.of(key).charge_at(cost, at(latest));
            }
        }
        let model = Oracle::new(plain.tokens, plain.period.into(), plain.burst);
        for (key, admitted) in admitted {
            let over = over_the_bound(&admitted, &model, Scale::of(plain.tokens, plain.period, plain.burst));
            prop_assert_eq!(over, None, "key {}", key);
        }
    }

    /// Keys of a table that share nothing decide as buckets, to the nanosecond.
    #[test]
    fn a_table_decides_as_buckets(
        plain in small_quotas(),
        schedule in prop::collection::vec((whens(), keys(), costs(), any::<bool>()), 1..60),
    ) {
        let limit = table(quota(plain.tokens, plain.period, plain.burst), 8, Overflow::Refuse, own_words);
        let mut buckets = Buckets::new(plain, 0);
        for (when, key, cost, is_sweep) in schedule {
            buckets.go_on(when, OFTEN);
            let (now, cost) = (at(buckets.now), cost.of(plain.burst));
            limit.clock().set(now);
            prop_assert_eq!(limit.peek(&key).available(), buckets.of(key).peek_at(now).available());
            // One call that is valid, for only those sweep.
            for cost in [cost, 1] {
                let expected = buckets.of(key).try_acquire_n_at(cost, now);
                prop_assert_eq!(told(limit.try_acquire_n(&key, cost)), told(expected));
            }
            if is_sweep {
                prop_assert_eq!(limit.sweep(), buckets.busy());
            }
            prop_assert_eq!(limit.len(), buckets.busy());
        }
    }

    /// Keys that share a tag decide as one bucket.
    #[test]
    fn keys_that_share_a_word_decide_as_one_bucket(
        plain in small_quotas(),
        schedule in prop::collection::vec((whens(), keys(), costs(), any::<bool>()), 1..60),
    ) {
        let limit = table(quota(plain.tokens, plain.period, plain.burst), 8, Overflow::Refuse, two_tags);
        let mut buckets = Buckets::new(plain, 0);
        for (when, key, cost, is_sweep) in schedule {
            buckets.go_on(when, OFTEN);
            let (now, cost) = (at(buckets.now), cost.of(plain.burst));
            limit.clock().set(now);
            for cost in [cost, 1] {
                let expected = buckets.of(two_tags(key)).try_acquire_n_at(cost, now);
                prop_assert_eq!(told(limit.try_acquire_n(&key, cost)), told(expected));
            }
            if is_sweep {
                limit.sweep();
            }
        }
    }

    /// On any scale: each key alone is within its bound, and so are all together that share a word.
    #[test]
    fn sharing_is_stricter_and_never_looser(
        plain in quotas(),
        schedule in prop::collection::vec((whens(), keys(), costs(), any::<bool>()), 1..60),
    ) {
        let plain = Plain { burst: plain.burst.min((1 << 40) - 1), ..plain };
        let limit = table(quota(plain.tokens, plain.period, plain.burst), 8, Overflow::Refuse, two_tags);
        let (mut buckets, mut admitted) = (Buckets::new(plain, 0), BTreeMap::<u64, Vec<Admission>>::new());
        for (when, key, cost, is_sweep) in schedule {
            if !buckets.go_on(when, u64::MAX) {
                break;
            }
            let (now, cost) = (buckets.now, cost.of(plain.burst));
            limit.clock().set(at(now));
            if limit.try_acquire_n(&key, cost).is_ok() {
                for holder in [key, KEYS + two_tags(key)] {
                    admitted.entry(holder).or_default().push((now, cost));
                    let _noted = buckets.of(holder).charge_at(cost, at(now));
                }
            }
            if is_sweep {
                limit.sweep();
            }
        }
        let model = Oracle::new(plain.tokens, plain.period.into(), plain.burst);
        for (holder, admitted) in admitted {
            prop_assert_eq!(over_the_bound(&admitted, &model, scale_of_a_table(plain)), None, "{}", holder);
        }
    }
}

/// The rule by which the scale of a table is told here, at the examples of the docs.
#[test]
fn the_scale_of_a_table() {
    let plain = |tokens, period, burst| Plain { tokens, period, burst };
    assert_eq!(scale_of_a_table(plain(100, S, 100)), Scale::Exact { p: 1, q: 10_000_000 });
    assert_eq!(scale_of_a_table(plain(1, DAY, 1)), Scale::Binary { fraction: 39 });
    let builder = Table::builder(quota(1, DAY, 1), 8).hasher(Chosen(own_words)).clock(Manual::new());
    let limit = builder.build().unwrap();
    assert_eq!(limit.try_acquire(&1), Ok(()));
    let wait = limit.try_acquire(&1).unwrap_err().wait().unwrap();
    assert!((DAY - 158..=DAY + 1).contains(&(wait.as_nanos() as u64)), "{wait:?}: a day, to 157 ns");
}
