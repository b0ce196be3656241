//! More callers than tokens, with the clock standing still.

use std::collections::BTreeSet;

use tollgate_loom_tests::{Bucket, at, bucket, bucket_of, explore, missing, race2, race3, wait};

fn ask(bucket: &'static Bucket, cost: u64) -> impl FnOnce() -> bool + Send + 'static {
    move || bucket.try_acquire_n_at(cost, at(0)).is_ok()
}

/// After long idling, too: a full bucket stays at one token.
#[test]
fn wanted_by_two() {
    let outcomes = explore("last_token_wanted_by_two", || {
        let bucket = bucket_of(10, 1);
        let ask = move || wait(bucket.try_acquire_at(at(25)));
        (race2(ask, ask), missing(bucket, 25))
    });
    assert_eq!(outcomes, BTreeSet::from([((None, Some(10)), 10), ((Some(10), None), 10)]));
}

#[test]
fn wanted_by_three() {
    let outcomes = explore("last_token_wanted_by_three", || {
        let bucket = bucket(1);
        race3(ask(bucket, 1), ask(bucket, 1), ask(bucket, 1))
    });
    let one = [(true, false, false), (false, true, false), (false, false, true)];
    assert_eq!(outcomes, BTreeSet::from(one));
}

#[test]
fn two_wanted_by_three() {
    let outcomes = explore("last_two_tokens_wanted_by_three", || {
        let bucket = bucket(2);
        race3(ask(bucket, 1), ask(bucket, 1), ask(bucket, 1))
    });
    let two = [(false, true, true), (true, false, true), (true, true, false)];
    assert_eq!(outcomes, BTreeSet::from(two));
}

/// Three tokens: the cost of two leaves one, and two ones leave one.
#[test]
fn wanted_by_unequal_costs() {
    let outcomes = explore("last_tokens_wanted_by_unequal_costs", || {
        let bucket = bucket(3);
        let taken = race3(ask(bucket, 2), ask(bucket, 2), ask(bucket, 1));
        (taken, missing(bucket, 0))
    });
    let all = [((true, false, true), 3), ((false, true, true), 3)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// The caller that lost asks again, with the reading that its refusal named, and is admitted.
#[test]
fn the_loser_waits_as_told() {
    let outcomes = explore("last_token_loser_waits_as_told", || {
        let bucket = bucket_of(10, 1);
        let ask = move || {
            let told = wait(bucket.try_acquire_at(at(5)));
            told.map(|told| wait(bucket.try_acquire_at(at(5 + told))))
        };
        (race2(ask, ask), missing(bucket, 15))
    });
    assert_eq!(outcomes, BTreeSet::from([((None, Some(None)), 10), ((Some(None), None), 10)]));
}
