//! What a picture needs of a replay, in constant memory: bins that grow coarser as the trace grows longer.

use tollgate::Nanos;

/// The most bins of a series: about one a pixel.
const MOST: usize = 1024;

const SECOND: u64 = 1_000_000_000;

/// Takes a neighbour's content in, so that two bins become one.
pub(crate) trait Merge: Clone + Default {
    fn merge(&mut self, later: &Self);
}

/// Consecutive bins of equal width from time zero.
#[derive(Clone, Debug)]
pub(crate) struct Bins<T> {
    width: u64,
    bins: Vec<T>,
}

impl<T: Merge> Bins<T> {
    /// Empty bins of `width` nanoseconds.
    fn new(width: u64) -> Self {
        Self { width, bins: Vec::new() }
    }

    /// The width of a bin in nanoseconds.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The bins up to the last that holds something.
    pub(crate) fn bins(&self) -> &[T] {
        &self.bins
    }

    /// The bin of a time.
    fn at(&mut self, nanos: u64) -> &mut T {
        while nanos / self.width >= MOST as u64 {
            self.coarsen();
        }
        let index = (nanos / self.width) as usize;
        if self.bins.len() <= index {
            self.bins.resize(index + 1, T::default());
        }
        &mut self.bins[index]
    }

    fn coarsen(&mut self) {
        self.width *= 2;
        self.bins = self
            .bins
            .chunks(2)
            .map(|pair| {
                let mut both = pair[0].clone();
                pair[1..].iter().for_each(|later| both.merge(later));
                both
            })
            .collect();
    }
}

/// Cost within a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) offered: u128,
    pub(crate) admitted: u128,
}

impl Merge for Flow {
    fn merge(&mut self, later: &Self) {
        self.offered += later.offered;
        self.admitted += later.admitted;
    }
}

/// The lowest and the highest number of tokens in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl Default for Range {
    fn default() -> Self {
        Self { low: u64::MAX, high: 0 }
    }
}

impl Merge for Range {
    fn merge(&mut self, later: &Self) {
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
    }
}

/// The course of one limit over time.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    flow: Bins<Flow>,
    level: Bins<Range>,
    sampled: u64,
}

impl Course {
    pub(crate) fn new() -> Self {
        Self { flow: Bins::new(SECOND), level: Bins::new(SECOND >> 10), sampled: 0 }
    }

    /// Cost offered and admitted, in bins of a second or more.
    pub(crate) fn flow(&self) -> &Bins<Flow> {
        &self.flow
    }

    /// Tokens in the bucket, or admitted within the last period, in bins as fine as fit.
    pub(crate) fn level(&self) -> &Bins<Range> {
        &self.level
    }

    /// Looks at the level just before a request at `now`, and at each end of a bin since the last look, for it changes
    /// between requests too.
    pub(crate) fn before(&mut self, mut level_at: impl FnMut(Nanos) -> u64, now: Nanos) {
        let now = now.as_u64();
        self.level.at(now);
        let width = self.level.width();
        let mut edge = (self.sampled / width + 1) * width;
        while edge <= now {
            let tokens = level_at(Nanos::new(edge));
            self.look(edge - 1, tokens);
            self.look(edge, tokens);
            edge += width;
        }
        self.look(now, level_at(Nanos::new(now)));
        self.sampled = now;
    }

    /// The request of `cost` at `now` was decided and left so many tokens.
    pub(crate) fn after(&mut self, now: Nanos, cost: u64, admitted: bool, left: u64) {
        self.look(now.as_u64(), left);
        let cost = u128::from(cost);
        let admitted = if admitted { cost } else { 0 };
        self.flow.at(now.as_u64()).merge(&Flow { offered: cost, admitted });
    }

    fn look(&mut self, nanos: u64, tokens: u64) {
        self.level.at(nanos).merge(&Range { low: tokens, high: tokens });
    }
}

#[cfg(test)]
mod tests {
    use tollgate::{Bucket, Manual};

    use super::*;

    #[test]
    fn bins_are_bounded_and_keep_their_sums() {
        let mut bins = Bins::<Flow>::new(10);
        for at in (0..1_000_000).step_by(7) {
            bins.at(at).merge(&Flow { offered: 3, admitted: 1 });
        }
        assert!(bins.bins().len() <= MOST && bins.bins().len() > MOST / 2);
        assert_eq!(bins.width(), 10 * 128);
        let total = bins.bins().iter().fold(Flow::default(), |mut sum, bin| {
            sum.merge(bin);
            sum
        });
        assert_eq!(total, Flow { offered: 3 * 142_858, admitted: 142_858 });
        assert_eq!(bins.bins()[0].admitted, 183, "1280 ns in steps of 7");
    }

    #[test]
    fn a_far_time_is_reached_at_once() {
        let mut bins = Bins::<Range>::new(1);
        bins.at(0).merge(&Range { low: 5, high: 5 });
        bins.at(u64::MAX).merge(&Range { low: 2, high: 9 });
        assert_eq!(bins.bins().len(), MOST);
        assert_eq!(bins.bins()[0], Range { low: 5, high: 5 });
        assert_eq!(bins.bins()[MOST - 1], Range { low: 2, high: 9 });
        assert_eq!(bins.bins()[1], Range::default());
    }

    #[test]
    fn the_level_is_seen_rising_between_requests() {
        let bucket = Bucket::with_clock("10/s burst 10".parse().unwrap(), Manual::new());
        let mut course = Course::new();
        for (at, cost) in [(0, 10), (2 * SECOND, 4)] {
            course.before(|now| bucket.peek_at(now).available(), Nanos::new(at));
            let admitted = bucket.try_acquire_n_at(cost, Nanos::new(at)).is_ok();
            course.after(Nanos::new(at), cost, admitted, bucket.peek_at(Nanos::new(at)).available());
        }
        let level = course.level();
        assert_eq!(level.width(), (SECOND >> 10) * 4);
        let at = |nanos: u64| level.bins()[(nanos / level.width()) as usize];
        assert_eq!(at(0), Range { low: 0, high: 10 });
        assert_eq!(at(SECOND / 2).low, 4);
        assert_eq!(at(SECOND * 3 / 2), Range { low: 10, high: 10 });
        assert_eq!(at(2 * SECOND), Range { low: 6, high: 10 });
        assert_eq!(course.flow().bins()[2], Flow { offered: 4, admitted: 4 });
    }
}
