//! The ends of all ranges: nothing wraps, nothing panics, nothing is minted.

use std::time::Duration;

use tollgate::window::{Algorithm, Fixed, Schedule, SlidingCounter, WindowError, Windowed};
use tollgate::{Manual, Nanos};

use super::{at, counter, every, fixed, most, wait};

const LENGTHS: [u64; 12] = [
    1,
    2,
    3,
    8,
    100,
    1000,
    1 << 20,
    1_000_000_000,
    60_000_000_000,
    86_400_000_000_000,
    1 << 63,
    u64::MAX - 1,
];

#[test]
fn the_ranges_are_those_told() {
    let most_fixed = |length| most(Fixed::with_clock(u64::MAX, every(length), Manual::new()));
    let most_counter = |length| most(SlidingCounter::with_clock(u64::MAX, every(length), Manual::new()));
    let [second, minute, day] = [1_000_000_000, 60_000_000_000, 86_400_000_000_000];
    assert_eq!([second, minute, day].map(most_fixed), [(1 << 28) - 1, (1 << 34) - 1, (1 << 45) - 1]);
    assert_eq!([second, minute, day].map(most_counter), [(1 << 18) - 1, (1 << 24) - 1, (1 << 35) - 1]);
    for (length, exact) in [(second, (1 << 13) - 1), (minute, (1 << 16) - 1), (day, (1 << 22) - 1)] {
        assert_eq!(counter(exact, length).granularity(), 1);
        assert!(counter(exact + 1, length).granularity() > 1);
    }
    assert_eq!((most_fixed(1), most_counter(1), most_counter(2)), (0, 0, 0));
    for length in LENGTHS {
        let (fixed, counter) = (most_fixed(length), most_counter(length));
        assert_eq!(Fixed::with_clock(fixed, every(length), Manual::new()).is_ok(), fixed > 0);
        assert_eq!(SlidingCounter::with_clock(counter, every(length), Manual::new()).is_ok(), counter > 0);
    }
}

#[cfg(feature = "std")]
#[test]
fn the_range_of_the_log() {
    use tollgate::window::SlidingLog;

    let second = Duration::from_secs(1);
    assert_eq!(most(SlidingLog::new(u64::MAX, second)), (1 << 62) - 1);
    assert_eq!(SlidingLog::new(0, second).unwrap_err(), WindowError::ZeroLimit);
    assert!(matches!(SlidingLog::new(1, Duration::MAX), Err(WindowError::LengthOutOfRange { .. })));
    assert!(SlidingLog::new((1 << 62) - 1, second).is_ok());
}

/// The largest limits, charges and readings, at every edge.
fn walk<A: Algorithm + std::fmt::Debug>(limit: &Windowed<A, Manual>) {
    let most = limit.limit();
    let readings = [0, 1, most, u64::MAX / 2, u64::MAX - most, u64::MAX - 1, u64::MAX];
    for (i, &now) in readings.iter().enumerate() {
        let now = at(now);
        let before = limit.peek_at(now);
        let admitted = limit.try_acquire_n_at(most, now);
        assert_eq!(admitted.is_ok(), before.used() == 0, "{limit:?} at {now:?}");
        let _ = limit.try_acquire_at(now);
        let part = limit.acquire_up_to_at(u64::MAX, now);
        assert!(part <= before.remaining());
        assert_eq!(limit.acquire_up_to_at(u64::MAX, now), 0);
        if i % 2 == 1 {
            limit.charge_at(u64::MAX, now);
            assert!(limit.try_acquire_at(now).is_err());
            // How much it was is not known any more, so nothing comes back.
            let used = limit.peek_at(now).used();
            limit.refund(1, now);
            assert!(limit.peek_at(now).used() + 1 >= used && limit.try_acquire_at(now).is_err());
        }
        limit.refund(u64::MAX, at(u64::MAX));
        let _ = (limit.wait_for_at(most, now), limit.peek_at(now).time_to_reset());
    }
}

#[test]
fn nothing_wraps() {
    for length in LENGTHS.into_iter().filter(|length| *length >= 100) {
        for share in [1, 2, 1000] {
            let most_fixed = most(Fixed::with_clock(u64::MAX, every(length), Manual::new()));
            walk(&fixed((most_fixed / share).max(1), length));
            let most_counter = most(SlidingCounter::with_clock(u64::MAX, every(length), Manual::new()));
            walk(&counter((most_counter / share).max(1), length));
        }
        #[cfg(feature = "std")]
        for limit in [1, 1000, (1 << 62) - 1] {
            walk(&super::log(limit, length));
        }
    }
}

#[test]
fn an_overrun_that_cannot_be_counted_gives_nothing_back() {
    let limit = fixed(3, 1000);
    limit.charge_at(u64::MAX, at(0));
    limit.refund(u64::MAX, at(0));
    assert_eq!(wait(limit.try_acquire_at(at(0))), Some(1000));
    let limit = counter(3, 1000);
    limit.charge_at(u64::MAX, at(0));
    limit.refund(u64::MAX, at(0));
    assert!(limit.try_acquire_at(at(1000)).is_err(), "it weighs in the next window");
    limit.charge_at(1, at(1000));
    limit.refund(u64::MAX, at(0));
    assert!(limit.try_acquire_at(at(1000)).is_err(), "nor from there");
}

/// A small limit leaves room for large overruns: all that half of the free bits hold.
#[test]
fn an_overrun_that_fits_comes_back() {
    let minute = 60_000_000_000;
    let limit = counter(1, minute);
    limit.charge_at((1 << 17) - 2 - 1, at(0));
    limit.refund((1 << 17) - 2 - 1, at(0));
    assert!(limit.try_acquire_at(at(0)).is_ok());
    let limit = fixed(1, minute);
    limit.charge_at((1 << 35) - 2 - 1, at(0));
    limit.refund((1 << 35) - 2 - 1, at(0));
    assert!(limit.try_acquire_at(at(0)).is_ok());
}

#[test]
fn what_no_reading_reaches_is_an_endless_wait() {
    let limit = fixed(3, 1 << 63);
    assert!(limit.try_acquire_n_at(3, at(u64::MAX - 1)).is_ok());
    assert_eq!(wait(limit.try_acquire_at(at(u64::MAX - 1))), Some(u64::MAX));
    assert_eq!(limit.peek_at(at(u64::MAX - 1)).resets_at(), Nanos::MAX);
    let limit = counter(3, 1 << 63);
    assert!(limit.try_acquire_n_at(3, at(u64::MAX - 1)).is_ok());
    assert_eq!(limit.wait_for_at(3, at(u64::MAX - 1)), Ok(Nanos::MAX.into()));
    #[cfg(feature = "std")]
    {
        let limit = super::log(3, 1 << 63);
        assert!(limit.try_acquire_n_at(3, at(u64::MAX - 1)).is_ok());
        assert_eq!(wait(limit.try_acquire_at(at(u64::MAX))), Some(u64::MAX));
    }
}

/// A schedule that lies about its last window, and goes back.
#[test]
fn a_schedule_that_lies_only_refuses_more() {
    struct Liar;

    impl Schedule for Liar {
        fn window_at(&self, now: Nanos) -> u64 {
            [u64::MAX, 3, 0][now.as_u64() as usize % 3]
        }

        fn begin_of(&self, window: u64) -> Nanos {
            at(window)
        }

        fn last(&self) -> u64 {
            7
        }
    }

    let limit = Fixed::with_clock(5, Liar, Manual::new()).unwrap();
    assert!((0..100).filter(|now| limit.try_acquire_at(at(*now)).is_ok()).count() <= 5);
    assert_eq!(wait(limit.try_acquire_at(at(3))), Some(u64::MAX), "no window comes after the last");
    let borrowed = Fixed::with_clock(5, &Liar, Manual::new()).unwrap();
    assert_eq!(borrowed.schedule().window_at(at(1)), 3);
}
