//! Wall time that steps: never a window twice, never an absurd wait.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::window::{Fixed, Wall};
use tollgate::{Clock, Manual};

use super::{at, every};

const DAY: u64 = 86_400_000_000_000;

/// A wall clock and a steady one, which go on together unless one is set.
struct Clocks {
    wall: Manual,
    steady: Manual,
}

impl Clocks {
    fn starting_at(wall: u64) -> Self {
        Self { wall: Manual::starting_at(at(wall)), steady: Manual::starting_at(at(12_345)) }
    }

    fn pass(&self, nanos: u64) {
        self.wall.advance(Duration::from_nanos(nanos));
        self.steady.advance(Duration::from_nanos(nanos));
    }
}

#[test]
fn it_is_the_wall_clock_while_that_goes_forward() {
    let clocks = Clocks::starting_at(20_000 * DAY);
    let wall = Wall::of(&clocks.wall, &clocks.steady);
    for step in [0, 1, 2, 999, DAY, 30 * DAY + 1] {
        clocks.pass(step);
        assert_eq!(wall.now(), clocks.wall.now());
    }
    clocks.wall.advance(Duration::from_nanos(5 * DAY));
    assert_eq!(wall.now(), clocks.wall.now(), "a step forward counts as time passing");
}

#[test]
fn after_a_step_back_it_goes_on_at_half_the_speed_until_it_is_caught_up() {
    let clocks = Clocks::starting_at(20_000 * DAY);
    let wall = Wall::of(&clocks.wall, &clocks.steady);
    let before = wall.now();
    clocks.wall.set(at(20_000 * DAY - 1000));
    let mut last = before;
    for passed in 1..=2000 {
        clocks.pass(1);
        let now = wall.now();
        assert!(now >= last);
        assert_eq!(now.as_u64() - before.as_u64(), u64::div_ceil(passed, 2), "{passed}");
        last = now;
    }
    assert_eq!(wall.now(), clocks.wall.now());
    clocks.pass(7);
    assert_eq!(wall.now(), clocks.wall.now());
}

#[test]
fn a_step_back_over_midnight_opens_no_day_twice() {
    let clocks = Clocks::starting_at(20_000 * DAY - 2_000_000_000);
    let limit = Fixed::with_clock(10, every(DAY), Wall::of(&clocks.wall, &clocks.steady)).unwrap();
    assert!(limit.try_acquire_n(10).is_ok());
    clocks.pass(2_000_000_000);
    assert!(limit.try_acquire_n(10).is_ok(), "the new day");
    // Back before midnight, and again over it; and a thousand times more.
    for _ in 0..1000 {
        clocks.wall.set(at(20_000 * DAY - 2_000_000_000));
        assert!(limit.try_acquire().is_err());
        clocks.pass(3_000_000_000);
        assert!(limit.try_acquire().is_err());
    }
}

/// C21: set back by a year, the longest wait is two days.
#[test]
fn a_step_back_by_a_year_makes_a_wait_at_most_twice_as_long() {
    let clocks = Clocks::starting_at(20_000 * DAY);
    let limit = Fixed::with_clock(10, every(DAY), Wall::of(&clocks.wall, &clocks.steady)).unwrap();
    assert!(limit.try_acquire_n(10).is_ok());
    clocks.wall.set(at((20_000 - 365) * DAY));
    for _ in 0..30 {
        let told = limit.wait_for(10).unwrap();
        assert!(told <= Duration::from_nanos(DAY));
        clocks.pass(2 * u64::try_from(told.as_nanos()).unwrap());
        assert!(limit.try_acquire_n(10).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// From one reading to the next it goes on by half of what has passed, and to wall time if that is more.
    #[test]
    fn it_goes_on_by_half_the_time_or_to_wall_time(
        steps in prop::collection::vec((0..1000_u64, 0..3000_u64, prop::bool::ANY), 1..100),
    ) {
        let clocks = Clocks::starting_at(1_000_000);
        let wall = Wall::of(&clocks.wall, &clocks.steady);
        let (mut reading, mut half) = (wall.now().as_u64(), clocks.steady.now().as_u64() / 2);
        for (passed, step, back) in steps {
            clocks.pass(passed);
            let now = clocks.wall.now().as_u64();
            clocks.wall.set(at(if back { now - step } else { now + step / 4 }));
            let next = wall.now().as_u64();
            let half_now = clocks.steady.now().as_u64() / 2;
            assert_eq!(next, (reading + half_now - half).max(clocks.wall.now().as_u64()));
            (reading, half) = (next, half_now);
        }
    }
}

#[test]
fn a_clock_that_was_never_set_is_none_the_worse() {
    let clocks = Clocks::starting_at(0);
    let wall = Wall::of(&clocks.wall, &clocks.steady);
    assert_eq!(wall.now().as_u64(), 12_345 / 2);
    clocks.wall.set(at(20_000 * DAY));
    assert_eq!(wall.now(), at(20_000 * DAY));
}

#[cfg(feature = "std")]
#[test]
fn the_systems_wall_clock_is_since_the_epoch() {
    use std::time::SystemTime;

    use tollgate::window::System;

    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let (before, wall, system, after) = (now(), Wall::default().now(), System.now(), now());
    // A second, in case that it is set meanwhile.
    let allowed = before.saturating_sub(Duration::from_secs(1))..=after + Duration::from_secs(1);
    assert!(allowed.contains(&wall.into()) && allowed.contains(&system.into()));
}
