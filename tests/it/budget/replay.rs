//! GUARANTEES 6 with the full history: after every step the budget holds what a replay with the settled amounts holds, and
//! net admitted cost is within the bound in every interval.

use proptest::prelude::*;
use tollgate::Manual;
use tollgate::budget::{Budget, Progress, Reservation};

use super::{budget, set};
use crate::oracle::Oracle;
use crate::quotas::{Cost, Plain, costs, exact_quotas};
use crate::support::{Scale, over_the_bound};

/// A charge as the replay makes it: when, and how many tokens of it stay.
#[derive(Clone, Copy, Debug)]
struct Charge {
    now: u64,
    tokens: u64,
    /// The tokens that were admitted, if it was asked for.
    estimate: Option<u64>,
}

struct Open<'a> {
    guard: Reservation<&'a Budget<Manual>>,
    /// Its place in the log.
    event: usize,
}

/// A budget, the log of its charges, and the reservations that are open. The quota has one part a nanosecond, so that a
/// time to full is what is missing.
struct Replay<'a> {
    budget: &'a Budget<Manual>,
    plain: Plain,
    log: Vec<Charge>,
    open: Vec<Open<'a>>,
    now: u64,
}

impl<'a> Replay<'a> {
    fn new(budget: &'a Budget<Manual>, plain: Plain) -> Self {
        Self { budget, plain, log: Vec::new(), open: Vec::new(), now: 0 }
    }

    fn reserve(&mut self, tokens: u64) {
        if let Ok(guard) = self.budget.reserve(tokens) {
            self.open.push(Open { guard, event: self.log.len() });
            self.log.push(Charge { now: self.now, tokens, estimate: Some(tokens) });
        }
    }

    fn charge(&mut self, tokens: u64) {
        self.budget.charge(tokens);
        self.log.push(Charge { now: self.now, tokens, estimate: None });
    }

    /// Settles one of those that are open; what is above its charge is a charge of now.
    fn settle(&mut self, which: usize, actual: impl Fn(u64) -> u64) {
        if self.open.is_empty() {
            return;
        }
        let Open { guard, event } = self.open.remove(which % self.open.len());
        let charged = guard.charged();
        let actual = actual(charged);
        let settled = guard.settle(actual).unwrap();
        assert_eq!(settled.given_back + settled.withheld, charged.saturating_sub(actual));
        self.log[event].tokens = charged.min(actual);
        self.log.push(Charge { now: self.now, tokens: settled.overrun, estimate: None });
    }

    /// Tells one of those that are open how far it is: what it will not need is as good as settled.
    fn observe(&mut self, which: usize, percent: u32) {
        if self.open.is_empty() {
            return;
        }
        let which = which % self.open.len();
        let Open { guard, event } = &mut self.open[which];
        let used =
            guard.observed().unwrap_or(0) + guard.charged().saturating_sub(guard.observed().unwrap_or(0)) / 3;
        guard.observe_progress(used, Progress::percent(percent));
        self.log[*event].tokens = guard.charged();
    }

    fn check(&self) {
        let missing = self.budget.peek().time_to_full().as_nanos();
        let Plain { tokens, period, burst } = self.plain;
        let mut model = Oracle::new(tokens, period.into(), burst);
        self.log.iter().for_each(|charge| model.charge(charge.tokens, charge.now));
        assert_eq!(missing as i128, model.missing(self.now), "{:?} {:?}", self.plain, self.log);
    }

    fn check_bound(&self) {
        let Plain { tokens, period, burst } = self.plain;
        let net: Vec<_> = self
            .log
            .iter()
            .filter_map(|charge| Some((charge.now, charge.estimate?.min(charge.tokens))))
            .collect();
        let model = Oracle::new(tokens, period.into(), burst);
        assert_eq!(over_the_bound(&net, &model, Scale::of(tokens, period, burst)), None, "{:?}", self.log);
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Reserve(Cost),
    Charge(Cost),
    /// Which one, and how many 256ths of its charge it has used.
    Settle(usize, u16),
    Observe(usize, u8),
    /// So many 256ths of the time to fill.
    Later(u8),
    Moment(u8),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => costs().prop_map(Step::Reserve),
        1 => costs().prop_map(Step::Charge),
        4 => (any::<usize>(), 0..400_u16).prop_map(|(which, part)| Step::Settle(which, part)),
        1 => (any::<usize>(), 0..=100_u8).prop_map(|(which, percent)| Step::Observe(which, percent)),
        4 => any::<u8>().prop_map(Step::Later),
        2 => any::<u8>().prop_map(Step::Moment),
    ]
}

fn walk(plain: Plain, schedule: &[Step]) {
    let budget = budget(plain.tokens, plain.period, plain.burst);
    let mut replay = Replay::new(&budget, plain);
    for &step in schedule {
        match step {
            Step::Reserve(cost) => replay.reserve(cost.of(plain.burst)),
            Step::Charge(cost) => replay.charge(cost.of(plain.burst).min(2 * plain.burst)),
            Step::Settle(which, part) => {
                replay.settle(which, |charged| (u128::from(charged) * u128::from(part) / 256) as u64)
            }
            Step::Observe(which, percent) => replay.observe(which, percent.into()),
            Step::Later(part) => replay.now += plain.period * plain.burst / 256 * u64::from(part),
            Step::Moment(nanos) => replay.now += u64::from(nanos),
        }
        set(&budget, replay.now);
        replay.check();
    }
    replay.check_bound();
}

proptest! {
    #[test]
    fn the_budget_is_the_replay_with_the_settled_amounts(
        plain in exact_quotas(),
        schedule in prop::collection::vec(steps(), 1..60),
    ) {
        walk(plain, &schedule);
    }

    /// Small numbers meet more often than large ones.
    #[test]
    fn also_when_it_is_small(
        period in 1..6_u64,
        burst in 1..8_u64,
        schedule in prop::collection::vec(steps(), 1..60),
    ) {
        walk(Plain { tokens: 1, period, burst }, &schedule);
    }

    /// What was observed above the estimate and given back after all: never more than the replay, and settled for good.
    #[test]
    fn an_observed_overrun_is_never_given_back_twice(
        burst in 2..50_u64,
        used in prop::collection::vec(0..100_u64, 1..5),
        gaps in prop::collection::vec(0..20_u64, 5),
        actual in 0..100_u64,
    ) {
        let budget = budget(1, 1, burst);
        let mut guard = budget.reserve(burst / 2).unwrap();
        let (mut now, mut charged, mut log) = (0, burst / 2, vec![(0, burst / 2)]);
        for (used, gap) in used.iter().zip(&gaps) {
            now += gap;
            set(&budget, now);
            guard.observe(*used);
            log.push((now, used.saturating_sub(charged)));
            charged = charged.max(*used);
        }
        now += 1;
        set(&budget, now);
        prop_assert_eq!(guard.charged(), charged);
        let _settled = guard.settle(actual).unwrap();
        // The replay takes the surplus from the last charges first, which is the most that may be given back.
        let mut surplus = charged.saturating_sub(actual);
        for (_, tokens) in log.iter_mut().rev() {
            let less = surplus.min(*tokens);
            (*tokens, surplus) = (*tokens - less, surplus - less);
        }
        log.push((now, actual.saturating_sub(charged)));
        let mut model = Oracle::new(1, 1, burst);
        log.iter().for_each(|&(now, tokens)| model.charge(tokens, now));
        let missing = budget.peek().time_to_full().as_nanos() as i128;
        prop_assert!(missing >= model.missing(now), "{missing} {:?}", log);
    }
}
