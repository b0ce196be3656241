//! What is learned and what is charged, beside each other: no value is taken out before it was counted, no part of a
//! micro-unit is charged twice, and no key is given two of a thing.

use std::collections::BTreeSet;
use std::sync::Arc;

use tollgate::budget::{Carry, History, PerKey, Price, Spend, Usage};
use tollgate_loom_tests::{explore, leak, race2, race3};

fn history(values: usize) -> &'static History {
    leak(History::new(values).expect("a valid window"))
}

/// Parts of a micro-unit, in tenths.
fn tenths(tenths: u64) -> Spend {
    let price = Price::new(100_000, 0).expect("a valid price");
    price.spend(&Usage::new(tenths, 0)).expect("told")
}

/// The last value in a window of one is replaced twice, while a third looks on: a sum of values that were recorded, and
/// never without the one that is there.
#[test]
fn a_value_is_counted_before_it_can_be_taken_out() {
    let outcomes = explore("history_replaced_by_two", || {
        let history = history(1);
        history.record(4);
        let (mean, ..) = race3(move || history.mean(), move || history.record(8), move || history.record(16));
        (mean, history.mean())
    });
    let (seen, left): (BTreeSet<_>, BTreeSet<_>) = outcomes.into_iter().unzip();
    assert_eq!(seen, [4, 8, 16, 12, 20, 24, 28].map(Some).into());
    assert_eq!(left, [8, 16].map(Some).into());
}

/// Who is told that there are values finds them in the sum.
#[test]
fn a_value_that_is_told_is_in_the_mean() {
    let outcomes = explore("history_first_values", || {
        let history = history(2);
        let look = move || (history.len(), history.mean());
        let ((len, mean), ..) = race3(look, move || history.record(6), move || history.record(6));
        assert!(mean.is_none_or(|mean| mean >= 6), "{mean:?} of {len}");
        (len > 0, mean.is_some(), history.len(), history.mean())
    });
    let seen = [(false, false), (false, true), (true, true)];
    assert_eq!(outcomes, seen.map(|(told, has_mean)| (told, has_mean, 2, Some(6))).into());
}

#[test]
fn parts_of_a_micro_unit_are_charged_once() {
    let outcomes = explore("carry_two_halves", || {
        let carry = leak(Carry::new());
        race2(move || carry.charge(tenths(5)), move || carry.charge(tenths(5)))
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
    let outcomes = explore("carry_three_parts", || {
        let carry = leak(Carry::new());
        let charge = move || carry.charge(tenths(4));
        race3(charge, charge, charge)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1, 1), (1, 0, 1), (1, 1, 0)]));
}

#[test]
fn one_key_is_given_one() {
    let outcomes = explore("per_key_wanted_by_two", || {
        let keys = leak(PerKey::<u8, Carry>::new(2));
        let (first, second) = race2(move || keys.of(&1), move || keys.of(&1));
        (Arc::ptr_eq(&first, &second), keys.len())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1)]));
}

/// Room for one of two keys: the other is given the common one.
#[test]
fn the_last_room_is_given_once() {
    let outcomes = explore("per_key_two_keys_at_the_cap", || {
        let keys = leak(PerKey::<u8, Carry>::new(1));
        let is_common = move |key: u8| move || Arc::ptr_eq(&keys.of(&key), keys.common());
        (race2(is_common(1), is_common(2)), keys.len())
    });
    assert_eq!(outcomes, BTreeSet::from([((false, true), 1), ((true, false), 1)]));
}
