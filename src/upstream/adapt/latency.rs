//! Whether calls take much longer than they used to.

use std::time::Duration;

use super::settings::WHOLE;

/// Latencies in a block. Of a hundred values the 99th percentile (nearest rank) is the second largest, so two numbers hold
/// it, exactly.
const BLOCK: u32 = 100;

/// Blocks that tell what is usual.
const PAST: usize = 8;

/// The 99th percentile of the last latencies against what it used to be: the (lower) median over the last eight blocks of
/// a hundred.
///
/// A median, since the tail of one block says little: a single slow spell moves it by one place at most. What stays slow is
/// usual after five blocks, so a model that has become slower for good does not keep the rate down for ever.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    seen: u32,
    largest: u64,
    second: u64,
    past: [u64; PAST],
    blocks: usize,
}

impl Latencies {
    /// Counts one, and tells whether the percentile of the block is at least `growth` thousandths of what is usual. It is as
    /// soon as two of them are so long, for a second largest only grows.
    pub(super) fn have_grown_with(&mut self, latency: Duration, growth: u32) -> bool {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.seen += 1;
        (self.largest, self.second) =
            if nanos > self.largest { (nanos, self.largest) } else { (self.largest, self.second.max(nanos)) };
        let is_grown = self.usual().is_some_and(|usual| {
            u128::from(self.second) * u128::from(WHOLE) >= u128::from(usual.max(1)) * u128::from(growth)
        });
        if is_grown || self.seen == BLOCK {
            self.end_block();
        }
        is_grown
    }

    /// Forgets the block that has begun: the rate has changed, and what is seen from now on is of another.
    pub(super) fn begin_anew(&mut self) {
        (self.seen, self.largest, self.second) = (0, 0, 0);
    }

    fn usual(&self) -> Option<u64> {
        let mut past = self.past;
        let past = past.get_mut(..self.blocks.min(PAST))?;
        past.sort_unstable();
        past.get(past.len().checked_sub(1)? / 2).copied()
    }

    fn end_block(&mut self) {
        if let Some(place) = self.past.get_mut(self.blocks % PAST) {
            *place = self.second;
        }
        // Counted on only as far as it tells the place and that all places are taken.
        self.blocks = if self.blocks + 1 == 2 * PAST { PAST } else { self.blocks + 1 };
        self.begin_anew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn grown(latencies: &mut Latencies, values: impl IntoIterator<Item = u32>) -> Vec<bool> {
        values.into_iter().map(|value| latencies.have_grown_with(MS * value, 2_000)).collect()
    }

    #[test]
    fn a_block_gives_the_nearest_rank_of_99_in_100() {
        let mut latencies = Latencies::default();
        // Every value once, in a scattered order.
        assert!(!grown(&mut latencies, (0..100).map(|index| index * 37 % 100 + 1)).contains(&true));
        assert_eq!(latencies.usual(), Some(99_000_000));
    }

    #[test]
    fn two_slow_ones_double_it_and_one_does_not() {
        let mut latencies = Latencies::default();
        grown(&mut latencies, [10; 100]);
        assert_eq!(grown(&mut latencies, [19, 20, 19, 10, 20]), [false, false, false, false, true]);
        assert_eq!(grown(&mut latencies, [20]), [false], "a new block");
        assert!(!grown(&mut latencies, [10; 98]).contains(&true));
    }

    #[test]
    fn what_stays_is_usual_after_five_blocks() {
        let mut latencies = Latencies::default();
        grown(&mut latencies, [10; 800]);
        let grown = grown(&mut latencies, [30; 1_000]);
        assert_eq!(grown.iter().filter(|&&grown| grown).count(), 5);
        assert_eq!(latencies.usual(), Some(30_000_000));
    }

    #[test]
    fn nothing_is_usual_before_the_first_block() {
        let mut latencies = Latencies::default();
        assert!(!grown(&mut latencies, [1; 50]).contains(&true));
        assert!(!grown(&mut latencies, [1_000; 50]).contains(&true));
        assert!(!latencies.have_grown_with(Duration::MAX, 1_000_000), "one only");
        assert!(latencies.have_grown_with(Duration::MAX, 1_001));
    }
}
