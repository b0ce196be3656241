//! Tokens are neither lost nor made.

use tollgate::Clock;
use tollgate_loom_tests::{Admission, any_below, at, bucket, bucket_of, each, missing, sample, within};

/// With the clock standing still, 64 calls for 20 tokens: 20 are admitted, never one more or less.
#[test]
fn eight_threads_take_all_there_is() {
    sample("tokens_take_all", 5_000, || {
        let bucket = bucket(20);
        let take = move |_| (0..8).filter(|_| bucket.try_acquire_at(at(0)).is_ok()).count();
        assert_eq!(each(8, take).iter().sum::<usize>(), 20);
    });
}

/// As many calls as tokens: each is admitted, and nothing is left.
#[test]
fn three_threads_of_two_are_all_admitted() {
    sample("tokens_all_admitted", 20_000, || {
        let bucket = bucket(6);
        let admitted = each(3, move |_| [(); 2].map(|()| bucket.try_acquire_at(at(0)).is_ok()));
        assert_eq!(admitted, [[true, true]; 3]);
        assert_eq!(missing(bucket, 0), 6);
    });
}

/// Admissions, parts and debts, of which some are given back: what is missing is what was kept.
#[test]
fn what_is_missing_was_kept() {
    sample("tokens_missing_were_kept", 5_000, || {
        let bucket = bucket(20);
        let keep_some = move |_| {
            let mut kept = 0;
            for _ in 0..8 {
                let asked = 1 + any_below(5);
                let taken = match any_below(4) {
                    0 => bucket.acquire_up_to_at(asked, at(0)),
                    1 => {
                        bucket.charge_at(asked, at(0));
                        asked
                    }
                    _ => bucket.try_acquire_n_at(asked, at(0)).map_or(0, |()| asked),
                };
                let returned = any_below(taken + 1);
                bucket.refund_at(returned, at(0));
                kept += taken - returned;
            }
            kept
        };
        assert_eq!(each(8, keep_some).iter().sum::<u64>(), missing(bucket, 0));
    });
}

/// The clock moves on while seven threads ask with readings new and old: the bound holds in every interval, and so it
/// does with what is left taken at the end.
#[test]
fn the_bound_holds_for_any_readings() {
    const PERIOD: u64 = 10;
    const CAPACITY: u64 = 5;
    sample("tokens_bound_for_any_readings", 5_000, || {
        let bucket = bucket_of(PERIOD, CAPACITY);
        let admitted = each(8, move |thread| {
            let mut admitted = Vec::new();
            for step in 1..=8 {
                if thread == 0 {
                    bucket.clock().set(at(step * 12));
                    continue;
                }
                let now = bucket.clock().now().as_u64();
                let (now, cost) = (now.saturating_sub(any_below(20)), 1 + any_below(3));
                if bucket.try_acquire_n_at(cost, at(now)).is_ok() {
                    admitted.push(Admission { at: now, cost });
                }
            }
            admitted
        });
        let mut admitted = admitted.concat();
        admitted.push(Admission { at: 96, cost: bucket.drain_at(at(96)) });
        assert!(within(PERIOD, CAPACITY, &admitted), "{admitted:?}");
    });
}
