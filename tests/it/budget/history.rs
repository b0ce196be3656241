//! The last values against a list of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use proptest::prelude::*;
use tollgate::budget::{EstimateError, History, PerKey, Percentile};

fn percentile(percent: u8) -> Percentile {
    Percentile::new(percent).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn nothing_recorded_has_no_figures() {
    let history = History::default();
    assert!(history.is_empty());
    assert_eq!((history.len(), history.mean(), history.percentile(Percentile::P99)), (0, None, None));
    history.record(0);
    assert_eq!((history.len(), history.mean(), history.percentile(Percentile::P99)), (1, Some(0), Some(0)));
}

#[test]
fn windows_and_percentiles_have_ranges() {
    for values in [0, 65_537, usize::MAX] {
        assert_eq!(History::new(values).unwrap_err(), EstimateError::Window { values });
    }
    assert!(History::new(1).is_ok() && History::new(65_536).is_ok());
    for percent in [0, 101, 255] {
        assert_eq!(Percentile::new(percent), Err(EstimateError::Percentile { percent }));
    }
    assert_eq!(
        EstimateError::Window { values: 0 }.to_string(),
        "a history of 0 values: must be from 1 to 65536"
    );
    assert_eq!(percentile(90), Percentile::P90);
}

#[test]
fn what_is_too_large_to_count_is_the_largest() {
    let history = History::default();
    [u64::MAX, 1 << 40, u32::MAX.into()].into_iter().for_each(|value| history.record(value));
    assert_eq!(history.mean(), Some(u32::MAX.into()));
    assert_eq!(history.percentile(percentile(1)), Some(u32::MAX.into()));
}

#[test]
fn a_change_is_followed_within_a_window() {
    let history = History::new(100).unwrap();
    (0..10_000).for_each(|_| history.record(50_000));
    (0..100).for_each(|_| history.record(20));
    assert_eq!(
        (history.len(), history.mean(), history.percentile(percentile(100))),
        (100, Some(20), Some(20))
    );
}

proptest! {
    #[test]
    fn the_mean_is_exact_and_percentiles_are_within_a_sixteenth_above(
        window in 1..=40_usize,
        values in prop::collection::vec(prop_oneof![0..=40_u64, 0..=100_000_u64, 0..=u64::from(u32::MAX)], 1..120),
    ) {
        let history = History::new(window).unwrap();
        let mut kept = VecDeque::new();
        for value in values {
            history.record(value);
            kept.push_back(value);
            if kept.len() > window {
                kept.pop_front();
            }
            prop_assert_eq!(history.len(), kept.len());
            prop_assert_eq!(history.mean(), Some(kept.iter().sum::<u64>().div_ceil(kept.len() as u64)));
        }
        kept.make_contiguous().sort_unstable();
        let mut last = 0;
        for percent in [1, 10, 33, 50, 90, 99, 100] {
            let rank = (kept.len() * usize::from(percent)).div_ceil(100);
            let (exact, told) = (kept[rank - 1], history.percentile(percentile(percent)).unwrap());
            prop_assert!(exact <= told && (told - exact) * 16 <= exact, "{} for {}", told, exact);
            prop_assert!(exact > 31 || told == exact);
            prop_assert!(told >= last);
            last = told;
        }
    }
}

/// Threads fill a small window over and over. Whoever looks on finds figures of values that were recorded; at the end it
/// holds exactly the last ones.
#[test]
fn threads_record_and_nothing_is_lost_or_left_behind() {
    const THREADS: u64 = 4;
    const RECORDS: u64 = 4_000;
    let history = History::new(7).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (1..=THREADS)
            .map(|thread| {
                let history = &history;
                scope.spawn(move || (0..RECORDS).for_each(|_| history.record(thread * 10)))
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Some(mean) = history.mean() {
                    // At most each thread's value is counted beside the one that it replaces.
                    assert!((10..=10 * THREADS * (7 + THREADS)).contains(&mean), "{mean}");
                }
                if let Some(median) = history.percentile(Percentile::MEDIAN) {
                    assert!([10, 20, 30, 41].contains(&median), "{median}");
                }
            }
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(history.len(), 7);
    (0..7).for_each(|_| history.record(3));
    assert_eq!(
        (history.mean(), history.percentile(percentile(100))),
        (Some(3), Some(3)),
        "nothing is left behind"
    );
}

#[test]
fn keys_beyond_the_cap_share_and_take_nothing_from_others() {
    let outputs = PerKey::<String, History>::new(3);
    for key in 0..10 {
        outputs.of(&key.to_string()).record(key);
    }
    assert_eq!((outputs.len(), outputs.max_keys(), outputs.is_empty()), (3, 3, false));
    assert_eq!((outputs.of("1").len(), outputs.of("1").mean()), (1, Some(1)));
    assert_eq!((outputs.of("9").len(), outputs.common().len()), (7, 7));
    assert!(outputs.find("9").is_none());
    assert!(outputs.forget("1") && !outputs.forget("1") && !outputs.forget("9"));
    assert_eq!(
        (outputs.of("9").len(), outputs.common().len()),
        (0, 7),
        "room for one more, which starts anew"
    );
    assert_eq!(PerKey::<u8, History>::new(0).of(&1).len(), 0);
}

#[test]
fn what_was_learned_is_shown() {
    let history = History::new(5).unwrap();
    history.record(7);
    assert_eq!(
        format!("{history:?}"),
        "History { len: 1, window: 5, mean: Some(7), median: Some(7), p90: Some(7) }"
    );
    let outputs = PerKey::<u8, History>::new(2);
    outputs.of(&1).record(7);
    assert_eq!(format!("{outputs:?}"), "PerKey { len: 1, max_keys: 2, .. }");
}
