//! Estimates of outputs that are not there yet.

use proptest::prelude::*;
use tollgate::budget::{Estimate, Figure, History, OutputEstimator, Percentile, Ratio};

use super::ratio;
use crate::quotas::sized;

fn history(values: impl IntoIterator<Item = u64>) -> History {
    let history = History::default();
    values.into_iter().for_each(|value| history.record(value));
    history
}

#[test]
fn each_strategy_estimates_as_it_says() {
    let outputs = history([100; 20]);
    let (pessimistic, historical, hybrid) = (
        OutputEstimator::pessimistic(1_024),
        OutputEstimator::historical(1_024),
        OutputEstimator::hybrid(1_024),
    );
    for (cap, by_pessimistic, by_historical, by_hybrid) in [
        (Some(4_000), Estimate::Stated(4_000), 130, 130),
        (Some(260), Estimate::Stated(260), 130, 130),
        (Some(259), Estimate::Stated(259), 130, 130),
        (Some(258), Estimate::Stated(258), 130, 129),
        (Some(200), Estimate::Stated(200), 130, 100),
        (Some(101), Estimate::Stated(101), 101, 51),
        (Some(1), Estimate::Stated(1), 1, 1),
        (Some(0), Estimate::Stated(1), 1, 1),
        (None, Estimate::Defaulted(1_024), 130, 130),
    ] {
        assert_eq!(pessimistic.estimate(&outputs, &[cap]), by_pessimistic, "{cap:?}");
        assert_eq!(historical.estimate(&outputs, &[cap]), Estimate::Defaulted(by_historical), "{cap:?}");
        assert_eq!(hybrid.estimate(&outputs, &[cap]), Estimate::Defaulted(by_hybrid), "{cap:?}");
    }
}

#[test]
fn of_conflicting_caps_the_largest_holds() {
    let pessimistic = OutputEstimator::pessimistic(1_024);
    let outputs = History::default();
    let caps = [Some(256), None, Some(1_000), Some(999)];
    assert_eq!(pessimistic.estimate(&outputs, &caps), Estimate::Stated(1_000));
    assert_eq!(OutputEstimator::hybrid(64).estimate_from(Some(10_000), &caps), Estimate::Defaulted(500));
    assert_eq!(pessimistic.estimate(&outputs, &[]), Estimate::Defaulted(1_024));
    assert_eq!(pessimistic.estimate(&outputs, &[None, None]), Estimate::Defaulted(1_024));
}

#[test]
fn a_source_that_fails_falls_back_to_the_stated_figure() {
    let nine = history([5_000; 9]);
    for estimator in [OutputEstimator::historical(700), OutputEstimator::hybrid(700)] {
        assert_eq!(estimator.estimate(&History::default(), &[Some(100_000)]), Estimate::Defaulted(700));
        assert_eq!(estimator.estimate(&nine, &[Some(100_000)]), Estimate::Defaulted(700), "too few to say");
        assert_eq!(
            estimator.estimate_from(None, &[Some(500)]),
            Estimate::Defaulted(500),
            "not above the cap"
        );
        assert_eq!(estimator.estimate_from(None, &[]), Estimate::Defaulted(700));
    }
    let small = History::new(3).unwrap();
    [100, 100].into_iter().for_each(|value| small.record(value));
    assert_eq!(OutputEstimator::hybrid(700).estimate(&small, &[]), Estimate::Defaulted(700));
    small.record(100);
    assert_eq!(
        OutputEstimator::hybrid(700).estimate(&small, &[]),
        Estimate::Defaulted(130),
        "all it can hold"
    );
    nine.record(5_000);
    assert_eq!(OutputEstimator::historical(700).estimate(&nine, &[]), Estimate::Defaulted(6_500));
    assert_eq!(OutputEstimator::hybrid(0).estimate_from(None, &[]), Estimate::Defaulted(1));
}

#[test]
fn figure_margin_and_share_can_be_chosen() {
    let outputs = history(1..=20);
    let hybrid = OutputEstimator::hybrid(1);
    let p90 = hybrid.figure(Figure::Percentile(Percentile::P90));
    assert_eq!(
        hybrid.margin(Ratio::ONE).estimate(&outputs, &[]),
        Estimate::Defaulted(11),
        "10.5, rounded up"
    );
    assert_eq!(p90.margin(Ratio::ONE).estimate(&outputs, &[]), Estimate::Defaulted(18));
    assert_eq!(p90.margin(ratio(1, 4)).estimate(&outputs, &[]), Estimate::Defaulted(5));
    assert_eq!(p90.share(ratio(1, 10)).estimate(&outputs, &[Some(100)]), Estimate::Defaulted(10));
    assert_eq!(
        hybrid.margin(ratio(u32::MAX, 1)).estimate_from(Some(u64::MAX), &[]),
        Estimate::Defaulted(u64::MAX)
    );
}

#[test]
fn a_default_is_clamped_and_a_statement_is_not() {
    assert_eq!(Estimate::Defaulted(1_024).cost(100), 100);
    assert_eq!(Estimate::Defaulted(99).cost(100), 99);
    assert_eq!(Estimate::Stated(1_024).cost(100), 1_024);
    assert_eq!((Estimate::Stated(7).tokens(), Estimate::Defaulted(8).tokens()), (7, 8));
}

fn caps() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::of(sized()), 0..4)
}

proptest! {
    #[test]
    fn an_estimate_stays_within_what_is_known(learned in prop::option::of(sized()), caps in caps(), fallback in sized()) {
        let cap = caps.iter().copied().flatten().max();
        let of = |estimator: OutputEstimator| estimator.estimate_from(learned, &caps).tokens();
        let (pessimistic, historical, hybrid) = (
            of(OutputEstimator::pessimistic(fallback)),
            of(OutputEstimator::historical(fallback)),
            of(OutputEstimator::hybrid(fallback)),
        );
        prop_assert!(1 <= hybrid && hybrid <= historical);
        let most = cap.unwrap_or(u64::MAX).max(1);
        prop_assert!(historical <= most && pessimistic <= most);
        // Exactly the formulas, in 128 bits.
        if let Some(learned) = learned {
            let margin = (u128::from(learned) * 13).div_ceil(10);
            let half = cap.map_or(u128::MAX, |cap| u128::from(cap).div_ceil(2));
            let narrow = |figure: u128| u64::try_from(figure).unwrap_or(u64::MAX).max(1);
            prop_assert_eq!(hybrid, narrow(margin.min(half)));
            prop_assert_eq!(historical, narrow(margin.min(u128::from(most))));
        } else {
            prop_assert_eq!(hybrid, fallback.min(most));
        }
    }

    #[test]
    fn more_history_or_a_higher_cap_never_estimates_less(learned in sized(), cap in sized(), more in sized()) {
        let hybrid = OutputEstimator::hybrid(1_000);
        let of = |learned: u64, cap: u64| hybrid.estimate_from(Some(learned), &[Some(cap)]).tokens();
        let estimate = of(learned, cap);
        prop_assert!(of(learned.saturating_add(more), cap) >= estimate);
        prop_assert!(of(learned, cap.saturating_add(more)) >= estimate);
    }
}
