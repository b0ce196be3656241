//! C01-C11: rounding and drift.

use crate::oracle::Answer;
use crate::support::{DAY, HOUR, MS, Pair, S, US, at};

#[test]
fn c01_a_rate_that_is_no_binary_fraction_admits_at_its_nanosecond() {
    let mut limit = Pair::new(10, 13 * S, 1);
    limit.ok(1, 0);
    limit.deny(1, 0, 1_300_000_000);
    limit.deny(1, 1_299_999_999, 1);
    limit.ok(1, 1_300_000_000);
    for (tokens, seconds) in [(3, 7), (7, 3), (10, 3), (10, 9), (5, 11), (8, 7), (1000, 999)] {
        let mut limit = Pair::holding(tokens, seconds * S, 2, 0, 0);
        for nth in 1..=200 {
            let due = (nth * seconds * S).div_ceil(tokens);
            limit.deny(1, due - 1, 1);
            limit.ok(1, due);
        }
    }
}

#[test]
fn c02_one_an_hour_is_due_after_the_hour_however_long_the_idle() {
    let mut limit = Pair::new(1, HOUR, 1);
    limit.ok(1, 0);
    for second in 1..3600 {
        limit.deny(1, second * S, HOUR - second * S);
    }
    limit.ok(1, HOUR);
    limit.ok(1, HOUR + 10 * DAY);
    limit.deny(1, HOUR + 10 * DAY, HOUR);
    for idle in [1, 7, 30, 365, 3650, 18_000] {
        let mut limit = Pair::new(1, HOUR, 1);
        limit.ok(1, idle * DAY);
        limit.deny(1, idle * DAY, HOUR);
        limit.deny(1, idle * DAY + HOUR - 1, 1);
        limit.ok(1, idle * DAY + HOUR);
    }
}

#[test]
fn c03_a_wait_counts_the_part_that_has_refilled() {
    let mut limit = Pair::new(1, S, 1);
    limit.ok(1, 0);
    limit.deny(1, S / 5, 800 * MS);
    limit.ok(1, S);
    for elapsed in [1, 2, MS, 333_333_333, S / 2, S - 1] {
        limit.deny(1, S + elapsed, S - elapsed);
    }
}

#[test]
fn c04_a_wait_is_for_this_cost_and_not_for_the_whole_bucket() {
    let mut limit = Pair::new(1, S, 5);
    for _ in 0..5 {
        limit.ok(1, 0);
    }
    limit.deny(1, 0, S);
    limit.deny(1, S / 4, 750 * MS);
    limit.ok(1, S);
    assert_eq!(limit.to_full(S), 5 * S);
    for cost in 1..=5 {
        limit.deny(cost, S, cost * S);
    }
}

#[test]
fn c05_polling_faster_than_the_rate_loses_nothing() {
    let mut limit = Pair::holding(10, S, 10, 0, 0);
    let admitted: Vec<u64> = (1..=1000).filter(|ms| limit.try_take(1, ms * MS) == Answer::Admitted).collect();
    assert_eq!(admitted, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
    for (tokens, step) in
        [(1, 10 * MS), (3, MS), (7, 3 * MS), (999, 100 * US), (65_537, 10 * US), (1_000_003, US)]
    {
        let mut limit = Pair::holding(tokens, S, tokens, 0, 0);
        let polls = 2000.min(S / step);
        let admitted =
            (1..=polls).filter(|poll| limit.try_take(1, poll * step) == Answer::Admitted).count() as u64;
        let due = (u128::from(tokens) * u128::from(polls * step) / u128::from(S)) as u64;
        assert_eq!(admitted, due.min(polls), "{tokens}/s polled every {step} ns");
    }
}

#[test]
fn c06_a_refill_keeps_the_started_interval() {
    let mut limit = Pair::holding(1, 10 * S, 5, 0, 0);
    assert_eq!(limit.remaining(25 * S), 2);
    limit.ok(2, 25 * S);
    limit.deny(1, 29 * S, S);
    limit.ok(1, 30 * S);
    for part in [1, S, 3 * S, 5 * S, 7 * S, 10 * S - 1] {
        let mut limit = Pair::holding(1, 10 * S, 5, 0, 0);
        limit.ok(2, 20 * S + part);
        limit.deny(1, 20 * S + part, 10 * S - part);
        limit.deny(1, 30 * S - 1, 1);
        limit.ok(1, 30 * S);
    }
}

#[test]
fn c07_fractional_interval_keeps_its_rate() {
    let limit = Pair::new(80_000, S, 2);
    let admitted = (0..1_000_000).filter(|us| limit.bucket.try_acquire_at(at(us * US)).is_ok()).count();
    assert_eq!(admitted, 80_001);
    for (tokens, burst) in
        [(1_000_000 / 3, 1), (7_000_001, 2), (30_000_000, 5), (123_456_789, 9), (999_999_999, 1)]
    {
        let mut limit = Pair::new(tokens, S, burst);
        let mut admitted = 0;
        for nanos in 0..3000 {
            admitted += u64::from(limit.try_take(1, nanos) == Answer::Admitted);
        }
        let issued = u128::from(tokens) * 2999 / u128::from(S);
        let due = (u128::from(burst) + issued).min(3000) as u64;
        assert!(admitted == due || admitted + 1 == due, "{tokens}/s: {admitted} of {due}");
    }
}

#[test]
fn c08_more_than_a_thousand_a_second_has_a_whole_interval() {
    let mut limit = Pair::new(2000, S, 1);
    limit.ok(1, 0);
    limit.deny(1, 0, 500_000);
    limit.deny(1, 499_999, 1);
    limit.ok(1, 500_000);
    let mut limit = Pair::new(1500, S, 1);
    limit.ok(1, 0);
    limit.deny(1, 0, 666_667);
    limit.deny(1, 666_666, 1);
    limit.ok(1, 666_667);
    for tokens in [1001, 1024, 1999, 3000, 65_536, 1_000_001, 16_666_667, 500_000_001, 1_000_000_000] {
        let mut limit = Pair::new(tokens, S, 1);
        let due = S.div_ceil(tokens);
        limit.ok(1, 0);
        limit.deny(1, 0, due);
        limit.ok(1, due + 1);
    }
}

#[test]
fn c09_calls_spaced_by_the_interval_all_pass() {
    let mut limit = Pair::new(1, 100 * MS, 1);
    for call in 1..=10 {
        limit.ok(1, call * 100 * MS);
    }
    let mut limit = Pair::new(1, 100 * MS, 1);
    limit.ok(1, 100_900 * US);
    limit.deny(1, 200_100 * US, 800 * US);
    for interval in [1, 2, 3, 7, 999, 1001, 333_333_333, HOUR + 1] {
        let mut limit = Pair::new(1, interval, 1);
        for call in 0..100 {
            limit.ok(1, 17 + call * interval);
            limit.deny(1, 17 + (call + 1) * interval - 1, 1);
        }
    }
}

#[test]
fn c10_a_large_bucket_refills_between_two_takes() {
    let mut limit = Pair::new(65_535, S, 65_535);
    for take in 0..20 {
        limit.ok(1, take * 100 * MS);
        assert_eq!(limit.remaining(take * 100 * MS), 65_534);
    }
    for capacity in [31_623, 31_624, 65_536, 1_000_003, (1 << 32) - 5, 1 << 33] {
        let mut limit = Pair::new(capacity, S, capacity);
        for take in 0..20 {
            limit.ok(1, take * 100 * MS);
            assert_eq!(limit.remaining(take * 100 * MS), capacity - 1);
        }
    }
}

#[test]
fn c11_the_rate_is_capped_by_the_resolution_of_the_clock_alone() {
    let admitted = |resolution: u64| {
        let mut limit = Pair::new(3000, S, 1);
        (0..1000)
            .filter(|poll| limit.try_take(1, poll * 10 * US / resolution * resolution) == Answer::Admitted)
            .count()
    };
    assert_eq!(admitted(1), 30, "a clock of nanoseconds");
    assert_eq!(admitted(MS), 10, "a clock of milliseconds");
}
