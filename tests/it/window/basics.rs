//! Worked examples of every verb, and of what charges and refunds mean.

use std::time::Duration;

use tollgate::window::{Every, Fixed, SlidingCounter};
use tollgate::{Denied, Limiter, Manual, Nanos};

use super::{at, counter, every, fixed, wait};

const MINUTE: u64 = 60_000_000_000;

#[test]
fn the_counter_of_the_specification() {
    // Limit 100, previous 50, current 60, 40 % through: 50 * 0.6 + 60 = 90.
    let limit = counter(100, MINUTE);
    assert!(limit.try_acquire_n_at(50, at(MINUTE / 2)).is_ok());
    let now = at(MINUTE + MINUTE * 4 / 10);
    assert!(limit.try_acquire_n_at(60, now).is_ok());
    assert_eq!(limit.peek_at(now).used(), 90);
    // 11 fit when 50 * remaining <= 29: after 42 % of the window.
    assert_eq!(wait(limit.try_acquire_n_at(11, now)), Some(MINUTE * 2 / 100));
    assert!(limit.try_acquire_n_at(10, now).is_ok());
    assert_eq!(limit.peek_at(now).remaining(), 0);
}

#[test]
fn a_limit_per_window_begins_anew_in_each() {
    let limit = fixed(3, 1000);
    assert!((0..3).all(|_| limit.try_acquire_at(at(999)).is_ok()));
    assert_eq!(wait(limit.try_acquire_at(at(999))), Some(1));
    assert!(limit.try_acquire_n_at(3, at(1000)).is_ok());
    assert_eq!(wait(limit.try_acquire_n_at(2, at(1250))), Some(750));
    assert_eq!(limit.acquire_up_to_at(9, at(2000)), 3);
    assert_eq!(limit.acquire_up_to_at(9, at(2000)), 0);
    assert_eq!(limit.acquire_up_to_at(0, at(3000)), 0);
    assert_eq!(limit.peek_at(at(2001)).time_to_reset(), Duration::from_nanos(999));
}

#[test]
fn windows_are_aligned_to_an_epoch() {
    let windows = every(1000).aligned_to(at(10_300));
    let limit = Fixed::with_clock(1, windows, Manual::new()).unwrap();
    assert_eq!(limit.schedule(), &windows);
    let admitted: Vec<_> = (0..3000).filter(|now| limit.try_acquire_at(at(*now)).is_ok()).collect();
    assert_eq!(admitted, [0, 300, 1300, 2300]);
    let counter = SlidingCounter::with_clock(1, windows, Manual::new()).unwrap();
    let admitted: Vec<_> = (0..5000).filter(|now| counter.try_acquire_at(at(*now)).is_ok()).collect();
    // One weighs until the window after its own is over.
    assert_eq!(admitted, [0, 1300, 3300]);
}

#[test]
fn costs_have_a_range() {
    let limit = fixed(3, 1000);
    assert_eq!(limit.try_acquire_n(0), Err(Denied::ZeroCost));
    assert_eq!(limit.try_acquire_n(4), Err(Denied::OverCapacity { cost: 4, capacity: 3 }));
    assert_eq!(limit.wait_for(u64::MAX), Err(Denied::OverCapacity { cost: u64::MAX, capacity: 3 }));
    assert_eq!(limit.wait_for(3), Ok(Duration::ZERO));
    assert_eq!(limit.limit(), 3);
}

#[test]
fn every_form_is_a_limiter() {
    fn two(limit: &impl Limiter) -> [bool; 3] {
        [limit.try_acquire().is_ok(), limit.try_acquire_n(1).is_ok(), limit.try_acquire().is_ok()]
    }
    assert_eq!(two(&fixed(2, 1000)), [true, true, false]);
    assert_eq!(two(&counter(2, 1000)), [true, true, false]);
    #[cfg(feature = "std")]
    assert_eq!(two(&super::log(2, 1000)), [true, true, false]);
}

#[cfg(feature = "std")]
#[test]
fn each_is_made_on_the_default_clock() {
    use tollgate::window::SlidingLog;

    let hour = Duration::from_secs(3600);
    assert!(Fixed::new(5, hour).unwrap().try_acquire_n(5).is_ok());
    let counter = SlidingCounter::new(5, hour).unwrap();
    assert!(counter.try_acquire_n(5).is_ok() && counter.try_acquire().is_err());
    assert_eq!(counter.schedule().length(), hour);
    let log = SlidingLog::new(5, hour).unwrap();
    assert!(log.try_acquire_n(5).is_ok() && log.try_acquire().is_err());
    assert_eq!((log.length(), log.entries()), (hour, 1));
    let text = format!("{log:?} {counter:?}");
    assert!(
        text.contains("used: 5") && text.contains("WindowLog") && text.contains("WeightedWindows"),
        "{text}"
    );
}

#[test]
fn an_overrun_of_a_fixed_window_is_forgotten_with_it() {
    let limit = fixed(10, 1_000_000);
    limit.charge_at(25, at(0));
    let usage = limit.peek_at(at(0));
    assert_eq!((usage.used(), usage.remaining(), usage.overrun()), (25, 0, 15));
    assert_eq!(wait(limit.try_acquire_at(at(0))), Some(1_000_000));
    assert!(limit.try_acquire_n_at(10, at(1_000_000)).is_ok());
}

#[test]
fn an_overrun_of_the_counter_weighs_in_the_next_window() {
    let length = 1_000_000_000;
    let limit = counter(10, length);
    limit.charge_at(25, at(0));
    // 25 * remaining <= 9.
    assert_eq!(wait(limit.try_acquire_at(at(0))), Some(length + length * 64 / 100));
    assert!(limit.try_acquire_n_at(10, at(2 * length)).is_ok());
}

#[cfg(feature = "std")]
#[test]
fn an_overrun_of_the_log_counts_as_long_as_anything() {
    let limit = super::log(10, 1000);
    limit.charge_at(25, at(7));
    assert_eq!(limit.peek_at(at(7)).overrun(), 15);
    assert_eq!(wait(limit.try_acquire_at(at(8))), Some(999));
    assert!(limit.try_acquire_n_at(10, at(1007)).is_ok());
}

/// Memory is bounded: beyond that, charges share the last entry, which counts for longer.
#[cfg(feature = "std")]
#[test]
fn a_log_has_so_many_entries_and_no_more() {
    let limit = super::log(10, 1_000_000);
    for now in 0..2000 {
        limit.charge_at(1, at(now));
    }
    assert_eq!((limit.entries(), limit.peek_at(at(2000)).used()), (1024, 2000));
    assert_eq!(limit.peek_at(at(1_001_022)).used(), 977, "all but the last");
    assert_eq!(limit.peek_at(at(1_001_998)).used(), 977);
    assert_eq!(limit.peek_at(at(1_001_999)).used(), 0);
    let limit = super::log(5000, 1_000_000);
    assert!((0..6000).all(|now| limit.try_acquire_at(at(now)).is_ok() == (now < 5000)));
    assert_eq!(limit.entries(), 5000);
}

#[test]
fn a_charge_of_nothing_counts_nothing_and_opens_no_window() {
    let limit = fixed(1, 1000);
    limit.charge_at(0, at(5000));
    assert!(limit.try_acquire_at(at(0)).is_ok());
}

/// C46: what comes late must not take from others.
#[test]
fn a_refund_counts_in_its_own_window_only() {
    let limit = fixed(10, 1_000_000);
    assert!(limit.try_acquire_n_at(8, at(5)).is_ok());
    limit.refund(3, at(7));
    assert_eq!(limit.peek_at(at(7)).used(), 5);
    limit.refund(100, at(5));
    assert_eq!(limit.peek_at(at(7)).used(), 0);
    assert!(limit.try_acquire_n_at(8, at(9)).is_ok());
    assert!(limit.try_acquire_n_at(10, at(1_000_000)).is_ok());
    limit.refund(8, at(9));
    assert_eq!(limit.peek_at(at(1_000_000)).used(), 10, "that window is over");
    limit.refund(8, at(2_000_000));
    assert_eq!(limit.peek_at(at(1_000_000)).used(), 10, "that window has not begun");
}

#[test]
fn a_refund_lowers_what_the_window_before_weighs() {
    let length = 1_000_000_000;
    let limit = counter(10, length);
    assert!(limit.try_acquire_n_at(10, at(5)).is_ok());
    assert!(limit.try_acquire_n_at(2, at(length + length / 2)).is_ok());
    limit.refund(6, at(5));
    // 4 * 0.5 + 2
    assert_eq!(limit.peek_at(at(length + length / 2)).used(), 4);
    limit.refund(2, at(length));
    assert_eq!(limit.peek_at(at(length + length / 2)).used(), 2);
    assert!(limit.try_acquire_at(at(2 * length)).is_ok());
    limit.refund(4, at(5));
    assert_eq!(limit.peek_at(at(2 * length)).used(), 1, "that window is over");
}

/// What is counted in larger units gives back whole ones only.
#[test]
fn a_refund_to_a_rounded_count_is_rounded_down() {
    let second = 1_000_000_000;
    let limit = counter(1 << 17, second);
    let granularity = limit.granularity();
    assert_eq!(granularity, 512);
    assert!(limit.try_acquire_n_at(1 << 17, at(0)).is_ok());
    limit.charge_at(1, at(second));
    let mut refunded = |cost| {
        limit.refund(cost, at(0));
        (1 << 17) + 1 - limit.peek_at(at(second)).used()
    };
    assert_eq!([511, 512, 1023].map(&mut refunded), [0, 512, 1024]);
}

#[cfg(feature = "std")]
#[test]
fn a_refund_lowers_the_entry_of_its_reading() {
    let limit = super::log(10, 1000);
    for (now, cost) in [(10, 3), (20, 4), (20, 1), (30, 2)] {
        assert!(limit.try_acquire_n_at(cost, at(now)).is_ok());
    }
    assert_eq!(limit.entries(), 3, "equal readings share an entry");
    limit.refund(2, at(20));
    assert_eq!((limit.peek_at(at(30)).used(), limit.peek_at(at(1010)).used()), (8, 5));
    limit.refund(9, at(20));
    assert_eq!((limit.peek_at(at(30)).used(), limit.entries()), (5, 2), "no more than is there");
    limit.refund(1, at(25));
    assert_eq!(limit.peek_at(at(30)).used(), 5, "nothing was taken then");
    assert!(limit.try_acquire_n_at(8, at(1010)).is_ok());
    limit.refund(3, at(10));
    assert_eq!(limit.peek_at(at(1010)).used(), 10, "it has left");
}

#[test]
fn a_reading_of_an_earlier_window_is_refused_until_the_later_begins() {
    let limit = fixed(2, 1000);
    assert!(limit.try_acquire_at(at(1000)).is_ok());
    assert_eq!(wait(limit.try_acquire_at(at(990))), Some(10));
    assert_eq!(wait(limit.try_acquire_n_at(2, at(990))), Some(1010));
    assert_eq!(limit.acquire_up_to_at(1, at(990)), 0);
    limit.charge_at(1, at(990));
    assert_eq!(limit.peek_at(at(1000)).used(), 2, "a charge counts in the later window");
    let limit = counter(2, 1000);
    assert!(limit.try_acquire_at(at(1000)).is_ok());
    assert_eq!(wait(limit.try_acquire_at(at(990))), Some(10));
    assert_eq!(limit.acquire_up_to_at(1, at(990)), 0);
    // One weighs nothing at the end of the window after its own.
    assert_eq!(wait(limit.try_acquire_n_at(2, at(990))), Some(2010));
}

#[cfg(feature = "std")]
#[test]
fn an_old_reading_finds_what_was_entered_later() {
    let limit = super::log(2, 1000);
    assert!(limit.try_acquire_at(at(500)).is_ok());
    assert!(limit.try_acquire_at(at(400)).is_ok(), "entered at 500");
    assert_eq!(wait(limit.try_acquire_at(at(400))), Some(1100));
    assert!(limit.try_acquire_at(at(1500)).is_ok());
    // At 1499 two more would count, which have been dropped.
    assert_eq!(wait(limit.try_acquire_at(at(1499))), Some(1));
    assert_eq!(limit.acquire_up_to_at(1, at(1499)), 0);
}

#[test]
fn a_pause_is_kept_until_its_end_and_windows_go_on() {
    let limit = fixed(2, 1000);
    assert!(limit.try_acquire_at(at(100)).is_ok());
    limit.pause_until(at(600));
    limit.pause_until(at(300));
    assert_eq!(wait(limit.try_acquire_at(at(100))), Some(500));
    assert_eq!(wait(limit.try_acquire_n_at(2, at(100))), Some(900), "the window would be the later");
    assert_eq!(limit.acquire_up_to_at(1, at(100)), 0);
    assert_eq!(limit.peek_at(at(100)).paused_for(), Duration::from_nanos(500));
    limit.pause_until(at(1500));
    assert_eq!(wait(limit.try_acquire_n_at(2, at(100))), Some(1400));
    limit.resume();
    assert!(limit.try_acquire_at(at(100)).is_ok());
    limit.clock().set(at(2500));
    limit.pause_for(Duration::from_nanos(7));
    assert_eq!(limit.wait_for(1), Ok(Duration::from_nanos(7)));
}

#[test]
fn looks_tell_when_nothing_counts_any_more() {
    let length = 1000;
    let limit = counter(4, length);
    assert_eq!(limit.peek_at(at(123)).resets_at(), at(123));
    assert!(limit.try_acquire_at(at(123)).is_ok());
    assert_eq!(limit.peek_at(at(123)).resets_at(), at(2000));
    assert_eq!(limit.peek_at(at(1500)).resets_at(), at(2000));
    assert_eq!(limit.peek_at(at(2000)).time_to_reset(), Duration::ZERO);
    assert_eq!(Nanos::ZERO, at(0));
    let text = format!("{:?}", limit.peek_at(at(123)));
    assert_eq!(text, "Usage { limit: 4, used: 1, time_to_reset: 1.877µs, paused_for: 0ns }");
}

#[test]
fn errors_name_value_and_range() {
    let second = Every::new(Duration::from_secs(1)).unwrap();
    let error = Fixed::with_clock(1 << 28, second, Manual::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "limit of 268435456 tokens: must be at most 268435455 for windows of this length; take longer windows or \
         count in larger tokens"
    );
    let error = Fixed::with_clock(0, second, Manual::new()).unwrap_err();
    assert_eq!(error.to_string(), "limit of 0 tokens: must be at least 1");
    let error = Every::new(Duration::ZERO).unwrap_err();
    assert_eq!(error.to_string(), "window of 0ns: must be from 1 ns to 18446744073.709551615s");
}
