//! Time, shared out so that the run ends when it should, however busy the machine is.

use std::time::{Duration, Instant};

/// What is left of the time, and of the work in equal units.
pub(crate) struct Budget {
    end: Instant,
    units: u32,
}

impl Budget {
    pub(crate) fn new(total: Duration, units: u32) -> Self {
        Self { end: Instant::now() + total, units }
    }

    /// The share of the next `units` units, which are then no longer left. A stage that overran its share has taken the
    /// time from all that follow.
    pub(crate) fn take(&mut self, units: u32) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        let share = left * units / self.units.max(units);
        self.units = self.units.saturating_sub(units);
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_equal_and_an_overrun_is_paid_by_the_rest() {
        let mut budget = Budget::new(Duration::from_millis(400), 4);
        let near = |share: Duration, millis: u64| {
            assert!(share.as_millis() as u64 <= millis, "{share:?} of {millis} ms")
        };
        near(budget.take(1), 100);
        std::thread::sleep(Duration::from_millis(200));
        near(budget.take(2), 2 * 200 / 3);
        std::thread::sleep(Duration::from_millis(201));
        assert_eq!(budget.take(1), Duration::ZERO);
        assert_eq!(budget.take(1), Duration::ZERO, "nothing is left of either");
    }
}
