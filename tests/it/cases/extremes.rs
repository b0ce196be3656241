//! C12-C18: overflow and extremes.

use std::time::Duration;

use tollgate::{Quota, QuotaError};

use crate::support::{DAY, FIFTY_YEARS, HOUR, MINUTE, MS, Pair, S, YEAR, at, bucket, nanos, quota, wait_of};

#[test]
fn c12_a_long_idle_fills_the_bucket_and_no_more() {
    let mut limit = Pair::holding(300_000, S, 300_000, 0, 0);
    assert_eq!(limit.remaining(12 * HOUR), 300_000);
    limit.ok(1, 12 * HOUR);
    assert_eq!(limit.remaining(12 * HOUR), 299_999);
    for tokens in [1, 1000, 999_983, 10_000_000_000] {
        for idle in [HOUR, 7 * DAY, 30 * DAY, YEAR, 10 * YEAR, FIFTY_YEARS] {
            let mut limit = Pair::holding(tokens, S, tokens, 0, 0);
            assert_eq!(limit.remaining(idle), tokens, "{tokens}/s after {idle} ns");
            limit.ok(tokens, idle);
            assert_eq!(limit.remaining(idle), 0);
        }
    }
}

#[test]
fn c13_a_byte_limiter_idle_for_a_week_does_not_wait() {
    let mut limit = Pair::holding(50_000_000, S, 50_000_000, 0, 0);
    assert_eq!(limit.ask(50_000_000, 7 * DAY), crate::oracle::Answer::Admitted);
    limit.ok(50_000_000, 7 * DAY);
    assert_eq!(limit.to_full(7 * DAY), S);
    for rate in [1_000_000, 125_000_000, 1_250_000_000, 9_999_999_999] {
        let mut limit = Pair::holding(rate, S, rate, 0, 0);
        limit.ok(rate, 400 * DAY);
        let full = limit.to_full(400 * DAY);
        assert!(full == S || full == S + 1, "{rate} bytes a second: {full}");
    }
}

/// Waiting belongs to a later floor; what it stands on is that a wait is never longer or shorter than it is because
/// somewhere a sum was too large.
#[test]
fn c14_a_wait_does_not_depend_on_how_long_the_caller_would_wait() {
    let mut limit = Pair::new(1, S, 1);
    limit.ok(1, 0);
    limit.deny(1, 0, S);
    for end in [2 * S, DAY, YEAR, FIFTY_YEARS - 1, FIFTY_YEARS] {
        let mut limit = Pair::new(1, S, 1);
        limit.pause_until(end);
        for now in [0, 1, S, end - 1] {
            limit.deny(1, now, end - now);
        }
    }
    for end in [u64::MAX - 1, u64::MAX / 2 + 1, i64::MAX as u64, i64::MAX as u64 - 1] {
        let paused = bucket(quota(1, S, 1));
        paused.pause_until(at(end));
        let wait = wait_of(paused.try_acquire_at(at(S)).unwrap_err());
        assert!(wait >= end - S, "a pause until {end}: {wait}");
    }
    let paused = bucket(quota(1, S, 1));
    paused.pause_for(Duration::MAX);
    let refusal = paused.try_acquire_at(at(S)).unwrap_err();
    assert_eq!(refusal.wait(), Some(nanos(u64::MAX)), "a pause without end");
}

#[test]
fn c15_more_than_a_token_a_nanosecond() {
    let tokens = 1_000_000_001;
    let mut limit = Pair::new(tokens, S, tokens);
    limit.ok(tokens, 0);
    limit.deny(1, 0, 1);
    let mut limit = Pair::new(2_000_000_000, S, 1);
    limit.ok(1, 0);
    limit.deny(1, 0, 1);
    limit.ok(1, 1);
    limit.deny(1, 1, 1);
    for tokens in [1_500_000_000, 1_999_999_999, 3_000_000_000, 9_999_999_999, 10_000_000_000] {
        let mut limit = Pair::new(tokens, S, tokens);
        limit.ok(tokens, 0);
        limit.deny(1, 0, 1);
        for nanos in 1..100 {
            let due = (u128::from(tokens) * u128::from(nanos) / u128::from(S)) as u64;
            assert!(
                limit.remaining(nanos) <= due && limit.remaining(nanos + 1) >= due,
                "{tokens}/s after {nanos} ns"
            );
        }
    }
}

#[test]
fn c16_a_capacity_that_does_not_fit_is_an_error_and_never_another_capacity() {
    let too_large = |capacity| Err(QuotaError::CapacityTooLarge { capacity });
    for capacity in [i64::MAX as u64, 1 << 61, (1 << 61) + 1, 1 << 62, u64::MAX] {
        assert_eq!(Quota::with_burst(1, nanos(S), capacity), too_large(capacity));
        assert_eq!(quota(1, S, 1).burst(capacity), too_large(capacity));
    }
    for capacity in [u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, (1 << 53) + 1, 1 << 60, (1 << 61) - 1] {
        let mut limit = Pair::new(1, S, capacity);
        limit.ok(1, 0);
        assert_eq!(limit.remaining(0), capacity - 1);
        limit.ok(1, 0);
        assert_eq!(limit.remaining(0), capacity - 2);
        let full = limit.to_full(0);
        assert!(full == 2 * S || (!limit.is_exact() && full == 2 * S + 1), "capacity {capacity}: {full}");
        limit.ok(capacity - 2, 0);
        assert_eq!(limit.remaining(0), 0);
    }
}

#[test]
fn c17_a_rate_of_zero_is_refused_when_it_is_built() {
    for period in [1, MS, S, HOUR, YEAR] {
        for burst in [1, 100, 1 << 60] {
            assert_eq!(Quota::with_burst(0, nanos(period), burst), Err(QuotaError::ZeroTokens));
        }
    }
    assert_eq!(Quota::per_second(0), Err(QuotaError::ZeroTokens));
    assert_eq!(Quota::per_minute(0), Err(QuotaError::ZeroTokens));
    assert_eq!(Quota::per_hour(0), Err(QuotaError::ZeroTokens));
    assert_eq!(Quota::per_day(0), Err(QuotaError::ZeroTokens));
    assert_eq!(Quota::new(1, Duration::ZERO), Err(QuotaError::ZeroPeriod));
}

#[test]
fn c18_more_than_a_token_a_nanosecond_in_a_large_bucket_divides_by_nothing() {
    let limit = Pair::holding(10_000_000, 5 * MS, 10_000_000, 0, 0);
    assert_eq!(limit.remaining(1), 2);
    assert_eq!(limit.remaining(2_500_000), 5_000_000);
    assert_eq!(limit.remaining(5 * MS - 1), 9_999_998);
    assert_eq!(limit.remaining(5 * MS), 10_000_000);
    for (tokens, period) in
        [(10, 1), (9, 1), (1 << 33, S), (1_000_000_000, 100 * MS), (1 << 35, 60 * S), (7, MINUTE)]
    {
        let limit = Pair::holding(tokens, period, tokens, 0, 0);
        assert_eq!(limit.remaining(0), 0);
        let full = limit.to_full(0);
        assert!(full == period || full == period + 1, "{tokens} in {period} ns: full in {full}");
        assert_eq!(limit.remaining(full), tokens);
    }
}
