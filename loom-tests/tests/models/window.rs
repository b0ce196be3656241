//! Limits by windows of 1000 ns: late threads at a window's edge, counts that pass to the next window, wall time.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::window::{Every, Fixed, SlidingCounter, Wall};
use tollgate::{Clock, Manual};
use tollgate_loom_tests::{at, explore, leak, race2, race3, wait};

fn every() -> Every {
    Every::new(Duration::from_nanos(1000)).expect("a valid length")
}

fn fixed(limit: u64) -> &'static Fixed<Every, Manual> {
    leak(Fixed::with_clock(limit, every(), Manual::new()).expect("a valid limit"))
}

fn counter(limit: u64) -> &'static SlidingCounter<Manual> {
    leak(SlidingCounter::with_clock(limit, every(), Manual::new()).expect("a valid limit"))
}

/// One token a window. Whoever is late finds his window over, and the next one's token taken.
#[test]
fn the_last_token_at_an_edge() {
    let outcomes = explore("window_last_token_at_an_edge", || {
        let limit = fixed(1);
        let ask = |now| move || wait(limit.try_acquire_at(at(now)));
        (race2(ask(999), ask(1000)), limit.peek_at(at(1000)).used())
    });
    assert_eq!(outcomes, BTreeSet::from([((None, None), 1), ((Some(1001), None), 1)]));
}

#[test]
fn the_last_token_at_an_edge_wanted_by_three() {
    let outcomes = explore("window_last_token_wanted_by_three", || {
        let limit = fixed(1);
        let ask = |now| move || limit.try_acquire_at(at(now)).is_ok();
        race3(ask(998), ask(999), ask(1000))
    });
    let all = [(true, false, true), (false, true, true), (false, false, true)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// What is given back to a window is nothing to the next, whichever comes first.
#[test]
fn a_refund_at_an_edge() {
    let outcomes = explore("window_refund_at_an_edge", || {
        let limit = fixed(2);
        assert!(limit.try_acquire_n_at(2, at(0)).is_ok());
        let refund = move || limit.refund(2, at(0));
        let ask = |now| move || limit.try_acquire_at(at(now)).is_ok();
        let ((), late, next) = race3(refund, ask(999), ask(1000));
        (late, next, limit.peek_at(at(1000)).used())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, true, 1), (false, true, 1)]));
}

/// A charge with a reading of the window before counts, be it there or in the next.
#[test]
fn a_charge_at_an_edge() {
    let outcomes = explore("window_charge_at_an_edge", || {
        let limit = fixed(2);
        let charge = move || limit.charge_at(1, at(999));
        let ask = move || limit.try_acquire_at(at(1000)).is_ok();
        let ((), next) = race2(charge, ask);
        (next, limit.peek_at(at(1000)).used())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1), (true, 2)]));
}

/// Two weigh one in the middle of the next window, which leaves one; taken, it weighs in the window after.
#[test]
fn the_last_token_beside_a_new_window() {
    let outcomes = explore("window_counter_beside_a_new_window", || {
        let limit = counter(2);
        assert!(limit.try_acquire_n_at(2, at(0)).is_ok());
        let ask = |cost, now| move || wait(limit.try_acquire_n_at(cost, at(now)));
        race3(ask(1, 1500), ask(1, 1500), ask(2, 2000))
    });
    let one = [(None, Some(500), Some(1000)), (Some(500), None, Some(1000))];
    // The new window's first: the others are late, and find two in it, or what they weigh after it.
    let new = (Some(2000), Some(2000), None);
    assert_eq!(outcomes, BTreeSet::from([one[0], one[1], new]));
}

/// Given back, it weighs less, be it before or after the next window has begun.
#[test]
fn a_refund_to_the_window_before() {
    let outcomes = explore("window_counter_refund", || {
        let limit = counter(2);
        assert!(limit.try_acquire_n_at(2, at(0)).is_ok());
        let refund = move || limit.refund(1, at(0));
        let ask = move || limit.try_acquire_at(at(1500)).is_ok();
        let ((), admitted) = race2(refund, ask);
        (admitted, limit.peek_at(at(1000)).used(), limit.peek_at(at(1500)).used())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 2, 2)]));
}

#[test]
fn a_part_is_told_as_it_was_taken() {
    let outcomes = explore("window_counter_part", || {
        let limit = counter(2);
        let part = move || limit.acquire_up_to_at(2, at(0));
        let ask = move || limit.try_acquire_at(at(0)).is_ok();
        (race2(part, ask), limit.peek_at(at(0)).used())
    });
    assert_eq!(outcomes, BTreeSet::from([((2, false), 2), ((1, true), 2)]));
}

/// Set forward by one and back by another: no later reading is below an earlier one.
#[test]
fn wall_time_never_goes_back() {
    let outcomes = explore("window_wall_never_goes_back", || {
        let (system, steady) = (leak(Manual::starting_at(at(100))), leak(Manual::new()));
        let wall = leak(Wall::of(system, steady));
        let set = |reading| {
            move || {
                system.set(at(reading));
                wall.now()
            }
        };
        let (ahead, back) = race2(set(200), set(50));
        let later = wall.now();
        assert!(later >= ahead && later >= back, "{ahead:?} {back:?} {later:?}");
        later.as_u64()
    });
    assert_eq!(outcomes, BTreeSet::from([50, 200]));
}
