//! C19-C25: clocks that step, stall and start anywhere. C20, C21 and C25 stand behind the non-decreasing adaptor, which
//! is where a clock that can step belongs.

use std::time::Duration;

use tollgate::{Bucket, Clock, Manual, NonDecreasing};

use crate::oracle::Answer;
use crate::support::{HOUR, MS, Pair, S, at, nanos, quota, wait_of};

/// A bucket on a clock that may step; `step` sets the clock under the adaptor.
struct Stepping {
    bucket: Bucket<NonDecreasing<&'static Manual>>,
    under: &'static Manual,
}

impl Stepping {
    fn new(tokens: u64, period: u64, burst: u64, start: u64) -> Self {
        let under: &'static Manual = Box::leak(Box::new(Manual::starting_at(at(start))));
        Self { bucket: Bucket::with_clock(quota(tokens, period, burst), NonDecreasing::new(under)), under }
    }

    fn step(&self, reading: u64) {
        self.under.set(at(reading));
    }

    fn remaining(&self) -> u64 {
        self.bucket.peek().available()
    }
}

#[test]
fn c19_old_and_new_readings_in_turn_mint_nothing() {
    let mut limit = Pair::new(10, S, 10);
    limit.ok(10, 10 * S);
    for _ in 0..5 {
        assert!(matches!(limit.try_take(1, 0), Answer::Wait(_)));
        limit.deny(1, 10 * S, 100 * MS);
    }
    assert_eq!(limit.remaining(11 * S), 10);
    for back in [1, MS, S, 5 * S, 10 * S] {
        let mut limit = Pair::new(10, S, 10);
        limit.ok(10, 10 * S);
        for round in 0..100 {
            limit.deny(1, 10 * S - back, 100 * MS + back);
            limit.charge(0, 10 * S - back);
            limit.refund(0, 10 * S - back);
            limit.deny(1, 10 * S + round, 100 * MS - round);
        }
    }
}

#[test]
fn c20_a_write_with_an_old_reading_does_not_set_the_time_back() {
    let mut limit = Pair::holding(100, S, 1000, 0, 10 * S);
    limit.refund(0, 9 * S);
    limit.charge(0, 9 * S);
    assert_eq!(limit.remaining(11 * S), 100);
    for (taken, given) in [(1, 1), (5, 5), (50, 50), (100, 100), (1000, 1000)] {
        let mut limit = Pair::holding(100, S, 1000, 0, 10 * S);
        limit.charge(taken, 9 * S);
        limit.refund(given, 9 * S);
        limit.pause_until(9 * S);
        assert_eq!(limit.take_up_to(1, 9 * S), 0);
        assert_eq!(limit.remaining(11 * S), 100, "{taken} charged and refunded with an old reading");
    }
}

#[test]
fn c21_a_step_back_counts_as_no_time_passing() {
    let limit = Stepping::new(30, S, 30, 100 * S);
    for _ in 0..3 {
        assert_eq!(limit.bucket.try_acquire(), Ok(()));
    }
    limit.step(89 * S);
    assert_eq!(limit.bucket.try_acquire(), Ok(()));
    assert_eq!(limit.remaining(), 26);
    for back in [1, S, 11 * S, 99 * S, 100 * S] {
        let limit = Stepping::new(30, S, 30, 100 * S);
        assert_eq!(limit.bucket.try_acquire_n(30), Ok(()));
        limit.step(100 * S - back);
        let wait = wait_of(limit.bucket.try_acquire().unwrap_err());
        assert_eq!(wait, S.div_ceil(30), "stepped back {back} ns");
        limit.under.advance(nanos(wait));
        assert_eq!(limit.bucket.try_acquire(), Ok(()), "waited on the clock that stepped back {back} ns");
    }
}

#[test]
fn c22_time_spent_at_the_capacity_is_not_credited_after_the_spend() {
    let mut limit = Pair::new(10, S, 10);
    limit.ok(10, S);
    limit.deny(10, S, S);
    for idle in [1, MS, S, HOUR, 1000 * HOUR] {
        let mut limit = Pair::new(10, S, 10);
        assert_eq!(limit.ask(1, idle), Answer::Admitted);
        assert_eq!(limit.try_take(11, idle), Answer::Never);
        limit.ok(10, idle);
        limit.deny(1, idle, 100 * MS);
        limit.deny(10, idle, S);
    }
}

#[test]
fn c23_after_a_long_idle_it_still_limits() {
    let mut limit = Pair::new(1, S, 11);
    limit.ok(11, 0);
    for nth in 0..20 {
        if nth < 11 { limit.ok(1, 30 * S) } else { limit.deny(1, 30 * S, S) }
    }
    for idle in [11, 12, 30, 100, 100_000] {
        let mut limit = Pair::new(1, S, 11);
        for round in 1..10 {
            let admitted =
                (0..20).filter(|_| limit.try_take(1, round * idle * S) == Answer::Admitted).count();
            assert_eq!(admitted, 11, "idle {idle} s");
        }
    }
}

/// Both kinds of clock are consistent; which kind a clock is, its documentation says.
#[test]
fn c24_a_suspended_machine_is_as_long_asleep_as_its_clock_says() {
    let mut aware = Pair::holding(5, HOUR, 5, 0, 0);
    assert_eq!(aware.remaining(600 * S + 10 * HOUR), 5);
    aware.ok(5, 600 * S + 10 * HOUR);
    let mut blind = Pair::holding(5, HOUR, 5, 0, 0);
    assert_eq!(blind.remaining(600 * S), 0);
    blind.deny(1, 600 * S, 120 * S);
    for awake in [1, 60, 600, 719] {
        let mut blind = Pair::holding(5, HOUR, 5, 0, 0);
        blind.deny(1, awake * S, 720 * S - awake * S);
        blind.ok(1, 720 * S);
    }
}

#[test]
fn c25_a_clock_that_steps_back_by_half_an_hour_makes_no_absurd_wait() {
    let limit = Stepping::new(2000, S, 5000, 5000 * S);
    for _ in 0..10 {
        assert_eq!(limit.bucket.try_acquire(), Ok(()));
    }
    limit.step(3109 * S);
    assert_eq!(limit.bucket.try_acquire(), Ok(()));
    assert_eq!(limit.remaining(), 4989);
    for back in [1, 1000, 1891, 5000] {
        let limit = Stepping::new(2000, S, 5000, 5000 * S);
        assert_eq!(limit.bucket.drain(), 5000);
        limit.step((5000 - back) * S);
        let wait = wait_of(limit.bucket.try_acquire().unwrap_err());
        assert!(wait <= 500_000, "{wait} ns after a step back of {back} s");
        assert!(limit.bucket.peek().time_to_full() <= Duration::from_millis(2500));
        assert_eq!(limit.bucket.clock().now(), at(5000 * S), "no time has passed");
    }
}
