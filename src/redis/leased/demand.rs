//! How large a lease is to be.

/// The size to which a lease is filled, by what was spent of it lately. It doubles when the lease runs low
/// soon after it was filled, and halves after a span in which less than half of it was spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Demand {
    target: u64,
    most: u64,
}

impl Demand {
    /// A quarter at first, for nothing is known yet.
    pub(super) fn new(most: u64) -> Self {
        Self { target: (most / 4).max(1), most }
    }

    /// The size, in tokens.
    pub(super) fn target(&self) -> u64 {
        self.target
    }

    /// The lease is filled when it holds less.
    pub(super) fn low(&self) -> u64 {
        self.target.div_ceil(2)
    }

    /// It ran low soon after it had been filled.
    pub(super) fn grow(&mut self) {
        self.target = self.target.saturating_mul(2).min(self.most);
    }

    /// So much was spent in a span.
    pub(super) fn spent(&mut self, tokens: u64) {
        if tokens < self.target / 2 {
            self.target /= 2;
        }
    }

    /// Nothing is wanted, and the store has little: it holds nothing.
    pub(super) fn rest(&mut self) {
        self.target = 0;
    }

    /// Something is wanted again, or there is enough for all.
    pub(super) fn wake(&mut self) {
        self.target = self.target.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_is_spent_and_stays_in_its_range() {
        let mut demand = Demand::new(100);
        assert_eq!((demand.target(), demand.low()), (25, 13));
        let targets = |demand: &mut Demand, step: fn(&mut Demand)| -> Vec<u64> {
            (0..6)
                .map(|_| {
                    step(demand);
                    demand.target()
                })
                .collect()
        };
        assert_eq!(targets(&mut demand, Demand::grow), [50, 100, 100, 100, 100, 100]);
        assert_eq!(targets(&mut demand, |demand| demand.spent(30)), [50, 50, 50, 50, 50, 50]);
        assert_eq!(targets(&mut demand, |demand| demand.spent(0)), [25, 12, 6, 3, 1, 1]);
        assert_eq!(demand.low(), 1);
        demand.rest();
        demand.grow();
        assert_eq!((demand.target(), demand.low()), (0, 0));
        demand.wake();
        assert_eq!((demand.target(), Demand::new(1).target()), (1, 1));
    }
}
