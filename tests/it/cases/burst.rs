//! C26-C32: burst and initial state.

use tollgate::{Bucket, Manual, Quota, QuotaError};

use crate::oracle::Answer;
use crate::support::{DAY, MINUTE, MS, Pair, S, at, nanos, quota};

#[test]
fn c26_no_extra_token_after_an_idle_longer_than_the_burst() {
    let mut limit = Pair::new(5, S, 5);
    for now in [0, 2 * S] {
        for _ in 0..5 {
            limit.ok(1, now);
        }
        limit.deny(1, now, 200 * MS);
    }
    let mut limit = Pair::new(1200, MINUTE, 5);
    limit.ok(5, 0);
    limit.ok(5, 500 * MS);
    limit.deny(1, 500 * MS, 50 * MS);
    for capacity in 1..=20 {
        for past_full in [0, 1, 199 * MS, 200 * MS, 201 * MS, 7 * S] {
            let mut limit = Pair::new(5, S, capacity);
            limit.ok(capacity, 0);
            let now = capacity * 200 * MS + past_full;
            limit.ok(capacity, now);
            limit.deny(1, now, 200 * MS);
        }
    }
}

#[test]
fn c27_the_origin_of_the_clock_does_not_matter() {
    for origin in [1_234_567_890_123, 0, 1, 90 * MS - 1, 90 * MS, 400 * DAY + 1, 18_000 * DAY] {
        let bucket = Bucket::with_clock(quota(1, 90 * MS, 2), Manual::starting_at(at(origin)));
        for left in [1, 0] {
            assert_eq!(bucket.try_acquire(), Ok(()), "origin {origin}");
            assert_eq!(bucket.peek().available(), left, "origin {origin}");
        }
        let refusal = bucket.try_acquire().unwrap_err();
        assert_eq!(refusal.wait(), Some(nanos(90 * MS)), "origin {origin}");
    }
}

#[test]
fn c28_a_new_bucket_is_full_whenever_it_is_made() {
    for (tokens, period, burst) in [(1, 10_000 * S, 1), (1, DAY, 3), (1, 365 * DAY, 50), (100, S, 100)] {
        for born in [3758 * S, 0, 1, 100 * DAY, 18_000 * DAY] {
            let mut limit = Pair::holding(tokens, period, burst, burst, born);
            limit.ok(burst, born);
            limit.deny(1, born, period.div_ceil(tokens));
            let bucket = Bucket::with_clock(quota(tokens, period, burst), Manual::starting_at(at(born)));
            assert_eq!(bucket.peek().available(), burst, "by default");
            assert_eq!(bucket.try_acquire_n(burst), Ok(()));
        }
    }
}

#[test]
fn c29_a_rate_given_as_a_fraction_is_that_rate() {
    let mut limit = Pair::new(167, 10_000 * S, 20);
    for _ in 0..20 {
        limit.ok(1, 0);
    }
    limit.deny(1, 0, 59_880_239_521);
    let mut limit = Pair::new(167, 10_000 * S, 20);
    let admitted = (0..=3600).filter(|second| limit.try_take(1, second * S) == Answer::Admitted).count();
    assert_eq!(admitted, 80);
    for (tokens, period) in
        [(1, 59 * S), (333, 20_000 * S), (1, 61 * S), (999, 1000 * S), (2, 3 * S), (17, 600 * S)]
    {
        let mut limit = Pair::new(tokens, period, 20);
        let admitted =
            (0..=3600).filter(|second| limit.try_take(1, second * S) == Answer::Admitted).count() as u64;
        let due = (20 + 3600 * S * tokens / period).min(3601);
        // On the binary scale a token may come a nanosecond after the last poll.
        assert!(
            admitted == due || (!limit.is_exact() && admitted + 1 == due),
            "{tokens} in {period} ns: {admitted}"
        );
    }
}

#[test]
fn c30_three_a_minute_and_a_call_every_ten_seconds() {
    let mut limit = Pair::new(3, MINUTE, 3);
    for (call, left) in (0..).zip([2, 1, 1, 0, 0]) {
        limit.ok(1, call * 10 * S);
        assert_eq!(limit.remaining(call * 10 * S), left);
    }
    limit.deny(1, 50 * S, 10 * S);
    for burst in 1..10 {
        let mut limit = Pair::new(3, MINUTE, burst);
        let admitted =
            (0..360).filter(|call| limit.try_take(1, call * 10 * S) == Answer::Admitted).count() as u64;
        let due = burst + 3590 / 20;
        assert!(admitted == due || admitted == due - 1, "capacity {burst}: {admitted} of {due}");
    }
}

#[test]
fn c31_the_default_burst_is_the_tokens_of_one_period() {
    let admitted = |quota: Quota| {
        let bucket = Bucket::with_clock(quota, Manual::new());
        (0..2 * quota.tokens()).filter(|_| bucket.try_acquire().is_ok()).count() as u64
    };
    assert_eq!(admitted(Quota::per_second(100).unwrap()), 100);
    assert_eq!(admitted(quota(100, S, 1)), 1);
    for tokens in [1, 2, 7, 1000] {
        assert_eq!(admitted(Quota::per_second(tokens).unwrap()), tokens);
        assert_eq!(admitted(Quota::per_minute(tokens).unwrap()), tokens);
        assert_eq!(admitted(Quota::per_hour(tokens).unwrap()), tokens);
        assert_eq!(admitted(Quota::per_day(tokens).unwrap()), tokens);
        assert_eq!(admitted(Quota::new(tokens, nanos(7 * S)).unwrap()), tokens);
    }
}

#[test]
fn c32_a_capacity_of_zero_is_an_error_and_not_no_limit() {
    for tokens in [1, 100, 1_000_000_000] {
        assert_eq!(Quota::with_burst(tokens, nanos(S), 0), Err(QuotaError::ZeroCapacity));
        assert_eq!(Quota::per_second(tokens).unwrap().burst(0), Err(QuotaError::ZeroCapacity));
    }
    assert_eq!(Quota::parse("100/s burst 0"), Err(QuotaError::ZeroCapacity));
    assert_eq!(Quota::parse("1/s burst x0.5"), Err(QuotaError::ZeroCapacity));
}
