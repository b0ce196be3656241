//! What was admitted within the last period: the exact log, which tells how far every form is from it.

use std::collections::VecDeque;
use std::time::Duration;

use tollgate::Nanos;

/// The admissions of the last period; as many entries as that has different times.
#[derive(Debug)]
pub(crate) struct InPeriod {
    /// In nanoseconds.
    length: u64,
    admitted: VecDeque<(u64, u128)>,
    held: u128,
    most: u128,
}

impl InPeriod {
    pub(super) fn new(period: Duration) -> Self {
        let length = Nanos::from_duration(period).as_u64();
        Self { length, admitted: VecDeque::new(), held: 0, most: 0 }
    }

    /// An admission at `now`; times must not step back.
    pub(super) fn admitted(&mut self, now: Nanos, cost: u64) {
        self.held_at(now);
        let (now, cost) = (now.as_u64(), u128::from(cost));
        match self.admitted.back_mut() {
            Some((at, sum)) if *at == now => *sum += cost,
            _ => self.admitted.push_back((now, cost)),
        }
        self.held += cost;
        self.most = self.most.max(self.held);
    }

    /// The cost admitted in the period that ends at `now`.
    pub(super) fn held_at(&mut self, now: Nanos) -> u64 {
        let now = now.as_u64();
        while let Some((_, cost)) =
            self.admitted.front().filter(|(at, _)| now.saturating_sub(*at) >= self.length)
        {
            self.held -= cost;
            self.admitted.pop_front();
        }
        u64::try_from(self.held).unwrap_or(u64::MAX)
    }

    /// The most in any interval as long as the period.
    pub(crate) fn most(&self) -> u128 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_that_of_any_interval() {
        let mut period = InPeriod::new(Duration::from_nanos(10));
        for (now, cost) in [(0, 3), (9, 4), (9, 1), (10, 2), (18, 1), (50, 6)] {
            period.admitted(Nanos::new(now), cost);
        }
        assert_eq!((period.held_at(Nanos::new(59)), period.most()), (6, 8), "from 9 to 18, or 0 to 9");
        assert_eq!(period.held_at(Nanos::new(60)), 0);
    }
}
