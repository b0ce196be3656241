//! The bound of store and shares together, as the theory (section 19) has it, over every interval of many
//! courses.

use std::sync::Arc;

use super::*;
use crate::clock::Manual;
use crate::quota;

const INSTANCES: usize = 3;
const MS: u64 = 1_000_000;

/// Tokens are counted in ninths: a third of a token is issued in a millisecond, a ninth to each share.
const NINTHS: u64 = 9;

/// The capacity of the whole, in tokens.
const WHOLE: u64 = 30;

/// Something that was admitted, by the store or by an instance's share, or the charge for what a share had
/// admitted.
#[derive(Clone, Copy, Debug)]
struct Event {
    millis: u64,
    tokens: u64,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Store,
    Share(usize),
    Charge(usize),
}

struct Course {
    clock: Arc<Manual>,
    /// In ninths.
    store: Bucket<Arc<Manual>>,
    shares: Vec<Fallback<Arc<Manual>>>,
    cut: [bool; INSTANCES],
    events: Vec<Event>,
    random: u64,
}

impl Course {
    fn new(seed: u64) -> Self {
        let (quota, clock) = (quota!("1/3ms").burst(WHOLE).unwrap(), Arc::new(Manual::new()));
        let rule = Outage::Share { instances: INSTANCES as u32 };
        let share = || Fallback::with_clock(rule, quota, Circuit::default(), Arc::clone(&clock)).unwrap();
        Self {
            store: Bucket::with_clock(quota!("3/ms").burst(WHOLE * NINTHS).unwrap(), Arc::clone(&clock)),
            shares: (0..INSTANCES).map(|_| share()).collect(),
            cut: [false; INSTANCES],
            events: Vec::new(),
            random: seed,
            clock,
        }
    }

    fn below(&mut self, range: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % range
    }

    fn note(&mut self, tokens: u64, by: By) {
        self.events.push(Event { millis: self.clock.now().as_u64() / MS, tokens, by });
    }

    fn step(&mut self) {
        let (instance, cost) = (self.below(INSTANCES as u64) as usize, 1 + self.below(12));
        match self.below(14) {
            12 => drop(self.store.charge(cost * NINTHS)),
            13 => self.tell_in_vain(instance),
            0 => self.cut[instance] = true,
            1 | 2 => self.cut[instance] = false,
            3 => {
                let span = self.below(40) * self.below(40) / 8;
                self.clock.advance(Duration::from_millis(span));
            }
            _ if self.cut[instance] => {
                if self.shares[instance].decide(cost).unwrap().is_ok() {
                    self.note(cost, By::Share(instance));
                }
            }
            _ => self.ask(instance, cost),
        }
    }

    /// As a guarded bucket does: what is owed first.
    fn ask(&mut self, instance: usize, cost: u64) {
        let owed = self.shares[instance].owed().map(|owed| {
            self.make_up(&owed);
            let cost = owed.cost();
            owed.charged();
            cost
        });
        // Also where nothing is owed any more, the share's account is settled.
        self.note(owed.unwrap_or(0), By::Charge(instance));
        if self.store.try_acquire_n(cost * NINTHS).is_ok() {
            self.note(cost, By::Store);
        }
    }

    /// The store hears it, and its answer is lost.
    fn tell_in_vain(&self, instance: usize) {
        if let Some(owed) = self.shares[instance].owed() {
            self.make_up(&owed);
        }
    }

    /// As the script does: no more debt than the whole.
    fn make_up(&self, owed: &Owed<'_, Arc<Manual>>) {
        let most = (owed.whole() * NINTHS).saturating_sub(self.store.peek().debt());
        let cost = owed.cost() * NINTHS;
        let there = self.store.peek().available();
        let _stays = self.store.charge(cost.min(most.saturating_add(there)));
    }

    fn check(&self) {
        for first in 0..self.events.len() {
            for last in first..self.events.len() {
                let (bound, admitted) = (self.bound(first, last), self.admitted(first, last));
                assert!(admitted <= bound, "{admitted} of {bound}: {:?}", &self.events[first..=last]);
            }
        }
    }

    fn admitted(&self, first: usize, last: usize) -> u64 {
        let admitted = self.events[first..=last].iter().filter(|event| !matches!(event.by, By::Charge(_)));
        admitted.map(|event| event.tokens).sum::<u64>() * NINTHS
    }

    fn bound(&self, first: usize, last: usize) -> u64 {
        let span = self.events[last].millis - self.events[first].millis;
        let asked = (first..=last).rev().find(|at| self.events[*at].by == By::Store).unwrap_or(first);
        let of_shares: u64 =
            (0..INSTANCES).map(|instance| self.of_a_share(instance, first, asked, last)).sum();
        WHOLE * NINTHS + 3 * span + of_shares
    }

    /// What an instance's share may add: refill for the time of each charge, and once its capacity if it is
    /// pending.
    fn of_a_share(&self, instance: usize, first: usize, asked: usize, last: usize) -> u64 {
        let (mut since, mut ninths, mut pending) = (None, 0, None);
        for at in first..=last {
            let Event { millis, by, .. } = self.events[at];
            if by == By::Share(instance) {
                since.get_or_insert(millis);
                pending = pending.or((at > asked).then_some(millis));
            } else if by == By::Charge(instance)
                && let Some(begin) = since.take()
            {
                if at <= asked {
                    ninths += millis - begin;
                } else {
                    pending = Some(pending.map_or(begin, |earlier: u64| earlier.min(begin)));
                }
            }
        }
        let pending = since.into_iter().chain(pending).min();
        ninths + pending.map_or(0, |begin| 10 * NINTHS + self.events[last].millis - begin)
    }
}

#[test]
fn store_and_shares_together_are_within_what_is_stated() {
    let mut by_shares = 0;
    for seed in 0..100 {
        let mut course = Course::new(seed);
        (0..80).for_each(|_| course.step());
        course.check();
        by_shares += course.events.iter().filter(|event| matches!(event.by, By::Share(_))).count();
    }
    assert!(by_shares > 500, "{by_shares}: outages were among them");
}

/// The burst of an outage is paid for before the store admits again: not 30 by the shares and 30 by the
/// store, but 32.
#[test]
fn a_short_outage_costs_no_burst() {
    let mut course = Course::new(0);
    for instance in 0..INSTANCES {
        course.cut[instance] = true;
        assert!(course.shares[instance].decide(10).unwrap().is_ok());
        course.ask(instance, 1);
    }
    let of_the_store = course.events.iter().filter(|event| event.by == By::Store).count();
    assert_eq!(of_the_store, 2);
    assert!(course.store.try_acquire().is_err());
    assert_eq!(course.store.peek().debt(), 2 * NINTHS);
}
