//! `Charge::undo`, the prompt rule of GUARANTEES 6, against a replay in which the charge was never made.

use proptest::prelude::*;
use tollgate::{Bucket, Charge, Manual};

use crate::oracle::Oracle;
use crate::quotas::{Cost, Plain, costs, exact_quotas};
use crate::support::{MINUTE, S, at, bucket, nanos, quota};

/// What was done to the bucket, with its reading.
#[derive(Clone, Copy, Debug)]
enum Done {
    Charged(u64, u64),
    Undone,
    Refunded(u64, u64),
    Reset(u64),
}

/// A charge that may still be undone, and what the replay needs to know of it.
struct Open<'a> {
    charge: Charge<'a, Manual>,
    event: usize,
    cost: u64,
    reading: u64,
    /// The deficit that it left, in parts.
    missing: i128,
    /// How often tokens had been given back before it.
    lowered: usize,
}

/// A bucket, the log of what was done, and the charges that are open. The quota has one part a nanosecond, so that a
/// time to full is the deficit.
struct Replay<'a> {
    bucket: &'a Bucket<Manual>,
    plain: Plain,
    log: Vec<Done>,
    open: Vec<Open<'a>>,
    lowered: usize,
    now: u64,
}

impl<'a> Replay<'a> {
    fn new(bucket: &'a Bucket<Manual>, plain: Plain) -> Self {
        Replay { bucket, plain, log: Vec::new(), open: Vec::new(), lowered: 0, now: 0 }
    }

    /// Parts missing if the charges that are undone had never been made and all others had.
    fn replayed(&self) -> i128 {
        let Plain { tokens, period, burst } = self.plain;
        let mut model = Oracle::new(tokens, period.into(), burst);
        for done in &self.log {
            match *done {
                Done::Charged(cost, now) => model.charge(cost, now),
                Done::Refunded(cost, now) => model.refund(cost, now),
                Done::Reset(now) => model = Oracle::new(tokens, period.into(), burst).holding(burst, now),
                Done::Undone => {}
            }
        }
        model.missing(self.now)
    }

    /// Parts missing from the bucket.
    fn missing(&self) -> i128 {
        self.bucket.peek_at(at(self.now)).time_to_full().as_nanos() as i128
    }

    fn charge(&mut self, cost: u64, asks: bool) {
        let reading = at(self.now);
        let charge = if asks {
            self.bucket.try_charge_at(cost, reading).ok()
        } else {
            Some(self.bucket.charge_at(cost, reading))
        };
        if let Some(charge) = charge {
            let (event, reading, missing, lowered) = (self.log.len(), self.now, self.missing(), self.lowered);
            self.open.push(Open { charge, event, cost, reading, missing, lowered });
            self.log.push(Done::Charged(cost, self.now));
        }
    }

    fn refund(&mut self, cost: u64) {
        self.bucket.refund_at(cost, at(self.now));
        self.log.push(Done::Refunded(cost, self.now));
        self.lowered += 1;
    }

    fn reset(&mut self) {
        self.bucket.reset_at(at(self.now));
        self.log.push(Done::Reset(self.now));
        self.lowered += 1;
    }

    /// Undoes one of the open charges. Whatever came between, the bucket holds no more than the replay; and exactly as
    /// much when nothing else was given back and refill has not reached what was charged.
    fn undo(&mut self, which: usize, give_back: impl Fn(&Self, Charge<'a, Manual>, u64)) {
        if self.open.is_empty() {
            return;
        }
        let open = self.open.remove(which % self.open.len());
        let parts = i128::from(open.cost) * i128::from(self.plain.period);
        let refilled = i128::from(self.now - open.reading);
        let recent = open.missing - refilled >= parts && open.lowered == self.lowered;
        let exact_before = self.missing() == self.replayed();
        give_back(self, open.charge, open.cost);
        self.log[open.event] = Done::Undone;
        self.lowered += 1;
        if recent && exact_before {
            assert_eq!(self.missing(), self.replayed(), "a recent undo is exact: {:?}", self.log);
        }
    }

    fn check(&self) {
        let (missing, replayed) = (self.missing(), self.replayed());
        assert!(
            missing >= replayed,
            "{missing} missing, {replayed} without the undone: {:?} {:?}",
            self.bucket,
            self.log
        );
    }
}

/// By the rule: what the library does.
fn by_the_rule<'a>(replay: &Replay<'a>, charge: Charge<'a, Manual>, _: u64) {
    charge.undo_at(at(replay.now));
}

/// What everyone ships: `min(B, tokens + x)`.
fn by_the_plain_clamp<'a>(replay: &Replay<'a>, _: Charge<'a, Manual>, cost: u64) {
    replay.bucket.refund_at(cost, at(replay.now));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Charge(Cost),
    TryCharge(Cost),
    Undo(usize),
    Refund(Cost),
    Reset,
    /// So many 256ths of the time to fill.
    Later(u8),
    Moment(u8),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => costs().prop_map(Step::TryCharge),
        3 => costs().prop_map(Step::Charge),
        5 => any::<usize>().prop_map(Step::Undo),
        1 => costs().prop_map(Step::Refund),
        1 => Just(Step::Reset),
        4 => any::<u8>().prop_map(Step::Later),
        2 => any::<u8>().prop_map(Step::Moment),
    ]
}

fn walk(plain: Plain, schedule: &[Step]) {
    let bucket = bucket(quota(plain.tokens, plain.period, plain.burst));
    let mut replay = Replay::new(&bucket, plain);
    for &step in schedule {
        let bounded = |cost: Cost| cost.of(plain.burst).min(2 * plain.burst);
        match step {
            Step::TryCharge(cost) => replay.charge(cost.of(plain.burst), true),
            Step::Charge(cost) => replay.charge(bounded(cost), false),
            Step::Undo(which) => replay.undo(which, by_the_rule),
            Step::Refund(cost) => replay.refund(cost.of(plain.burst)),
            Step::Reset => replay.reset(),
            Step::Later(part) => replay.now += plain.period * plain.burst / 256 * u64::from(part),
            Step::Moment(nanos) => replay.now += u64::from(nanos),
        }
        replay.check();
    }
}

proptest! {
    #[test]
    fn an_undo_never_leaves_more_than_a_replay_without_the_charge(
        plain in exact_quotas(),
        schedule in prop::collection::vec(steps(), 1..40),
    ) {
        walk(plain, &schedule);
    }

    /// Small numbers meet more often than large ones.
    #[test]
    fn nor_in_a_small_bucket(
        period in 1..6_u64,
        burst in 1..8_u64,
        schedule in prop::collection::vec(steps(), 1..40),
    ) {
        walk(Plain { tokens: 1, period, burst }, &schedule);
    }

    #[test]
    fn an_undo_at_once_restores_everything(plain in exact_quotas(), before in costs(), cost in costs()) {
        let bucket = bucket(quota(plain.tokens, plain.period, plain.burst));
        let bounded = |cost: Cost| cost.of(plain.burst).min(2 * plain.burst);
        let _kept = bucket.charge_at(bounded(before), at(0));
        let level = bucket.peek_at(at(0));
        bucket.charge_at(bounded(cost), at(0)).undo_at(at(0));
        prop_assert_eq!(bucket.peek_at(at(0)), level);
    }
}

/// Each undo must allow for the others having given back the same tokens, so together they may withhold some.
#[test]
fn charges_undone_together_restore_at_least_half() {
    for count in 1..=20 {
        let bucket = bucket(quota(1, S, 20));
        let charges: Vec<_> = (0..count).map(|_| bucket.try_charge_at(1, at(0)).unwrap()).collect();
        charges.into_iter().rev().for_each(|charge| charge.undo_at(at(0)));
        let restored = bucket.peek_at(at(0)).available() - (20 - count);
        assert!((count.div_ceil(2)..=count).contains(&restored), "{restored} of {count}");
    }
}

/// "Fill it up" is a refund too large for any counter; what it really gave back is what counts.
#[test]
fn refunds_of_any_size_count_as_what_they_gave() {
    for amounts in [[u64::MAX, 1], [1 << 63, 1 << 63], [u64::MAX, u64::MAX], [u64::MAX - 4, 5]] {
        let limit = bucket(quota(1, S, 10));
        let charge = limit.try_charge(5).unwrap();
        amounts.into_iter().for_each(|amount| limit.refund(amount));
        assert_eq!(limit.try_acquire_n(5), Ok(()));
        charge.undo();
        assert_eq!(limit.peek().available(), 5, "{amounts:?}");
    }
}

#[test]
fn an_undo_reads_the_clock_of_the_bucket() {
    let bucket = bucket(quota(1, S, 5));
    let charge = bucket.try_charge(5).unwrap();
    bucket.clock().advance(nanos(2 * S));
    charge.undo();
    assert_eq!((bucket.peek().available(), bucket.peek().time_to_full().as_nanos()), (5, 0));
}

/// Case C46 step by step: the plain clamp is caught by the check that the rule passes.
#[test]
fn the_plain_clamp_is_caught() {
    let late_undo = |give_back: for<'a> fn(&Replay<'a>, Charge<'a, Manual>, u64)| {
        let bucket = bucket(quota(60_000, MINUTE, 60_000));
        let mut replay = Replay::new(&bucket, Plain { tokens: 1, period: MINUTE / 60_000, burst: 60_000 });
        replay.charge(50_000, true);
        replay.now = 65 * S;
        replay.charge(40_000, true);
        replay.now = 70 * S;
        replay.undo(0, give_back);
        (replay.missing(), replay.replayed())
    };
    let (missing, replayed) = late_undo(by_the_rule);
    assert_eq!(missing, replayed);
    let (missing, replayed) = late_undo(by_the_plain_clamp);
    assert!(missing < replayed, "{missing} missing, {replayed} without the charge");
}
