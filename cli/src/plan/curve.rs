//! The least capacity for each rate, and the knee of that curve.
//!
//! More rate needs less capacity, at first much less. The knee is the point of the curve that lies farthest below the
//! straight line between its ends, with both axes scaled to 0..1 (Satopää et al., "Finding a 'kneedle' in a haystack",
//! ICDCSW 2011): beyond it a little less capacity costs a lot of rate.

use std::time::Duration;

use rayon::prelude::*;

use super::load::Load;
use super::rate::Rate;
use super::search;

/// The most steps from the first rate to the last.
const STEPS: usize = 24;

/// A rate, and the least capacities for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) rate: Rate,
    pub(super) for_all: u64,
    pub(super) for_target: u64,
}

/// Points at rates from `first` to `last`, in tokens each period of the first.
pub(super) fn points(load: &Load, first: Rate, last: u64, wanted: u64) -> Vec<Point> {
    let point = |tokens: &u64| {
        let rate = first.with(*tokens);
        let for_all = search::capacity(load, rate, Duration::ZERO, load.len())?;
        let for_target =
            if wanted < load.len() { search::capacity(load, rate, Duration::ZERO, wanted)? } else { for_all };
        Some(Point { rate, for_all, for_target })
    };
    steps(first.tokens, last).par_iter().filter_map(point).collect()
}

/// The index of the knee of the capacities for the target.
pub(super) fn knee(points: &[Point]) -> Option<usize> {
    let rates = points.iter().map(|point| point.rate.tokens);
    let capacities = points.iter().map(|point| point.for_target);
    let (slowest, fastest) = (rates.clone().min()?, rates.max()?);
    let (least, most) = (capacities.clone().min()?, capacities.max()?);
    // The sum of the scaled coordinates, times both scales: in integers, so that no rounding decides.
    let height = |point: &Point| {
        let (x, y) = (point.rate.tokens - slowest, point.for_target - least);
        u128::from(x) * u128::from(most - least) + u128::from(y) * u128::from(fastest - slowest)
    };
    (0..points.len()).min_by_key(|&index| height(&points[index]))
}

/// Rates by equal ratios, each rounded up to three digits, which a quota is more likely to have.
fn steps(first: u64, last: u64) -> Vec<u64> {
    let by = |(num, den): (u64, u64)| {
        let next = move |&tokens: &u64| {
            let next = (u128::from(tokens) * u128::from(num)).div_ceil(den.into());
            (tokens < last).then(|| round_up(u64::try_from(next).unwrap_or(u64::MAX)).min(last.max(first)))
        };
        std::iter::successors(Some(round_up(first)), next).take(STEPS + 1).collect::<Vec<_>>()
    };
    let ratios = [(17, 16), (9, 8), (5, 4), (3, 2), (2, 1)];
    let mut all = ratios.into_iter().map(by);
    let reaches = |steps: &Vec<u64>| steps.last().is_some_and(|reached| *reached >= last);
    all.find(reaches).unwrap_or_else(|| by((4, 1)))
}

/// A number rounded up to three digits.
pub(super) fn round_up(number: u64) -> u64 {
    let scale = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(2));
    number.div_ceil(scale).saturating_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_reach_from_the_first_to_the_last() {
        assert_eq!(steps(100, 100), [100]);
        assert_eq!(steps(500, 3), [500]);
        for (first, last) in [(1, 2), (1, 1_000), (1_234, 98_765), (7, u64::MAX), (1, u64::MAX)] {
            let steps = steps(first, last);
            assert!(steps.len() <= STEPS + 1 && steps.is_sorted_by(|a, b| a < b), "{steps:?}");
            assert!(steps[0] >= first && steps.last() <= Some(&last), "{steps:?}");
        }
        assert_eq!(steps(1_234, 98_765).last(), Some(&98_765));
    }

    #[test]
    fn numbers_are_rounded_up_to_three_digits() {
        assert_eq!([0, 7, 999, 1_000, 1_001, 123_456].map(round_up), [0, 7, 999, 1_000, 1_010, 124_000]);
        assert_eq!(round_up(u64::MAX), u64::MAX);
    }

    /// Ends (10, 100) and (20, 0). Scaled: (2/10, 20/100) has the sum 0.4, (5/10, 15/100) 0.65.
    #[test]
    fn the_knee_lies_farthest_below_the_line_between_the_ends() {
        let point = |tokens, capacity| Point {
            rate: Rate { tokens, period: Duration::from_secs(1) },
            for_all: 0,
            for_target: capacity,
        };
        assert_eq!(knee(&[point(10, 100), point(12, 20), point(15, 15), point(20, 0)]), Some(1));
        assert_eq!(
            knee(&[point(10, 100), point(20, 0)]),
            Some(0),
            "the smaller rate of two that are as good"
        );
        assert_eq!(knee(&[point(10, 5), point(20, 5)]), Some(0));
        assert_eq!(knee(&[]), None);
        assert_eq!(
            knee(&[point(1, u64::MAX), point(u64::MAX, 1), point(u64::MAX, 2)]),
            Some(0),
            "no overflow"
        );
    }
}
