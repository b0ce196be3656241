//! A clock that steps back, read by several threads: the step counts as no time passing, once.

use std::collections::BTreeSet;

use tollgate::{Clock, Manual, NonDecreasing};
use tollgate_loom_tests::{at, explore, leak, race2, race3};

/// A wall clock that has been read as 100.
fn wall() -> (&'static Manual, &'static NonDecreasing<&'static Manual>) {
    let wall = leak(Manual::starting_at(at(100)));
    let clock = leak(NonDecreasing::new(wall));
    assert_eq!(clock.now(), at(100));
    (wall, clock)
}

fn read(clock: &'static NonDecreasing<&'static Manual>) -> impl FnOnce() -> u64 + Send + 'static {
    move || clock.now().as_u64()
}

/// Whoever sees the step corrects it, and nobody adds the correction to a reading from before the step.
#[test]
fn a_step_back_seen_by_two() {
    let outcomes = explore("clock_step_back_seen_by_two", || {
        let (wall, clock) = wall();
        let step = move || {
            wall.set(at(40));
            clock.now().as_u64()
        };
        let both = race2(step, read(clock));
        wall.set(at(45));
        (both, clock.now().as_u64())
    });
    assert_eq!(outcomes, BTreeSet::from([((100, 100), 105)]));
}

#[test]
fn a_step_back_seen_by_two_but_made_by_a_third() {
    let outcomes = explore("clock_step_back_made_by_a_third", || {
        let (wall, clock) = wall();
        let (a, b, ()) = race3(read(clock), read(clock), move || wall.set(at(40)));
        wall.set(at(41));
        (a, b, clock.now().as_u64())
    });
    // If nobody has seen the clock at 40, the step is found at 41.
    assert_eq!(outcomes, BTreeSet::from([(100, 100, 101), (100, 100, 100)]));
}

/// Two steps: each is corrected, whoever sees which.
#[test]
fn two_steps_back() {
    let outcomes = explore("clock_two_steps_back", || {
        let (wall, clock) = wall();
        let step_twice = move || {
            wall.set(at(40));
            let first = clock.now().as_u64();
            wall.set(at(10));
            (first, clock.now().as_u64())
        };
        let both = race2(step_twice, read(clock));
        wall.set(at(11));
        (both, clock.now().as_u64())
    });
    assert_eq!(outcomes, BTreeSet::from([(((100, 100), 100), 101)]));
}

/// A reading that another thread has overtaken is not a step back: time goes on by as much as the clock says.
#[test]
fn an_overtaken_reading_is_no_step() {
    let outcomes = explore("clock_overtaken_reading", || {
        let (wall, clock) = wall();
        let (a, b, ()) = race3(read(clock), read(clock), move || wall.set(at(110)));
        assert!([100, 110].contains(&a) && [100, 110].contains(&b));
        clock.now().as_u64()
    });
    assert_eq!(outcomes, BTreeSet::from([110]));
}

/// Forward, then back to where it was: the forward step counts if somebody saw it, and readings never fall.
#[test]
fn a_step_forward_and_back() {
    let outcomes = explore("clock_step_forward_and_back", || {
        let (wall, clock) = wall();
        let step = move || {
            wall.set(at(150));
            wall.set(at(100));
        };
        let read_twice = move || (clock.now().as_u64(), clock.now().as_u64());
        let ((), (first, second)) = race2(step, read_twice);
        (first, second, clock.now().as_u64())
    });
    let all = [(100, 100, 100), (100, 150, 150), (150, 150, 150)];
    assert_eq!(outcomes, BTreeSet::from(all));
}
