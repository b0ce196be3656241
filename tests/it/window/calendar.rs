//! Days and months of time zones: month ends, leap days, clock changes.

use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
use tollgate::window::{Calendar, Fixed, Schedule};
use tollgate::{Manual, Nanos};

use super::{at, wait};

const HOUR: u64 = 3_600_000_000_000;

fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

fn reading(text: &str) -> Nanos {
    at(u64::try_from(text.parse::<Timestamp>().unwrap().as_nanosecond()).unwrap())
}

/// The begin and the end of the window around a reading, in UTC.
fn window(calendar: &Calendar, text: &str) -> [String; 2] {
    let window = calendar.window_at(reading(text));
    [window, window + 1].map(|window| {
        let begin = i128::from(calendar.begin_of(window).as_u64());
        Timestamp::from_nanosecond(begin).unwrap().to_string()
    })
}

#[test]
fn days_and_months_in_utc() {
    let (days, months) = (Calendar::days(&TimeZone::UTC).unwrap(), Calendar::months(&TimeZone::UTC).unwrap());
    for (now, day, month) in [
        (
            "2028-02-29T23:59:59Z",
            ["2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"],
            ["2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
        ),
        (
            "2027-02-28T12:00:00Z",
            ["2027-02-28T00:00:00Z", "2027-03-01T00:00:00Z"],
            ["2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z"],
        ),
        (
            "2026-12-31T23:59:59.999999999Z",
            ["2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"],
            ["2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
        ),
        (
            "2027-01-01T00:00:00Z",
            ["2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z"],
            ["2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"],
        ),
    ] {
        assert_eq!(
            (window(&days, now), window(&months, now)),
            (day.map(Into::into), month.map(Into::into)),
            "{now}"
        );
    }
}

#[test]
fn days_of_clock_changes_are_shorter_and_longer() {
    let days = Calendar::days(&berlin()).unwrap();
    let spring = ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"];
    let autumn = ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"];
    assert_eq!(window(&days, "2026-03-29T01:00:00Z"), spring, "23 hours");
    assert_eq!(window(&days, "2026-10-25T00:30:00Z"), autumn, "25 hours");
    // Half past two comes twice, and belongs to one day.
    assert_eq!(
        days.window_at(reading("2026-10-25T00:30:00Z")),
        days.window_at(reading("2026-10-25T01:30:00Z"))
    );
    let months = Calendar::months(&berlin()).unwrap();
    assert_eq!(window(&months, "2026-03-29T01:00:00Z"), ["2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"]);
}

#[test]
fn a_day_that_has_no_midnight_begins_with_its_first_moment() {
    // The clocks go from 24:00 to 01:00 as the last Sunday of March begins, and back as that of October ends at 24:00.
    let beirut = TimeZone::posix("EET-2EEST,M3.5.0/0,M10.5.0/0").unwrap();
    let days = Calendar::days(&beirut).unwrap();
    assert_eq!(window(&days, "2026-03-28T22:30:00Z"), ["2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"]);
    // In October 23:00 to 24:00 comes twice on Saturday.
    assert_eq!(window(&days, "2026-10-24T21:30:00Z"), ["2026-10-23T21:00:00Z", "2026-10-24T22:00:00Z"]);
}

/// Every reading around every begin of eighty years is in the window that the zone itself says.
#[test]
fn windows_are_those_of_the_zone() {
    for zone in
        [TimeZone::UTC, berlin(), TimeZone::posix("<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45").unwrap()]
    {
        let months = Calendar::months(&zone).unwrap();
        for window in 1..=months.last() {
            let begin = months.begin_of(window);
            for (now, window) in [(begin.as_u64() - 1, window - 1), (begin.as_u64(), window)] {
                assert_eq!(months.window_at(at(now)), window);
                let local =
                    Timestamp::from_nanosecond(now.into()).unwrap().to_zoned_datetime(zone.clone()).date();
                let number = (i64::from(local.year()) - 2020) * 12 + i64::from(local.month()) - 1;
                assert_eq!(u64::try_from(number).unwrap(), window, "{local}");
            }
        }
        let days = Calendar::days(&zone).unwrap();
        let hours = (reading("2026-01-01T00:00:00Z").as_u64()..reading("2029-01-01T00:00:00Z").as_u64())
            .step_by(HOUR as usize);
        for now in hours {
            let local =
                Timestamp::from_nanosecond(now.into()).unwrap().to_zoned_datetime(zone.clone()).date();
            let days_since = local.since(date(2020, 1, 1)).unwrap().get_days();
            assert_eq!(days.window_at(at(now)), days_since as u64, "{local}");
        }
        assert_eq!(days.last(), 29_220);
    }
}

#[test]
fn before_and_after_the_calendar_there_is_one_window_each() {
    let months = Calendar::months(&TimeZone::UTC).unwrap();
    assert_eq!(months.last(), 80 * 12);
    assert_eq!([Nanos::ZERO, reading("2019-05-05T00:00:00Z")].map(|now| months.window_at(now)), [0, 0]);
    assert_eq!([reading("2100-01-01T00:00:00Z"), Nanos::MAX].map(|now| months.window_at(now)), [960, 960]);
    assert_eq!((months.begin_of(0), months.begin_of(961)), (Nanos::ZERO, Nanos::MAX));
    let limit = Fixed::with_clock(1, months, Manual::new()).unwrap();
    assert!(
        limit.try_acquire_at(at(0)).is_ok() && limit.try_acquire_at(reading("2020-01-31T00:00:00Z")).is_err()
    );
    assert!(limit.try_acquire_at(Nanos::MAX).is_ok());
    assert_eq!(wait(limit.try_acquire_at(Nanos::MAX)), Some(u64::MAX));
}

/// A monthly cap over a leap day and a clock change: the wait is exact, and a nanosecond less is not enough.
#[test]
fn the_wait_is_to_the_end_of_the_month() {
    let limit =
        Fixed::with_clock(1_000_000_000_000, Calendar::months(&berlin()).unwrap(), Manual::new()).unwrap();
    for (now, next) in [
        ("2028-02-01T00:00:00Z", "2028-02-29T23:00:00Z"),
        ("2028-03-05T12:00:00Z", "2028-03-31T22:00:00Z"),
        ("2028-10-31T22:59:59Z", "2028-10-31T23:00:00Z"),
    ] {
        let (now, next) = (reading(now), reading(next));
        assert!(limit.try_acquire_n_at(limit.limit(), now).is_ok());
        assert_eq!(wait(limit.try_acquire_at(now)), Some(next.as_u64() - now.as_u64()));
        assert!(limit.try_acquire_at(at(next.as_u64() - 1)).is_err());
        assert_eq!(limit.wait_for_at(1, next), Ok(std::time::Duration::ZERO));
    }
}

#[test]
fn a_calendar_is_shared_cheaply() {
    let days = Calendar::days(&berlin()).unwrap();
    let copy = days.clone();
    assert_eq!(days, copy);
}
