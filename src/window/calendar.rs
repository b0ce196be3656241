//! Days and months of a time zone.
//!
//! All windows are worked out once, as runs of windows of one length: a year of days is a handful of runs, one for each
//! change of the offset. So a decision neither asks a time zone nor allocates, and a window can have no other number later.

use std::sync::Arc;

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

use crate::nanos::Nanos;
use crate::window::{Schedule, WindowError};

/// The first day that is told from others. What lies before is in the first window.
const FIRST: Date = date(2020, 1, 1);
/// The day at which the last window begins, or the first of its month; it does not end.
const LAST: Date = date(2100, 1, 1);

/// Windows that begin with each day or each month of the calendar, in any time zone, from 2020 to 2100.
///
/// A day begins with its first moment, which is not midnight where a clock change leaves midnight out; the days of such
/// changes are shorter or longer than others. It is for clocks whose readings are nanoseconds since the Unix epoch, as those
/// of [`Wall`](crate::window::Wall). What lies before 2020 belongs to the first window, and the last one does not end, so a
/// clock that is wrong by decades opens no window after the other.
///
/// The time zone is asked once, here; its rules as they are known then stay. For UTC days,
/// [`Every`](crate::window::Every) of 24 hours is the same.
///
/// ```
/// use jiff::tz::TimeZone;
/// use tollgate::Manual;
/// use tollgate::window::{Calendar, Fixed};
///
/// // With a time zone database: TimeZone::get("Europe/Berlin")?
/// let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3")?;
/// let now = "2026-02-28T22:59:59Z".parse::<jiff::Timestamp>()?;
/// let clock = Manual::starting_at(std::time::Duration::from_secs(now.as_second() as u64).into());
/// // A million a month, as in the invoice.
/// let spend = Fixed::with_clock(1_000_000, Calendar::months(&berlin)?, clock)?;
/// spend.try_acquire_n(1_000_000)?;
/// assert_eq!(spend.try_acquire().unwrap_err().wait(), Some(std::time::Duration::from_secs(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// In order, and never empty.
    runs: Arc<[Run]>,
    last: u64,
}

/// Consecutive windows of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The number of its first window.
    first: u64,
    /// The reading at which that begins.
    begin: u64,
    length: u64,
}

impl Calendar {
    /// The days of a time zone. It takes some 30 000 looks into the zone: milliseconds.
    ///
    /// # Errors
    ///
    /// [`WindowError::NoSuchDay`] if the time zone has no time for a day.
    pub fn days(zone: &TimeZone) -> Result<Self, WindowError> {
        Self::of(zone, |day| day.tomorrow())
    }

    /// The months of a time zone.
    ///
    /// # Errors
    ///
    /// As [`days`](Self::days).
    pub fn months(zone: &TimeZone) -> Result<Self, WindowError> {
        Self::of(zone, |day| day.last_of_month().tomorrow())
    }

    fn of(zone: &TimeZone, next: impl Fn(Date) -> Result<Date, jiff::Error>) -> Result<Self, WindowError> {
        let mut windows = Windows { runs: Vec::new(), begin: 0, number: 0 };
        let mut date = FIRST;
        while date < LAST {
            date = next(date).map_err(|_| WindowError::NoSuchDay { date })?;
            windows.begin_at(start_of(zone, date)?);
        }
        let Windows { mut runs, begin, number } = windows;
        runs.push(Run { first: number, begin, length: u64::MAX });
        Ok(Self { runs: runs.into(), last: number })
    }

    /// The run that a reading lies in, or that a window does.
    fn run(&self, begins_by: impl Fn(&Run) -> bool) -> Run {
        let after = self.runs.partition_point(begins_by);
        let run = after.checked_sub(1).and_then(|at| self.runs.get(at));
        run.copied().unwrap_or(Run { first: 0, begin: 0, length: u64::MAX })
    }
}

impl Schedule for Calendar {
    /// Some ten comparisons and a division.
    fn window_at(&self, now: Nanos) -> u64 {
        let now = now.as_u64();
        let run = self.run(|run| run.begin <= now);
        run.first + now.saturating_sub(run.begin) / run.length
    }

    fn begin_of(&self, window: u64) -> Nanos {
        if window > self.last {
            return Nanos::MAX;
        }
        let run = self.run(|run| run.first <= window);
        Nanos::new(run.begin.saturating_add((window - run.first).saturating_mul(run.length)))
    }

    fn last(&self) -> u64 {
        self.last
    }
}

/// The windows so far; the last one is open.
struct Windows {
    runs: Vec<Run>,
    begin: u64,
    number: u64,
}

impl Windows {
    /// Ends the open window and begins the next. One without a length never was: a day that a zone has left out.
    fn begin_at(&mut self, begin: u64) {
        let Some(length) = begin.checked_sub(self.begin).filter(|length| *length > 0) else { return };
        if self.runs.last().is_none_or(|run| run.length != length) {
            self.runs.push(Run { first: self.number, begin: self.begin, length });
        }
        self.begin = begin;
        self.number += 1;
    }
}

/// The first moment of a day, in nanoseconds since the Unix epoch. Noon is on every day that a zone has.
fn start_of(zone: &TimeZone, date: Date) -> Result<u64, WindowError> {
    let start = date.at(12, 0, 0, 0).to_zoned_datetime(zone.clone()).and_then(|noon| noon.start_of_day());
    let nanos = start.ok().and_then(|start| u64::try_from(start.timestamp().as_nanosecond()).ok());
    nanos.ok_or(WindowError::NoSuchDay { date })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zone may leave a day out: it begins and ends at one moment, and is no window.
    #[test]
    fn windows_of_one_length_are_one_run_and_none_is_empty() {
        let mut windows = Windows { runs: Vec::new(), begin: 0, number: 0 };
        [100, 110, 120, 120, 130, 135, 134].into_iter().for_each(|begin| windows.begin_at(begin));
        let runs: Vec<_> = windows.runs.iter().map(|run| (run.first, run.begin, run.length)).collect();
        assert_eq!(runs, [(0, 0, 100), (1, 100, 10), (4, 130, 5)]);
        assert_eq!((windows.begin, windows.number), (135, 5));
    }

    /// Two clock changes a year, a short and a long day, and the days between.
    #[test]
    fn eighty_years_are_some_hundred_runs() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let days = Calendar::days(&berlin).unwrap();
        // And what lies before, the days after the last change, and what lies behind.
        assert_eq!(days.runs.len(), 4 * 80 + 3);
        assert_eq!(Calendar::days(&TimeZone::UTC).unwrap().runs.len(), 3);
    }
}
