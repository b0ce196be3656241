//! Any calls with any ends in any order.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::upstream::AdaptiveRate;
use tollgate::{Manual, Nanos, Quota};

use super::{BASE, Rate, S, Sent, rate, send};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Success,
    Refusal,
    RefusalFor(u64),
    TimeOut,
    Stall,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Moves the clock, in nanoseconds; back, too.
    Move(i64),
    Send(u64),
    /// One of those that are out, counted around, at a reading from so many nanoseconds ago.
    End(usize, End, u64),
    /// As many as there are, one after another.
    Succeed(u8),
    Pause(u64),
    Resume,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        6 => Just(End::Success),
        3 => Just(End::Refusal),
        1 => (0..3_000_000_000u64).prop_map(End::RefusalFor),
        1 => Just(End::TimeOut),
        1 => Just(End::Stall),
        1 => Just(End::Nothing),
    ]
}

/// Mostly none.
fn ago() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 1 => 0..2_000_000_000u64]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (-50_000_000..500_000_000i64).prop_map(Op::Move),
        1 => (0..60_000_000_000i64).prop_map(Op::Move),
        8 => (0..12u64).prop_map(Op::Send),
        8 => (any::<usize>(), end(), ago()).prop_map(|(index, end, ago)| Op::End(index, end, ago)),
        2 => (1..40u8).prop_map(Op::Succeed),
        1 => (0..2_000_000_000u64).prop_map(Op::Pause),
        1 => Just(Op::Resume),
    ]
}

fn finish(call: Sent, end: End) {
    let now = call.sent_at();
    finish_at(call, end, now);
}

fn finish_at(call: Sent, end: End, now: Nanos) {
    match end {
        End::Success => call.succeeded_at(now),
        End::Refusal => call.refused_at(None, now),
        End::RefusalFor(nanos) => call.refused_at(Some(Nanos::new(nanos).into()), now),
        End::TimeOut => call.timed_out_at(now),
        End::Stall => call.stalled_at(now),
        End::Nothing => drop(call),
    }
}

/// What was admitted, and the rate that came into force, in order, with their readings.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Admitted(u64),
    Permille(u32),
}

struct Log {
    quota: Quota,
    entries: Vec<(u64, Entry)>,
}

impl Log {
    /// In each interval of readings no more than the capacity and what the highest rate in force in it issues.
    fn check(&self) {
        for (first, &(from, entry)) in self.entries.iter().enumerate() {
            if matches!(entry, Entry::Admitted(_)) {
                self.check_from(first, from);
            }
        }
    }

    fn check_from(&self, first: usize, from: u64) {
        let (mut tokens, mut highest, mut to) = (0, self.in_force_before(first), from);
        for &(at, entry) in &self.entries[first..] {
            match entry {
                Entry::Permille(permille) => highest = highest.max(permille),
                // An older reading than the first is outside.
                Entry::Admitted(cost) if at >= from => {
                    (tokens, to) = (tokens + u128::from(cost), to.max(at));
                    self.check_interval(tokens, highest, to - from);
                }
                Entry::Admitted(_) => {}
            }
        }
    }

    fn in_force_before(&self, index: usize) -> u32 {
        let permille = |&(_, entry): &(u64, Entry)| match entry {
            Entry::Permille(permille) => Some(permille),
            Entry::Admitted(_) => None,
        };
        self.entries[..index].iter().rev().find_map(permille).unwrap()
    }

    /// With less than a nanosecond's refill for the binary scale.
    fn check_interval(&self, tokens: u128, permille: u32, nanos: u64) {
        let thousandth = self.quota.period().as_nanos() * 1_000;
        let issued = u128::from(self.quota.tokens()) * u128::from(permille) * (u128::from(nanos) + 1);
        let bound = u128::from(self.quota.capacity()) * thousandth + issued;
        assert!(tokens * thousandth <= bound, "{tokens} in {nanos} ns at {permille}");
    }
}

struct Run {
    rate: Rate,
    calls: Vec<Sent>,
    log: Log,
}

impl Run {
    fn new(quota: Quota) -> Self {
        let clock = Arc::new(Manual::starting_at(Nanos::from(S)));
        let rate = AdaptiveRate::builder(quota).build_with_clock(clock).unwrap();
        let log = Log { quota, entries: vec![(S.as_nanos() as u64, Entry::Permille(1_000))] };
        Self { rate, calls: Vec::new(), log }
    }

    fn now(&self) -> u64 {
        tollgate::Clock::now(self.rate.clock()).as_u64()
    }

    fn send(&mut self, cost: u64) {
        if let Ok(call) = self.rate.try_send_n(cost) {
            self.log.entries.push((self.now(), Entry::Admitted(cost)));
            self.calls.push(call);
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Move(nanos) => self.rate.clock().set(Nanos::new(self.now().saturating_add_signed(nanos))),
            Op::Send(cost) => self.send(cost),
            Op::End(index, end, ago) if !self.calls.is_empty() => {
                let now = Nanos::new(self.now().saturating_sub(ago));
                finish_at(self.calls.swap_remove(index % self.calls.len()), end, now);
            }
            Op::End(..) => {}
            Op::Succeed(times) => {
                for _ in 0..times {
                    self.send(1);
                    self.calls.pop().into_iter().for_each(Sent::succeeded);
                }
            }
            Op::Pause(nanos) => self.rate.pause_for(Nanos::new(nanos).into()),
            Op::Resume => self.rate.resume(),
        }
        let permille = self.rate.permille();
        assert!((100..=1_000).contains(&permille), "{permille}");
        self.log.entries.push((self.now(), Entry::Permille(permille)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// On the exact scale and on the binary one.
    #[test]
    fn the_bound_and_the_bounds_hold(
        (tokens, burst) in (1..2_000u64, 1..50u64),
        ops in vec(op(), 1..120),
    ) {
        let mut run = Run::new(Quota::with_burst(tokens, S, burst).unwrap());
        ops.into_iter().for_each(|op| run.step(op));
        run.log.check();
    }

    /// Calls that were all sent before the first answer: the rate is what the worst of the answers alone makes of it.
    #[test]
    fn one_event_one_decrease_in_any_order(
        ends in vec(end(), 1..60).prop_shuffle(),
        between in 0..30usize,
    ) {
        let rate = rate();
        let calls: Vec<_> = ends.iter().map(|_| send(&rate)).collect();
        let mut later = Vec::new();
        for (index, (call, &end)) in calls.into_iter().zip(&ends).enumerate() {
            // A wait would pause the calls in between.
            finish(call, if let End::RefusalFor(_) = end { End::Refusal } else { end });
            if index < between {
                later.push(send(&rate));
            }
        }
        let is_refused = ends.iter().any(|end| matches!(end, End::Refusal | End::RefusalFor(_)));
        let is_hung = ends.iter().any(|end| matches!(end, End::TimeOut | End::Stall));
        prop_assert_eq!(rate.permille(), if is_refused { 500 } else if is_hung { 800 } else { 1_000 });
    }

    /// Against the same rules in other words, without numbers of calls: each call knows how many decreases and how many
    /// changes came before it.
    #[test]
    fn the_rules_in_other_words(ops in vec((0..9u8, any::<usize>(), end()), 1..400)) {
        let rate = rate();
        let mut model = Model::new();
        let mut calls: Vec<(Sent, Tag)> = Vec::new();
        for (op, index, end) in ops {
            if op < 3 || calls.is_empty() {
                calls.push((send(&rate), model.tag()));
            } else if op < 6 {
                let (call, tag) = calls.swap_remove(index % calls.len());
                let end = if let End::RefusalFor(_) = end { End::Refusal } else { end };
                finish(call, end);
                model.end(tag, end, &mut calls);
            } else {
                for _ in 0..=index % 12 {
                    let tag = model.tag();
                    send(&rate).succeeded();
                    model.end(tag, End::Success, &mut calls);
                }
            }
            prop_assert_eq!((rate.permille(), rate.ceiling_permille()), (model.rate, model.ceiling));
        }
    }
}

/// What came before a call was sent.
#[derive(Clone, Copy)]
struct Tag {
    decreases: u32,
    changes: u32,
}

struct Model {
    rate: u32,
    now: Tag,
    run: Vec<()>,
    has_stood: bool,
    ceiling: Option<u32>,
    /// The rate at the last event, and what has been made of it, unless that has been borne out.
    event: Option<(u32, u32)>,
}

impl Model {
    fn new() -> Self {
        let now = Tag { decreases: 0, changes: 0 };
        Self { rate: 1_000, now, run: Vec::new(), has_stood: false, ceiling: None, event: None }
    }

    fn tag(&self) -> Tag {
        self.now
    }

    fn end(&mut self, tag: Tag, end: End, out: &mut [(Sent, Tag)]) {
        match end {
            End::Nothing => {}
            End::Success => self.success(tag),
            End::Refusal | End::RefusalFor(_) => self.sign(tag, 500, out),
            End::TimeOut | End::Stall => self.sign(tag, 800, out),
        }
    }

    fn success(&mut self, tag: Tag) {
        if tag.changes < self.now.changes {
            return;
        }
        self.run.push(());
        if self.run.len() >= 10 {
            (self.has_stood, self.event) = (true, None);
        }
        let distance = self.ceiling.map(|ceiling| (i64::from(ceiling) - i64::from(self.rate)).abs());
        let needed = if distance.is_some_and(|distance| distance <= 20) { 31 } else { 11 };
        if self.run.len() >= needed && self.rate < 1_000 {
            let step = distance.map_or(100, |distance| (distance / 2).clamp(10, 100));
            self.change((self.rate + step as u32).min(1_000));
        }
    }

    fn sign(&mut self, tag: Tag, factor: u32, out: &mut [(Sent, Tag)]) {
        if tag.decreases == self.now.decreases {
            self.ceiling = if self.has_stood { Some(self.rate) } else { self.ceiling };
            self.event = Some((self.rate, factor));
            self.has_stood = false;
            self.now.decreases += 1;
            self.change((self.rate * factor / 1_000).max(100));
        } else if tag.decreases + 1 == self.now.decreases
            && let Some((rate, made)) = self.event
            && factor < made
        {
            self.event = Some((rate, factor));
            self.has_stood = false;
            self.change((rate * factor / 1_000).max(100));
            // What was sent since is of this event, too.
            for (_, tag) in out {
                tag.decreases = tag.decreases.min(self.now.decreases - 1);
            }
        }
    }

    fn change(&mut self, rate: u32) {
        self.rate = rate;
        self.now.changes += 1;
        self.run.clear();
    }
}

/// The model's capacity is no limit.
#[test]
fn the_base_is_wide() {
    assert!(BASE.capacity() >= 400 * 12 + 400);
}
