//! `Bucket`: what each call promises beyond the arithmetic, which `properties` compares with the model.

use std::sync::Arc;
use std::time::Duration;

use tollgate::{Bucket, Charge, Clock, Denied, Fill, Level, Manual, Nanos, Quota, quota};

use crate::support::{FIFTY_YEARS, MS, S, at, bucket, nanos, quota as plain, wait_of};

#[test]
fn a_bucket_is_shared_and_sent_between_threads() {
    fn assert_both<T: Send + Sync>() {}
    assert_both::<Bucket<Manual>>();
    assert_both::<Bucket<Arc<Manual>>>();
    assert_both::<Bucket<&Manual>>();
    assert_both::<Charge<'_, Manual>>();
    assert_both::<Level>();
    assert_both::<Denied>();
    #[cfg(feature = "std")]
    assert_both::<Bucket>();
}

#[cfg(feature = "std")]
#[test]
fn a_static_limiter_works() {
    use std::sync::LazyLock;
    static LIMIT: LazyLock<Bucket> = LazyLock::new(|| Bucket::new(quota!("1/day burst 3")));
    let admitted = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| LIMIT.try_acquire().is_ok())).collect();
        calls.into_iter().map(|call| call.join().unwrap()).filter(|admitted| *admitted).count()
    });
    assert_eq!(admitted, 3);
    assert_eq!(LIMIT.quota(), quota!("1/day burst 3"));
}

#[test]
fn debug_decodes_the_word() {
    let limit = bucket(quota!("2/s burst 3"));
    limit.try_acquire_n(2).unwrap();
    let text = format!("{limit:?}");
    for part in ["2/s burst 3", "available: 1", "debt: 0", "paused_for: 0ns", "arrival: 1000000000"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let _booked = limit.charge(4);
    limit.pause_until(at(7));
    let text = format!("{limit:?}");
    for part in ["available: 0", "debt: 3", "paused_for: 7ns", "arrival: 3000000000"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn calls_without_a_reading_take_it_from_the_clock() {
    let clock = Manual::starting_at(at(5 * S));
    let limit = Bucket::with_clock(quota!("1/s burst 2"), &clock);
    assert_eq!(limit.clock().now(), at(5 * S));
    assert_eq!(limit.try_acquire_n(2), Ok(()));
    assert_eq!(wait_of(limit.try_acquire().unwrap_err()), S);
    clock.advance(nanos(S));
    assert_eq!(limit.peek().available(), 1);
    assert_eq!(limit.try_acquire(), Ok(()));
    let _booked = limit.charge(1);
    assert_eq!(limit.peek().debt(), 1);
    limit.refund(2);
    assert_eq!(limit.peek().available(), 1);
    assert_eq!(limit.acquire_up_to(9), 1);
    clock.advance(nanos(S));
    assert_eq!(limit.drain(), 1);
    clock.advance(nanos(S));
    limit.try_charge(1).unwrap().undo();
    assert_eq!(limit.peek().available(), 1);
    limit.reset();
    assert_eq!(limit.peek().available(), 2);
    limit.pause_for(nanos(3));
    assert_eq!(limit.peek().paused_for(), nanos(3));
    assert_eq!(wait_of(limit.try_acquire().unwrap_err()), 3);
}

#[test]
fn a_refusal_says_which_of_three_things_it_is() {
    let limit = bucket(quota!("1/s burst 2"));
    assert_eq!(limit.try_acquire_n(2), Ok(()));
    assert!(matches!(limit.try_acquire_n(1), Err(Denied::NotYet(_))));
    assert_eq!(limit.try_acquire_n(3), Err(Denied::OverCapacity { cost: 3, capacity: 2 }));
    assert_eq!(limit.try_acquire_n(0), Err(Denied::ZeroCost));
    assert!(matches!(limit.try_charge(1), Err(Denied::NotYet(_))));
    assert!(matches!(limit.try_charge(3), Err(Denied::OverCapacity { cost: 3, capacity: 2 })));
    assert!(matches!(limit.try_charge(0), Err(Denied::ZeroCost)));
    let level = limit.peek();
    assert_eq!(level.wait_for(2), Ok(nanos(2 * S)));
    assert_eq!(level.wait_for(3), Err(Denied::OverCapacity { cost: 3, capacity: 2 }));
    assert_eq!(level.wait_for(0), Err(Denied::ZeroCost));
}

#[test]
fn a_pause_admits_nothing_before_its_end() {
    let limit = bucket(plain(1, S, 5));
    limit.pause_until(at(10 * S));
    for now in [0, 1, 5 * S, 10 * S - 1] {
        let refusal = limit.try_acquire_at(at(now)).unwrap_err();
        assert_eq!(refusal.wait(), Some(nanos(10 * S - now)));
        assert_eq!(limit.acquire_up_to_at(5, at(now)), 0);
        assert!(limit.try_charge_at(1, at(now)).is_err());
        assert_eq!(limit.peek_at(at(now)).wait_for(5), Ok(nanos(10 * S - now)));
    }
    assert_eq!(limit.try_acquire_n_at(5, at(10 * S)), Ok(()));
}

#[test]
fn only_resume_ends_a_pause_early() {
    let limit = bucket(plain(1, S, 5));
    limit.pause_until(at(10));
    limit.pause_until(at(4));
    limit.pause_for(nanos(7));
    limit.refund(5);
    limit.reset();
    limit.drain();
    limit.charge(1).undo();
    assert_eq!(limit.peek().paused_for(), nanos(10), "a pause is as long as the longest asked for");
    assert!(limit.try_acquire_at(at(9)).is_err());
    limit.resume();
    limit.refund(5);
    assert_eq!(limit.peek().paused_for(), Duration::ZERO);
    assert_eq!(limit.try_acquire(), Ok(()));
}

#[test]
fn the_tokens_go_on_during_a_pause_and_the_wait_is_the_later_of_the_two() {
    let limit = bucket(plain(1, S, 5));
    assert_eq!(limit.drain(), 5);
    limit.pause_until(at(3 * S));
    assert_eq!(limit.peek_at(at(2 * S)).available(), 2, "refill goes on");
    for (cost, ready) in [(1, 3 * S), (3, 3 * S), (4, 4 * S), (5, 5 * S)] {
        let not_yet = match limit.try_acquire_n_at(cost, at(S)) {
            Err(Denied::NotYet(not_yet)) => not_yet,
            other => panic!("{other:?}"),
        };
        assert_eq!((not_yet.ready_at(), not_yet.wait()), (at(ready), nanos(ready - S)), "cost {cost}");
    }
    let _booked = limit.charge_at(1, at(S));
    limit.refund_at(2, at(S));
    assert_eq!(limit.peek_at(at(S)).available(), 2, "charge and refund ignore a pause");
    assert_eq!(limit.drain_at(at(S)), 2);
}

#[test]
fn a_pause_does_not_hide_that_a_cost_is_never_admitted() {
    let limit = bucket(plain(1, S, 5));
    limit.pause_for(Duration::MAX);
    assert_eq!(limit.try_acquire_n(6), Err(Denied::OverCapacity { cost: 6, capacity: 5 }));
    assert_eq!(limit.try_acquire_n(0), Err(Denied::ZeroCost));
}

#[test]
fn acquire_up_to_takes_what_is_there() {
    let limit = bucket(plain(1, S, 5));
    assert_eq!(limit.acquire_up_to(0), 0);
    assert_eq!(limit.acquire_up_to(3), 3);
    assert_eq!(limit.acquire_up_to(3), 2);
    assert_eq!(limit.acquire_up_to(u64::MAX), 0);
    assert_eq!(limit.acquire_up_to_at(u64::MAX, at(2 * S + S / 2)), 2, "a started token is not there");
    assert_eq!(limit.try_acquire_at(at(3 * S)), Ok(()), "and is not lost");
}

#[test]
fn drain_takes_all_and_leaves_a_debt_alone() {
    let limit = bucket(plain(1, S, 5));
    assert_eq!(limit.drain(), 5);
    assert_eq!(limit.drain(), 0);
    assert_eq!(limit.drain_at(at(2 * S)), 2);
    let _booked = limit.charge_at(4, at(2 * S));
    assert_eq!(limit.drain_at(at(2 * S)), 0);
    assert_eq!(limit.peek_at(at(2 * S)).debt(), 4);
}

#[test]
fn a_charge_may_be_of_any_size_and_of_nothing() {
    let limit = bucket(plain(1, S, 5));
    let before = format!("{limit:?}");
    let _booked = limit.charge(0);
    assert_eq!(format!("{limit:?}"), before);
    {
        let booked = limit.charge(7);
        assert!(format!("{booked:?}").contains('7'), "{booked:?}");
    }
    assert_eq!((limit.peek().available(), limit.peek().debt()), (0, 2), "a charge that is dropped stays");
    assert_eq!(limit.peek().wait_for(1), Ok(nanos(3 * S)));
    let _booked = limit.charge(u64::MAX);
    assert!(limit.try_acquire_at(at(FIFTY_YEARS)).is_err());
    limit.reset_at(at(0));
    assert_eq!((limit.peek().available(), limit.peek().debt()), (5, 0));
}

#[test]
fn a_refund_pays_off_debt_first_and_stops_at_the_capacity() {
    let limit = bucket(plain(1, S, 5));
    let _booked = limit.charge(8);
    limit.refund(2);
    assert_eq!((limit.peek().available(), limit.peek().debt()), (0, 1));
    limit.refund(4);
    assert_eq!((limit.peek().available(), limit.peek().debt()), (3, 0));
    for amount in [3, 0, u64::MAX] {
        limit.refund(amount);
        assert_eq!(limit.peek().available(), 5);
    }
    assert_eq!(limit.try_acquire_n(5), Ok(()));
    assert!(limit.try_acquire().is_err());
}

#[test]
fn a_reset_goes_back_to_the_initial_fill() {
    for (fill, tokens) in [(Fill::Full, 5), (Fill::Empty, 0), (Fill::Tokens(2), 2)] {
        let limit = bucket(plain(1, S, 5).fill(fill).unwrap());
        for spent in [0, 5, 9] {
            let _booked = limit.charge(spent);
            limit.reset();
            assert_eq!((limit.peek().available(), limit.peek().debt()), (tokens, 0));
        }
        limit.reset_at(at(100 * S));
        assert_eq!(limit.peek_at(at(100 * S)).available(), tokens, "it takes tokens too");
    }
}

#[test]
fn a_level_tells_the_state_without_changing_it() {
    let limit = bucket(plain(1, S, 5));
    limit.try_acquire_n(2).unwrap();
    let before = format!("{limit:?}");
    let level = limit.peek_at(at(S / 2));
    assert_eq!((level.available(), level.debt()), (3, 0));
    assert_eq!(level.time_to_full(), nanos(3 * S / 2));
    assert_eq!(level.wait_for(3), Ok(Duration::ZERO));
    assert_eq!(level.wait_for(4), Ok(nanos(S / 2)));
    assert_eq!(format!("{limit:?}"), before);
    assert_eq!(level, limit.peek_at(at(S / 2)));
    let text = format!("{level:?}");
    for part in ["available: 3", "debt: 0", "time_to_full: 1.5s", "paused_for: 0ns"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

/// Fifty years are promised; at the end of all readings everything is refused, and the word has not wrapped.
#[test]
fn after_the_end_of_counting_everything_is_refused() {
    let quotas =
        [(1, S, 1), (8, 1, 1), (10, 1, 1 << 60), (1, 365 * 24 * 3600 * S, 1), (9, S, 100), (1_000_003, S, 7)];
    for (tokens, period, burst) in quotas {
        let limit = bucket(plain(tokens, period, burst));
        assert_eq!(limit.try_acquire_at(at(FIFTY_YEARS)), Ok(()), "{limit:?}");
        for past in [u64::MAX, u64::MAX - 1] {
            let refusal = limit.try_acquire_n_at(burst, at(past)).unwrap_err();
            assert!(matches!(refusal, Denied::NotYet(_)), "{refusal:?}");
            assert_eq!(refusal.wait(), Some(nanos(u64::MAX)), "there is no time to come back");
            assert_eq!(limit.acquire_up_to_at(burst, at(past)), 0);
            assert!(limit.peek_at(at(past)).wait_for(1).unwrap() > Duration::ZERO);
        }
        let _booked = limit.charge_at(u64::MAX, at(u64::MAX));
        for now in [0, 1, FIFTY_YEARS, u64::MAX] {
            assert!(limit.try_acquire_at(at(now)).is_err(), "{limit:?} at {now}");
        }
    }
}

#[test]
fn a_rate_slower_than_all_time_still_admits_its_first_tokens() {
    for period in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(1 << 40)] {
        let limit = bucket(Quota::with_burst(1, period, 3).unwrap());
        assert_eq!(limit.try_acquire_n(3), Ok(()));
        for now in [0, S, FIFTY_YEARS, u64::MAX] {
            let refusal = limit.try_acquire_at(at(now)).unwrap_err();
            assert!(refusal.wait() > Some(nanos(FIFTY_YEARS / 2)), "{refusal}");
        }
    }
}

#[test]
fn readings_saturate_and_do_not_wrap() {
    let limit = Bucket::with_clock(plain(1, MS, 5), Manual::starting_at(Nanos::MAX));
    assert!(limit.try_acquire().is_err());
    limit.pause_for(Duration::from_secs(1));
    assert_eq!(limit.peek().paused_for(), Duration::ZERO);
    limit.clock().set(at(0));
    assert!(limit.try_acquire().is_err(), "the pause lasts to the end of all readings");
}

#[test]
fn a_debt_that_no_refill_pays_off_is_never_full() {
    for quota in [quota!("1/s"), quota!("9/s burst 1")] {
        let bucket = bucket(quota);
        bucket.charge(u64::MAX);
        assert_eq!(bucket.peek().time_to_full(), nanos(u64::MAX));
        assert_eq!(bucket.peek().wait_for(1), Ok(nanos(u64::MAX)));
    }
}
