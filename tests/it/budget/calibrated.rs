//! Correction of estimates by what they turned out to be.

use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use tollgate::budget::{Calibrated, Percentile, Ratio};

use super::ratio;
use crate::quotas::sized;

const KEY: &str = "client/model";

fn learned(samples: impl IntoIterator<Item = (u64, u64)>) -> Calibrated<String> {
    let calibrated = Calibrated::new(10);
    samples.into_iter().for_each(|(estimated, actual)| calibrated.observe(KEY, estimated, actual));
    calibrated
}

#[test]
fn nothing_is_corrected_before_five_are_known() {
    let calibrated = learned([(100, 300); 4]);
    assert_eq!((calibrated.ratio(KEY), calibrated.estimate(KEY, 100)), (None, 100));
    calibrated.observe(KEY, 100, 300);
    assert_eq!((calibrated.ratio(KEY), calibrated.estimate(KEY, 100)), (Some(ratio(3, 1)), 300));
    assert_eq!(calibrated.estimate("unheard of", 100), 300, "by what was seen of all keys");
    assert_eq!(calibrated.len(), 1, "asking makes no key");
}

#[test]
fn keys_are_corrected_each_by_its_own() {
    let calibrated = Calibrated::<(u8, &str)>::new(2);
    for _ in 0..8 {
        calibrated.observe(&(1, "a"), 100, 125);
        calibrated.observe(&(2, "a"), 100, 50);
        calibrated.observe(&(3, "b"), 100, 400);
        calibrated.observe(&(4, "b"), 100, 400);
    }
    assert_eq!(calibrated.estimate(&(1, "a"), 1_000), 1_250);
    assert_eq!(calibrated.estimate(&(2, "a"), 1_000), 500);
    assert_eq!(calibrated.estimate(&(3, "b"), 1_000), 4_000, "shared with the next");
    assert_eq!(calibrated.estimate(&(9, "c"), 1_000), 4_000);
    assert_eq!(calibrated.len(), 2);
    assert!(calibrated.forget(&(2, "a")) && !calibrated.forget(&(3, "b")));
    assert_eq!(calibrated.len(), 1);
}

#[test]
fn a_change_is_followed_after_half_a_window() {
    let calibrated = learned([(100, 200); 32]);
    for half in 1..=16 {
        assert_eq!(calibrated.estimate(KEY, 10), 20, "after {} of the new kind", half - 1);
        calibrated.observe(KEY, 100, 50);
    }
    assert_eq!(calibrated.estimate(KEY, 10), 5);
}

#[test]
fn extremes_stay_within_their_bounds() {
    assert_eq!(learned([(1, u64::MAX); 5]).ratio(KEY), Some(ratio(64, 1)));
    assert_eq!(learned([(u64::MAX, 0); 5]).ratio(KEY), Some(ratio(1, 64)));
    assert_eq!(learned([(0, 100); 50]).ratio(KEY), None, "an estimate of zero has no ratio");
    assert!(learned([(0, 100); 50]).is_empty(), "and makes no key");
    let largest = learned([(1, u64::MAX); 5]);
    assert_eq!((largest.estimate(KEY, u64::MAX), largest.estimate(KEY, 0)), (u64::MAX, 0));
    assert_eq!(learned([(u64::MAX, 0); 5]).estimate(KEY, 1), 1, "rounded up");
    assert_eq!(learned([(3, 1); 5]).ratio(KEY), Some(Ratio::new(333_334, 1_000_000).unwrap()));
}

#[test]
fn a_high_percentile_errs_on_the_safe_side() {
    let calibrated = Calibrated::<String>::new(1).percentile(Percentile::P90);
    for actual in 101..=110 {
        calibrated.observe(KEY, 100, actual);
    }
    assert_eq!(calibrated.estimate(KEY, 100), 109, "nine of ten were no larger");
}

proptest! {
    /// Whatever the outliers are and wherever they stand.
    #[test]
    fn less_than_half_of_outliers_leave_the_ratio_among_the_honest_ones(
        honest in prop::collection::vec(800..=1_200_u64, 17..=32),
        outliers in prop::collection::vec(sized(), 0..=15),
        seed in any::<u64>(),
    ) {
        let (lowest, highest) = (*honest.iter().min().unwrap(), *honest.iter().max().unwrap());
        let outliers = outliers.into_iter().take(32 - honest.len());
        let mut actuals: Vec<_> = honest.into_iter().chain(outliers).collect();
        let turn = seed as usize % actuals.len();
        actuals.rotate_left(turn);
        let calibrated = learned(actuals.into_iter().map(|actual| (1_000, actual)));
        let estimate = calibrated.estimate(KEY, 1_000);
        prop_assert!((lowest..=highest).contains(&estimate), "{} of {} to {}", estimate, lowest, highest);
    }

    #[test]
    fn the_correction_is_monotonic_and_within_its_bounds(
        samples in prop::collection::vec((1..=u64::MAX, sized()), 5..40),
        (estimated, more) in (sized(), sized()),
    ) {
        let calibrated = learned(samples);
        let corrected = calibrated.estimate(KEY, estimated);
        prop_assert!(corrected > 0);
        prop_assert!(u128::from(corrected) <= u128::from(estimated) * 64);
        prop_assert!(u128::from(corrected) * 64 >= u128::from(estimated));
        prop_assert!(calibrated.estimate(KEY, estimated.saturating_add(more)) >= corrected);
    }

    /// The nearest rank of the last 32 ratios, in 128 bits.
    #[test]
    fn the_ratio_is_that_of_the_last_32(
        samples in prop::collection::vec((1..=5_000_u64, 0..=50_000_u64), 5..80),
        percent in 1..=100_u8,
    ) {
        let percentile = Percentile::new(percent).unwrap();
        let calibrated = Calibrated::<String>::new(1).percentile(percentile);
        samples.iter().for_each(|(estimated, actual)| calibrated.observe(KEY, *estimated, *actual));
        let last = samples.len().min(32);
        let mut ratios: Vec<_> = samples[samples.len() - last..]
            .iter()
            .map(|(estimated, actual)| (actual * 1_000_000).div_ceil(*estimated).clamp(15_625, 64_000_000))
            .collect();
        ratios.sort_unstable();
        let expected = ratios[(last * usize::from(percent)).div_ceil(100) - 1];
        prop_assert_eq!(calibrated.ratio(KEY), Ratio::new(u32::try_from(expected).unwrap(), 1_000_000).ok());
    }
}

/// Each thread has a key of its own and one that all share; no key takes a sample of another's.
#[test]
fn threads_learn_at_once() {
    const THREADS: u64 = 4;
    let calibrated = Arc::new(Calibrated::<u64>::new(THREADS as usize + 1));
    thread::scope(|scope| {
        for thread in 1..=THREADS {
            let calibrated = Arc::clone(&calibrated);
            scope.spawn(move || {
                for round in 0..500 {
                    calibrated.observe(&thread, 100, 100 * thread);
                    calibrated.observe(&0, 100, 100 * thread);
                    let own = calibrated.estimate(&thread, 100);
                    assert!(
                        own == 100 * thread || (round < 5 && (100..=100 * THREADS).contains(&own)),
                        "{own}"
                    );
                    let shared = calibrated.estimate(&0, 100);
                    assert!(
                        shared.is_multiple_of(100) && (100..=100 * THREADS).contains(&shared),
                        "{shared}"
                    );
                }
            });
        }
    });
    assert_eq!(calibrated.len(), THREADS as usize + 1);
    (1..=THREADS).for_each(|thread| assert_eq!(calibrated.estimate(&thread, 100), 100 * thread));
}
