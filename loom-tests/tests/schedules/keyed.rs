//! Limits by key beside sweeps, take-overs and a moving clock: no key ever gets more than its own bound.

use std::time::Duration;

use tollgate::adjust::Held;
use tollgate::keyed::{Keyed, Overflow, Table};
use tollgate::{Clock, Manual, Quota};
use tollgate_loom_tests::{Admission, Itself, any_below, at, each, leak, sample, within};

const PERIOD: u64 = 10;
const CAPACITY: u64 = 2;

/// Two with the same home in a table, and one beside them.
const KEYS: [u64; 3] = [8, 16, 9];

fn quota() -> Quota {
    Quota::with_burst(1, Duration::from_nanos(PERIOD), CAPACITY).expect("a valid quota")
}

/// Five threads ask for three keys, one moves the clock and one sweeps. The reading that a call takes lies between the
/// two that its thread takes around it.
fn every_key_keeps_its_bound(
    clock: &'static Manual,
    ask: impl Fn(u64) -> bool + Copy + Send + 'static,
    sweep: impl Fn() + Copy + Send + 'static,
) {
    let admitted = each(7, move |thread| {
        let mut admitted = Vec::new();
        for step in 1..=6 {
            match thread {
                0 => clock.set(at(step * 7)),
                1 => sweep(),
                _ => {
                    let key = any_below(3);
                    let before = clock.now().as_u64();
                    if ask(KEYS[key as usize]) {
                        admitted.push((key, before, clock.now().as_u64()));
                    }
                }
            }
        }
        admitted
    });
    let admitted = admitted.concat();
    for key in 0..3 {
        // Admissions whose reading is not known are left out here, and count below.
        let known = admitted.iter().filter(|&&(of, before, after)| of == key && before == after);
        let known: Vec<_> = known.map(|&(_, at, _)| Admission { at, cost: 1 }).collect();
        assert!(within(PERIOD, CAPACITY, &known), "key {key}: {known:?}");
    }
    // All there ever was, by the latest reading.
    for key in 0..3 {
        let count = admitted.iter().filter(|&&(of, ..)| of == key).count() as u64;
        assert!(count <= CAPACITY + 6 * 7 / PERIOD, "key {key}: {count}");
    }
}

#[test]
fn a_table_of_one_set() {
    sample("keyed_table_of_one_set", 5_000, || {
        let clock = leak(Manual::new());
        let builder = Table::builder(quota(), 8).clock(clock).hasher(Itself::default());
        let table = leak(builder.overflow(Overflow::Refuse).build().expect("a valid table"));
        let sweep = move || {
            table.sweep();
        };
        every_key_keeps_its_bound(clock, move |key| table.try_acquire(&key).is_ok(), sweep);
    });
}

#[test]
fn an_exact_map_with_room_for_two() {
    sample("keyed_exact_with_room_for_two", 5_000, || {
        let clock = leak(Manual::new());
        let builder = Keyed::<u64>::builder(quota()).max_keys(2).clock(clock).hasher(Itself::default());
        let keyed = leak(builder.overflow(Overflow::Refuse).build().expect("a valid limiter"));
        let sweep = move || {
            keyed.sweep();
        };
        every_key_keeps_its_bound(clock, move |key| keyed.try_acquire(&key).is_ok(), sweep);
    });
}

/// Changed there and back to a quota that is slower, so the bound is that of the quicker one.
#[test]
fn an_exact_map_whose_quota_changes() {
    sample("keyed_exact_whose_quota_changes", 2_000, || {
        let clock = leak(Manual::new());
        let builder = Keyed::<u64>::builder(quota()).max_keys(2).clock(clock).hasher(Itself::default());
        let keyed = leak(builder.overflow(Overflow::Refuse).build().expect("a valid limiter"));
        let change_and_sweep = move || {
            let period = Duration::from_nanos(PERIOD * (1 + any_below(3)));
            let slower = Quota::with_burst(1, period, CAPACITY).expect("a valid quota");
            let held = [Held::Tokens, Held::Fraction, Held::Deficit][any_below(3) as usize];
            assert!(keyed.adjust(0, slower, held).is_ok());
            keyed.sweep();
        };
        every_key_keeps_its_bound(clock, move |key| keyed.try_acquire(&key).is_ok(), change_and_sweep);
    });
}
