//! What the three forms have in common.

use crate::window::Usage;

/// One of the three forms of a limit by windows: [`FixedWindow`](super::FixedWindow),
/// [`WeightedWindows`](super::WeightedWindows) or `WindowLog`. There are no others.
pub trait Algorithm: sealed::Rule {}

impl<R: sealed::Rule> Algorithm for R {}

pub(super) mod sealed {
    use super::Usage;

    /// Readings and costs are plain numbers here; a cost that asks is from 1 to the limit.
    pub trait Rule {
        fn limit(&self) -> u64;

        /// Takes the cost, or tells the reading from which on it would be taken.
        fn admit(&self, cost: u64, now: u64) -> Result<(), u64>;

        /// Takes what is there, at most so much.
        fn take(&self, most: u64, now: u64) -> u64;

        fn charge(&self, cost: u64, now: u64);

        fn refund(&self, cost: u64, taken_at: u64);

        /// The first reading, not before `now`, at which the cost would be admitted; `u64::MAX` if there is none.
        fn ready(&self, cost: u64, now: u64) -> u64;

        fn usage(&self, now: u64) -> Usage;

        fn pause(&self, until: u64);

        fn resume(&self);
    }
}
