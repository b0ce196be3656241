//! The table: no key keeps two words, and a word is never freed while it limits.
//!
//! One set of eight words, keys that are their own hash: the low twenty bits are the tag, and the tag modulo eight is the
//! place at which the search begins. A token takes 100 ns and buckets hold one, so a key may be admitted once in a model.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::keyed::Overflow;
use tollgate::{Manual, Quota};
use tollgate_loom_tests::{Itself, at, explore, leak, race2, race3};

type Table = tollgate::keyed::Table<&'static Manual, Itself>;

/// The key of the models, and another that is looked for from the same place on.
const KEY: u64 = 8;
const NEIGHBOUR: u64 = 16;

fn table(now: u64) -> (&'static Table, &'static Manual) {
    let quota = Quota::with_burst(1, Duration::from_nanos(100), 1).expect("a valid quota");
    let clock = leak(Manual::starting_at(at(now)));
    let builder = tollgate::keyed::Table::builder(quota, 8).clock(clock);
    let builder = builder.hasher(Itself::default()).overflow(Overflow::Refuse);
    (leak(builder.build().expect("a valid table")), clock)
}

fn exactly_one() -> BTreeSet<(bool, bool)> {
    BTreeSet::from([(true, false), (false, true)])
}

/// Both find no word and the same vacant place.
#[test]
fn inserted_twice_in_one_place() {
    let outcomes = explore("table_insert_twice", || {
        let (table, _) = table(0);
        let ask = move || table.try_acquire(&KEY).is_ok();
        race2(ask, ask)
    });
    assert_eq!(outcomes, exactly_one());
}

/// A neighbour's word passes between their looks, so that they choose different places.
#[test]
fn inserted_twice_in_two_places() {
    let outcomes = explore("table_insert_in_two_places", || {
        let (table, clock) = table(0);
        assert!(table.try_acquire(&NEIGHBOUR).is_ok());
        clock.set(at(99));
        let early = move || table.try_acquire(&KEY).is_ok();
        let late = move || {
            clock.set(at(100));
            table.try_acquire(&KEY).is_ok()
        };
        race2(early, late)
    });
    assert_eq!(outcomes, exactly_one());
}

/// A sweep strikes out claims; the key is inserted all the same, and once.
#[test]
fn inserted_twice_beside_a_sweep() {
    let outcomes = explore("table_insert_beside_a_sweep", || {
        let (table, _) = table(0);
        let ask = move || table.try_acquire(&KEY).is_ok();
        let (first, second, _) = race3(ask, ask, move || table.sweep());
        (first, second)
    });
    assert_eq!(outcomes, exactly_one());
}

/// Its word has passed when another key takes its place: it starts anew, with a reading that is no older than the other's.
#[test]
fn a_word_is_taken_over_beside_its_key() {
    let outcomes = explore("table_take_over", || {
        let (table, clock) = table(0);
        assert!(table.try_acquire(&KEY).is_ok());
        clock.set(at(100));
        let ask = move |key: u64| move || table.try_acquire(&key).is_ok();
        let ((mine, other), again) = (race2(ask(KEY), ask(NEIGHBOUR)), table.try_acquire(&KEY).is_ok());
        (mine, other, again)
    });
    assert_eq!(outcomes, BTreeSet::from([(true, true, false)]));
}
