//! The clocks.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::thread;
use std::time::Duration;

use tollgate::{Bucket, Clock, Manual, Nanos, NonDecreasing, quota};

use crate::oracle::Oracle;
use crate::support::{MS, S, Scale, at, nanos, over_the_bound, quota as plain};

#[test]
fn a_manual_clock_stands_until_it_is_moved() {
    let clock = Manual::new();
    assert_eq!(clock.now(), Nanos::ZERO);
    clock.advance(nanos(5));
    clock.advance(nanos(2));
    assert_eq!(clock.now(), at(7));
    clock.set(at(3));
    assert_eq!(clock.now(), at(3));
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), Nanos::MAX);
    assert_eq!(Manual::starting_at(at(9)).now(), at(9));
    assert_eq!(Manual::default().now(), Nanos::ZERO);
}

#[test]
fn a_reference_and_an_arc_of_a_clock_are_that_clock() {
    fn read(clock: impl Clock) -> Nanos {
        clock.now()
    }
    let clock = Arc::new(Manual::starting_at(at(4)));
    assert_eq!(read(&*clock), at(4));
    let object: &dyn Clock = &*clock;
    assert_eq!(read(object), at(4));
    #[cfg(feature = "std")]
    assert_eq!((read(&clock), read(Arc::clone(&clock))), (at(4), at(4)));
}

#[test]
fn a_user_brings_a_clock() {
    /// Seconds, as a simulation counts them.
    struct Seconds(AtomicU64);
    impl Clock for Seconds {
        fn now(&self) -> Nanos {
            Duration::from_secs(self.0.load(Relaxed)).into()
        }
    }
    let bucket = Bucket::with_clock(quota!("1/s burst 2"), Seconds(AtomicU64::new(100)));
    assert_eq!(bucket.acquire_up_to(9), 2);
    bucket.clock().0.store(101, Relaxed);
    assert_eq!(bucket.try_acquire(), Ok(()));
    assert!(bucket.try_acquire().is_err());
}

#[test]
fn under_the_adaptor_readings_never_go_back_and_time_goes_on() {
    let wall = Manual::starting_at(at(1000));
    let clock = NonDecreasing::new(&wall);
    let mut last = clock.now();
    for step in [900, 0, 1, 5, 4, 3, 2_000, 10, 12, u64::MAX / 2, 0, 7] {
        let before = wall.now();
        wall.set(at(step));
        let now = clock.now();
        let passed = step.saturating_sub(before.as_u64());
        assert_eq!(now.saturating_sub(last).as_u64(), passed, "stepped to {step}");
        last = now;
    }
}

/// However the clock under it steps while threads read, no thread sees a reading go back, its own or another's.
#[test]
fn under_the_adaptor_readings_are_ordered_across_threads() {
    let (wall, latest, stop) = (Manual::starting_at(at(1 << 40)), AtomicU64::new(0), AtomicBool::new(false));
    let clock = NonDecreasing::new(&wall);
    let read = || {
        let seen = latest.load(Acquire);
        let now = clock.now().as_u64();
        assert!(now >= seen, "{now} after {seen}");
        latest.fetch_max(now, AcqRel);
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    read();
                }
            });
        }
        let mut bits = 1_u64;
        for _ in 0..50_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            wall.set(at(bits >> 24));
            read();
        }
        stop.store(true, Relaxed);
    });
    assert!(latest.load(Relaxed) > 1 << 40, "steps forward counted");
}

/// Between two stores of its thread a coarse clock stands still. If it is `D` late at most, an interval `t` of real
/// time admits at most `B + r (t + D)`, and it comes so near that the `D` is needed.
#[test]
fn a_clock_that_is_d_late_widens_the_bound_by_r_times_d() {
    const D: u64 = 100 * MS;
    let bucket = Bucket::with_clock(plain(1000, S, 10), Manual::new());
    let model = Oracle::new(1000, S.into(), 10);
    let (mut real_times, mut readings) = (Vec::new(), Vec::new());
    for real in (0..2 * S).step_by(MS as usize / 2) {
        let stale = real / D * D;
        bucket.clock().set(at(stale));
        while bucket.try_acquire().is_ok() {
            real_times.push((real, 1));
            readings.push((stale, 1));
        }
    }
    let scale = Scale::of(1000, S, 10);
    assert_eq!(over_the_bound(&readings, &model, scale), None, "by its own readings it is strict");
    let wider = Oracle::new(1000, S.into(), 10 + 1000 * D / S);
    assert_eq!(over_the_bound(&real_times, &wider, scale), None, "B + r (t + D)");
    // The bucket holds a tenth of what is issued in D, so most of it is lost; with room for it, it comes at once.
    let roomy = Bucket::with_clock(plain(1000, S, 100), Manual::new());
    roomy.drain();
    roomy.clock().set(at(D));
    let admitted: Vec<_> = (0..200).filter(|_| roomy.try_acquire().is_ok()).map(|_| (D, 1)).collect();
    assert_eq!(admitted.len(), 100, "what was issued in D is admitted in a moment");
    assert!(over_the_bound(&admitted, &Oracle::new(1000, S.into(), 1), Scale::of(1000, S, 1)).is_some());
}

#[cfg(feature = "std")]
mod with_std {
    use std::time::Instant;

    use tollgate::{Coarse, Monotonic, Source};

    use super::*;

    /// A processor may take a reading a little before a load that stands ahead of it in the program.
    const REORDERED: u64 = 10_000;

    #[test]
    fn the_default_clock_never_steps_back_within_a_thread() {
        let clock = Monotonic::new();
        let mut last = clock.now();
        for _ in 0..200_000 {
            let now = clock.now();
            assert!(now >= last, "{now:?} after {last:?} from {:?}", clock.source());
            last = now;
        }
    }

    #[test]
    fn the_default_clock_agrees_across_threads() {
        let latest = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let clock = Monotonic::new();
                    for _ in 0..100_000 {
                        let seen = latest.load(Relaxed);
                        let now = clock.now().as_u64();
                        assert!(now + REORDERED >= seen, "{now} after {seen} from {:?}", clock.source());
                        latest.fetch_max(now, Relaxed);
                    }
                });
            }
        });
    }

    #[test]
    fn the_default_clock_has_one_origin_and_runs_with_real_time() {
        let (first, real) = (Monotonic::new(), Instant::now());
        let begin = first.now();
        thread::sleep(Duration::from_millis(30));
        let second = Monotonic::default();
        let passed = second.now().saturating_sub(begin).as_duration();
        let most = real.elapsed();
        assert!(passed >= Duration::from_millis(29), "{passed:?}");
        assert!(passed <= most + most / 20, "{passed:?} of {most:?}");
        assert!(first.clone().now() >= begin);
        assert_eq!(first.source(), second.source());
        assert!(matches!(first.source(), Source::Tsc | Source::Instant), "{:?}", first.source());
    }

    #[test]
    fn a_coarse_clock_follows_the_default_clock() {
        let interval = Duration::from_millis(2);
        let (fine, coarse) = (Monotonic::new(), Coarse::start(interval).unwrap());
        let other = coarse.clone();
        let begin = coarse.now();
        let (mut last, mut steps) = (begin, 0);
        while steps < 5 {
            let now = coarse.now();
            assert!(now >= last && now <= fine.now(), "it is late, never ahead, and never goes back");
            steps += u32::from(now > last);
            last = now;
            thread::yield_now();
        }
        assert!(other.now() >= last, "clones read the same");
    }

    /// `B + r (t + D)` in real time, with the thread of a coarse clock and whatever lateness this machine gives it.
    #[test]
    fn a_coarse_clock_keeps_the_widened_bound() {
        let (rate, burst) = (100_000, 50);
        let (fine, coarse) = (Monotonic::new(), Coarse::start(Duration::from_millis(5)).unwrap());
        let bucket = Bucket::with_clock(plain(rate, S, burst), coarse.clone());
        let (begin, mut admitted, mut staleness) = (fine.now().as_u64(), Vec::new(), 0);
        let elapsed = || fine.now().as_u64() - begin;
        // Long enough for refill to be seen, however late this machine lets the other thread run.
        while elapsed() < 100 * MS || (admitted.len() <= 50 && elapsed() < 10 * S) {
            let before = fine.now().as_u64();
            let reading = coarse.now();
            if bucket.try_acquire_at(reading).is_ok() {
                admitted.push((before, 1));
            }
            staleness = staleness.max(fine.now().as_u64() - reading.as_u64());
        }
        let widened = Oracle::new(rate, S.into(), burst + (rate * staleness).div_ceil(S));
        assert_eq!(
            over_the_bound(&admitted, &widened, Scale::of(rate, S, burst)),
            None,
            "{staleness} ns late"
        );
        assert!(admitted.len() > burst as usize, "refill was seen: {}", admitted.len());
    }
}

#[cfg(feature = "std")]
mod stress {
    use std::sync::Barrier;

    use tollgate::Monotonic;

    use super::*;

    /// Two threads that pass readings to each other, each taking its own after it has seen the other's.
    fn never_go_back(read: impl Fn() -> Nanos + Sync) -> bool {
        let (latest, gate) = (AtomicU64::new(0), Barrier::new(2));
        let goes_on = || {
            let seen = latest.load(Acquire);
            let reading = read().as_u64();
            latest.fetch_max(reading, AcqRel);
            reading >= seen
        };
        let work = || {
            gate.wait();
            (0..1_000_000).all(|_| goes_on())
        };
        thread::scope(|scope| {
            let threads = [scope.spawn(work), scope.spawn(work)];
            threads.into_iter().all(|thread| thread.join().unwrap())
        })
    }

    #[test]
    fn an_ordered_reading_is_no_earlier_than_what_the_thread_has_seen() {
        let clock = Monotonic::new();
        assert!(never_go_back(|| clock.now_ordered()));
        let shared = Arc::new(&clock);
        assert!(never_go_back(|| shared.now_ordered()), "an `Arc` and a reference pass the call on");
    }

    /// A counter that is read a little early has not stepped back: nothing is added to what it says.
    #[test]
    fn under_the_adaptor_an_even_clock_stays_what_it_is() {
        let (even, adapted) = (Monotonic::new(), NonDecreasing::new(Monotonic::new()));
        assert!(never_go_back(|| adapted.now()));
        let reading = adapted.now();
        assert!(reading <= even.now_ordered(), "{reading:?} is ahead");
    }
}
