//! What was admitted against what `B + r*t` allows.

use tollgate::Quota;
use tollgate_bench::scenario::{Account, bound};

/// The sums over intervals, each of which began with a fresh limiter and ended with its last answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tokens asked for.
    pub(crate) offered: u64,
    /// Tokens admitted.
    pub(crate) admitted: u64,
    /// `B + r*t`, rounded down in each interval.
    pub(crate) bound: u64,
    /// Tokens that were issued meanwhile: `r*t`.
    pub(crate) issued: u64,
    /// Intervals in which more was admitted than `B + r*t` and the step in which the limiter refills.
    pub(crate) violations: u64,
}

impl Tally {
    /// One interval. `slack` is what the limiter may admit on top by its own design.
    pub(crate) fn of(quota: Quota, slack: u64, account: Account) -> Self {
        let Account { offered, admitted, elapsed_nanos } = account;
        let bound = bound(quota, elapsed_nanos);
        let violations = u64::from(admitted > bound.saturating_add(slack));
        Self { offered, admitted, bound, issued: bound - quota.capacity(), violations }
    }

    /// How many tokens the bound would still have allowed.
    pub(crate) fn unused(&self) -> u64 {
        self.bound.saturating_sub(self.admitted)
    }

    /// How many times the rate was asked for; nothing where no token was issued.
    pub(crate) fn load(&self) -> Option<f64> {
        (self.issued > 0).then(|| self.offered as f64 / self.issued as f64)
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        let Self { offered, admitted, bound, issued, violations } = more;
        self.offered = self.offered.saturating_add(offered);
        self.admitted = self.admitted.saturating_add(admitted);
        self.bound = self.bound.saturating_add(bound);
        self.issued = self.issued.saturating_add(issued);
        self.violations += violations;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Two a second, three at once, over four seconds: eleven.
    fn judged(admitted: u64, slack: u64) -> Tally {
        let quota = Quota::with_burst(2, Duration::from_secs(1), 3).unwrap();
        Tally::of(quota, slack, Account { offered: 100, admitted, elapsed_nanos: 4_000_000_000 })
    }

    #[test]
    fn one_token_too_many_is_a_violation() {
        let kept = judged(11, 0);
        assert_eq!((kept.bound, kept.issued, kept.unused(), kept.violations), (11, 8, 0, 0));
        let broken = judged(12, 0);
        assert_eq!((broken.unused(), broken.violations), (0, 1));
        assert_eq!(judged(12, 1).violations, 0, "a stated slack is no violation");
        assert_eq!(judged(13, 1).violations, 1);
    }

    #[test]
    fn intervals_do_not_make_up_for_one_another() {
        let mut tally = judged(0, 0);
        let quota = Quota::with_burst(2, Duration::from_secs(1), 3).unwrap();
        tally += Tally::of(quota, 0, Account { offered: 4, admitted: 4, elapsed_nanos: 0 });
        assert_eq!((tally.admitted, tally.bound, tally.violations), (4, 14, 1));
    }

    #[test]
    fn load_is_told_where_there_is_a_rate() {
        assert_eq!(judged(1, 0).load(), Some(12.5));
        assert_eq!(Tally::default().load(), None);
    }
}
