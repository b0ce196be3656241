//! C21, C44, C46 and C47 in limits by windows.

use std::time::Duration;

use tollgate::window::{Algorithm, Every, Fixed, SlidingCounter, Wall, Windowed};
use tollgate::{Denied, Manual, Nanos};

fn at(seconds: u64) -> Nanos {
    Duration::from_secs(seconds).into()
}

fn every(seconds: u64) -> Every {
    Every::new(Duration::from_secs(seconds)).unwrap()
}

fn fixed(limit: u64, seconds: u64) -> Fixed<Every, Manual> {
    Fixed::with_clock(limit, every(seconds), Manual::new()).unwrap()
}

fn counter(limit: u64, seconds: u64) -> SlidingCounter<Manual> {
    SlidingCounter::with_clock(limit, every(seconds), Manual::new()).unwrap()
}

#[cfg(feature = "std")]
fn log(limit: u64, seconds: u64) -> tollgate::window::SlidingLog<Manual> {
    tollgate::window::SlidingLog::with_clock(limit, Duration::from_secs(seconds), Manual::new()).unwrap()
}

/// The wall clock went from 100 s back to 89 s. The balance stays, and every wait that is told is enough on the same clock.
#[test]
fn c21_a_step_back_of_the_wall_clock() {
    for back in [1, 11, 3600, 86_400] {
        let (wall, steady) = (Manual::starting_at(at(1_000_100)), Manual::new());
        let limit = Fixed::with_clock(30, every(1), Wall::of(&wall, &steady)).unwrap();
        assert!((0..3).all(|_| limit.try_acquire().is_ok()));
        wall.set(at(1_000_100 - back));
        assert!(limit.try_acquire().is_ok());
        assert_eq!(limit.peek().remaining(), 26);
        assert!(limit.try_acquire_n(26).is_ok());
        let told = limit.try_acquire().unwrap_err().wait().unwrap();
        assert!(told <= Duration::from_secs(1), "{told:?}");
        // On the wall clock it takes up to twice as long.
        for clock in [&wall, &steady] {
            clock.advance(2 * told);
        }
        assert!(limit.try_acquire().is_ok());
    }
}

/// A refused cost takes nothing, however large.
#[test]
fn c44_a_refusal_takes_nothing() {
    fn check<A: Algorithm>(limit: &Windowed<A, Manual>) {
        assert!(limit.try_acquire_n_at(8, at(0)).is_ok());
        for _ in 0..100 {
            assert!(matches!(limit.try_acquire_n_at(5, at(0)), Err(Denied::NotYet(_))));
            let never = Denied::OverCapacity { cost: 1_000_000, capacity: 10 };
            assert_eq!(limit.try_acquire_n_at(1_000_000, at(0)), Err(never));
        }
        assert_eq!(limit.peek_at(at(0)).remaining(), 2);
        assert!(limit.try_acquire_n_at(2, at(0)).is_ok());
    }
    check(&fixed(10, 100));
    check(&counter(10, 100));
    #[cfg(feature = "std")]
    check(&log(10, 100));
}

/// A takes 50 000 at 0 s, B 40 000 at 65 s, and A cancels at 70 s: only what A still weighs comes back.
#[test]
fn c46_a_refund_after_the_window_has_rolled() {
    fn used<A: Algorithm>(limit: &Windowed<A, Manual>) -> [u64; 2] {
        limit.charge_at(50_000, at(0));
        limit.charge_at(40_000, at(65));
        let before = limit.peek_at(at(70)).used();
        limit.refund(50_000, at(0));
        [before, limit.peek_at(at(70)).used()]
    }
    assert_eq!(used(&fixed(60_000, 60)), [40_000, 40_000]);
    // Of the minute before, 50 s remain: 41 666 and two thirds.
    assert_eq!(used(&counter(60_000, 60)), [81_667, 40_000]);
    #[cfg(feature = "std")]
    assert_eq!(used(&log(60_000, 60)), [40_000, 40_000]);
}

/// Taking what is there, of a limit that was overrun, takes nothing.
#[test]
fn c47_a_part_of_an_overrun() {
    fn check<A: Algorithm>(limit: &Windowed<A, Manual>) {
        limit.charge_at(60, at(0));
        assert_eq!(limit.acquire_up_to_at(5, at(0)), 0);
        let usage = limit.peek_at(at(0));
        assert_eq!((usage.used(), usage.remaining(), usage.overrun()), (60, 0, 10));
    }
    check(&fixed(50, 1));
    check(&counter(50, 1));
    #[cfg(feature = "std")]
    check(&log(50, 1));
}
