//! All that stands before one upstream: a gate for all calls, gates for dimensions, and the flow.

use smallvec::SmallVec;

use super::flow::Flow;
use super::gate::{Barred, Gate, Rules, Word};
use super::verdict::Verdict;
use crate::upstream::{Cost, Dimension};

#[derive(Clone, Debug)]
pub(super) struct Doors {
    whole: Gate,
    /// Those that were ever closed.
    by_dimension: SmallVec<[(Dimension, Gate); 1]>,
    flow: Flow,
    /// The number of the next call.
    next: u64,
}

/// How a call comes to an upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coming {
    /// It is the first one in order.
    First,
    /// One before it cannot take the call.
    Over,
    /// No other can.
    Nowhere,
}

impl Doors {
    pub(super) fn new() -> Self {
        Self { whole: Gate::new(), by_dimension: SmallVec::new(), flow: Flow::default(), next: 0 }
    }

    pub(super) fn whole(&self) -> &Gate {
        &self.whole
    }

    /// Whether a call may pass. Whoever passes says so by [`pass`](Self::pass).
    pub(super) fn ask(&mut self, cost: &Cost, coming: Coming, now: u64, rules: &Rules) -> Result<(), Barred> {
        let mut barred = None;
        for gate in touched(&mut self.whole, &mut self.by_dimension, cost) {
            match gate.ask(now, rules) {
                Err(Barred::Share) if coming == Coming::Nowhere => {}
                Err(other) => barred = barred.max(Some(other)),
                Ok(()) => {}
            }
        }
        if coming != Coming::First
            && let Err(at) = self.flow.ask(now, rules)
        {
            barred = barred.max(Some(Barred::Until(at)));
        }
        barred.map_or(Ok(()), Err)
    }

    /// A call passes. Its number.
    pub(super) fn pass(&mut self, cost: &Cost, now: u64, rules: &Rules) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.flow.pass(now, rules);
        for gate in touched(&mut self.whole, &mut self.by_dimension, cost) {
            gate.pass(number, now, rules);
        }
        number
    }

    /// What became of the call with this number.
    pub(super) fn hear(&mut self, number: u64, cost: &Cost, verdict: &Verdict, now: u64, rules: &Rules) {
        for dimension in verdict.dimensions() {
            if !self.by_dimension.iter().any(|(other, _)| other == dimension) {
                self.by_dimension.push((*dimension, Gate::new()));
            }
        }
        self.whole.hear(number, verdict.of_all(), self.next, now, rules);
        for (dimension, gate) in &mut self.by_dimension {
            let word = if cost.amount(*dimension) > 0 { verdict.of(*dimension) } else { Word::Nothing };
            gate.hear(number, word, self.next, now, rules);
        }
    }
}

/// The gates that a call has to pass.
fn touched<'g>(
    whole: &'g mut Gate,
    by_dimension: &'g mut [(Dimension, Gate)],
    cost: &Cost,
) -> impl Iterator<Item = &'g mut Gate> {
    let needed = by_dimension.iter_mut().filter(|(dimension, _)| cost.amount(*dimension) > 0);
    core::iter::once(whole).chain(needed.map(|(_, gate)| gate))
}
