//! How fast calls may flow over to an upstream: at most twice as many in a step as in the step before. Pure.

use super::gate::Rules;

/// The calls of this step and of the one before.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flow {
    step: u64,
    now: u64,
    before: u64,
}

impl Flow {
    /// Whether one more call may flow over; or else the reading at which a step begins in which one may.
    pub(super) fn ask(mut self, now: u64, rules: &Rules) -> Result<(), u64> {
        self.advance(now, rules);
        let most = self.before.saturating_mul(2).max(rules.calls);
        if self.now < most { Ok(()) } else { Err(self.step.saturating_add(1).saturating_mul(rules.step)) }
    }

    /// One more call passes, whether it flows over or not.
    pub(super) fn pass(&mut self, now: u64, rules: &Rules) {
        self.advance(now, rules);
        self.now = self.now.saturating_add(1);
    }

    fn advance(&mut self, now: u64, rules: &Rules) {
        let step = now.checked_div(rules.step).unwrap_or_default();
        if step > self.step {
            let follows = step == self.step.saturating_add(1);
            *self = Self { step, now: 0, before: if follows { self.now } else { 0 } };
        }
    }
}
