//! `Snapshot`: carrying a bucket into another process, whose clock has another origin.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{Bucket, Manual, Quota, Snapshot, quota};

use crate::oracle::Oracle;
use crate::quotas::{Plain, costs, exact_quotas};
use crate::support::{DAY, HOUR, S, at, nanos, quota as plain};

/// Wall time at which the first process writes its state.
const SAVED: Duration = Duration::from_secs(1_700_000_000);
const DAY_LONG: Duration = Duration::from_secs(86_400);

/// A bucket of a process that has started at this reading of its own clock.
fn process(quota: Quota, origin: u64) -> Bucket<Manual> {
    Bucket::with_clock(quota, Manual::starting_at(at(origin)))
}

/// What `spent` of a bucket leaves to a process that comes `later` by the wall.
fn restored(quota: Quota, spent: u64, later: Duration, most: Duration) -> Bucket<Manual> {
    let first = process(quota, 9 * HOUR);
    let _kept = first.charge(spent);
    let saved = first.snapshot_at(at(9 * HOUR), SAVED);
    let second = process(quota, 5);
    second.restore_at(&saved, most, at(5), SAVED + later).unwrap();
    second
}

#[test]
fn the_next_process_goes_on_where_the_last_one_stopped() {
    let quota = quota!("1/s burst 10");
    for (seconds, available) in [(0, 4), (1, 5), (5, 9), (6, 10), (1000, 10)] {
        let next = restored(quota, 6, Duration::from_secs(seconds), DAY_LONG);
        assert_eq!(next.peek().available(), available, "{seconds} s later");
    }
    let part = restored(quota, 6, Duration::from_millis(1500), DAY_LONG);
    assert_eq!(part.peek().available(), 5);
    assert_eq!(part.peek().wait_for(6), Ok(Duration::from_millis(500)), "the started token is carried over");
}

#[test]
fn a_debt_is_carried_over() {
    let next = restored(quota!("1/s burst 10"), 15, Duration::from_secs(2), DAY_LONG);
    assert_eq!((next.peek().available(), next.peek().debt()), (0, 3));
    assert_eq!(next.peek().wait_for(1), Ok(Duration::from_secs(4)));
}

#[test]
fn a_wall_clock_that_went_back_is_no_time_passing() {
    let quota = quota!("1/s burst 10");
    let first = process(quota, 0);
    let _kept = first.charge(6);
    let saved = first.snapshot_at(at(0), SAVED);
    for back in [Duration::from_nanos(1), Duration::from_secs(3600), SAVED] {
        let next = process(quota, 0);
        next.restore_at(&saved, Duration::MAX, at(0), SAVED - back).unwrap();
        assert_eq!(next.peek().available(), 4, "{back:?} back");
    }
}

#[test]
fn a_wall_clock_that_ran_ahead_is_capped_by_the_caller() {
    let quota = quota!("1/h burst 10");
    for (most, available) in [(Duration::ZERO, 0), (Duration::from_secs(3 * 3600), 3), (Duration::MAX, 10)] {
        let next = restored(quota, 10, Duration::from_secs(100 * 365 * 86_400), most);
        assert_eq!(next.peek().available(), available, "at most {most:?}");
    }
    let next = restored(quota, 10, Duration::MAX - SAVED, Duration::MAX);
    assert_eq!(next.peek().available(), 10);
}

#[test]
fn a_pause_is_carried_over_for_what_is_left_of_it() {
    let quota = quota!("1/s burst 10");
    let first = process(quota, 9 * HOUR);
    first.pause_for(Duration::from_secs(30));
    let saved = first.snapshot_at(at(9 * HOUR + 10 * S), SAVED);
    let left = |later: u64, own: u64| {
        let next = process(quota, 7);
        next.pause_for(Duration::from_secs(own));
        next.restore_at(&saved, DAY_LONG, at(7), SAVED + Duration::from_secs(later)).unwrap();
        next.peek().paused_for()
    };
    assert_eq!(left(0, 0), Duration::from_secs(20));
    assert_eq!(left(15, 0), Duration::from_secs(5));
    assert_eq!(left(20, 0), Duration::ZERO);
    assert_eq!(left(1000, 0), Duration::ZERO);
    assert_eq!(left(15, 60), Duration::from_secs(60), "a longer pause of its own stays");
}

#[test]
fn a_snapshot_of_another_limit_is_refused_and_changes_nothing() {
    let first = process(quota!("1/s burst 10"), 0);
    let _kept = first.charge(6);
    let saved = first.snapshot_at(at(0), SAVED);
    for other in [quota!("2/s burst 10"), quota!("1/s burst 11"), quota!("1/min burst 10")] {
        let next = process(other, 0);
        let before = format!("{next:?}");
        let error = next.restore_at(&saved, DAY_LONG, at(0), SAVED).unwrap_err();
        assert_eq!((error.bucket, error.snapshot), (other, quota!("1/s burst 10")));
        let text = error.to_string();
        assert!(text.contains(&other.to_string()) && text.contains("1/s burst 10"), "{text}");
        assert_eq!(format!("{next:?}"), before);
    }
    let same = process(quota!("60/min burst 10 empty"), 0);
    assert_eq!(
        same.restore_at(&saved, DAY_LONG, at(0), SAVED),
        Ok(()),
        "the same rate and capacity in other words"
    );
    assert_eq!(same.peek().available(), 4);
}

#[test]
fn a_snapshot_tells_what_it_is_of() {
    let saved = process(quota!("1/s burst 10"), 3).snapshot_at(at(3), SAVED);
    assert_eq!((saved.quota(), saved.taken_at()), (quota!("1/s burst 10"), SAVED));
}

#[cfg(feature = "std")]
#[test]
fn within_one_process_the_wall_is_read_for_the_caller() {
    let first = Bucket::new(quota!("1/day burst 10"));
    first.try_acquire_n(7).unwrap();
    let saved = first.snapshot();
    let next = Bucket::new(quota!("1/day burst 10"));
    next.restore(&saved, Duration::from_secs(3600)).unwrap();
    assert_eq!(next.peek().available(), 3);
    let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    assert!(since_epoch - saved.taken_at() < Duration::from_secs(600), "{:?}", saved.taken_at());
}

/// A late undo after a restore gives back nothing that the restore gave.
#[test]
fn a_restore_counts_as_giving_back() {
    let limit = process(quota!("1/s burst 10"), 0);
    let full = limit.snapshot_at(at(0), SAVED);
    let charge = limit.try_charge(5).unwrap();
    limit.restore_at(&full, DAY_LONG, at(0), SAVED).unwrap();
    limit.try_acquire_n(5).unwrap();
    charge.undo();
    assert_eq!(limit.peek().available(), 5);
}

proptest! {
    /// Two processes in a row decide as one that ran through, if the wall went as their clocks did.
    #[test]
    fn two_processes_are_one(plain_quota in exact_quotas(), spent in costs(), origin in 0..DAY, later in 0..30 * DAY) {
        let Plain { tokens, period, burst } = plain_quota;
        let spent = spent.of(burst).min(2 * burst);
        let quota = plain(tokens, period, burst);
        let first = process(quota, origin);
        let _kept = first.charge(spent);
        let saved = first.snapshot_at(at(origin), SAVED);
        let next = process(quota, 17);
        next.restore_at(&saved, Duration::MAX, at(17), SAVED + nanos(later)).unwrap();
        let mut through = Oracle::new(tokens, period.into(), burst);
        through.charge(spent, 0);
        prop_assert_eq!(next.peek().time_to_full().as_nanos(), through.to_full(later));
        prop_assert_eq!(next.peek().available(), through.available(later));
        prop_assert_eq!(u128::from(next.peek().debt()), through.debt(later));
    }
}

#[cfg(feature = "serde")]
mod with_serde {
    use super::*;

    #[test]
    fn a_snapshot_survives_a_file() {
        let first = process(quota!("1/s burst 10"), 9 * HOUR);
        let _kept = first.charge(15);
        first.pause_for(Duration::from_millis(2500));
        let saved = first.snapshot_at(at(9 * HOUR), SAVED);
        let text = serde_json::to_string(&saved).unwrap();
        let read: Snapshot = serde_json::from_str(&text).unwrap();
        assert_eq!(read, saved, "{text}");
        assert!(text.contains("1/s burst 10"), "the limit can be read in it: {text}");
    }

    /// A file is input: whatever stands in it, nothing panics and nothing wraps.
    #[test]
    fn any_number_in_a_file_is_a_state() {
        let saved = process(quota!("1/s burst 10"), 0).snapshot_at(at(0), SAVED);
        for deficit in [0, 1, 1 << 61, u64::MAX - 1, u64::MAX] {
            let mut file = serde_json::to_value(saved).unwrap();
            file["deficit"] = deficit.into();
            let read: Snapshot = serde_json::from_value(file).unwrap();
            let next = process(quota!("1/s burst 10"), 20 * DAY);
            next.restore_at(&read, Duration::MAX, at(20 * DAY), SAVED).unwrap();
            assert_eq!(next.try_acquire_n(10).is_ok(), deficit == 0, "{deficit}: {next:?}");
            assert!(next.peek().available() <= 10);
        }
    }
}

#[cfg(not(feature = "serde"))]
#[test]
fn a_snapshot_is_a_value() {
    fn assert_value<T: Copy + Eq + Send + Sync + 'static>() {}
    assert_value::<Snapshot>();
}
