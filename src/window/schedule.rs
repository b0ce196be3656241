//! When windows begin.

use core::time::Duration;

use crate::nanos::Nanos;
use crate::window::WindowError;

/// Numbers the windows of a rule: which one a reading lies in, and when each begins.
///
/// [`Every`] has windows of one length, `Calendar` those of days and months. Bring your own for anything else. Windows are
/// numbered from 0 without a gap, each begins where the one before ends, and the answers never change; a schedule that
/// breaks this gives wrong waits, and one whose numbers fall refuses more.
pub trait Schedule {
    /// The number of the window that the reading lies in; it never falls as readings grow.
    fn window_at(&self, now: Nanos) -> u64;

    /// The first reading in that window; [`Nanos::MAX`] if it never begins.
    fn begin_of(&self, window: u64) -> Nanos;

    /// The number of the last window. What lies behind it counts as it.
    fn last(&self) -> u64;
}

impl<S: Schedule + ?Sized> Schedule for &S {
    fn window_at(&self, now: Nanos) -> u64 {
        (**self).window_at(now)
    }

    fn begin_of(&self, window: u64) -> Nanos {
        (**self).begin_of(window)
    }

    fn last(&self) -> u64 {
        (**self).last()
    }
}

/// Windows of one length, one after the other, over all readings that there are.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Nanos;
/// use tollgate::window::{Every, Schedule};
///
/// let minute = Duration::from_secs(60);
/// // They begin at 10 s, 70 s ... and the first is cut short by the clock's origin.
/// let windows = Every::new(minute)?.aligned_to(Nanos::from(Duration::from_secs(610)));
/// assert_eq!(windows.window_at(Nanos::ZERO), 0);
/// assert_eq!(windows.begin_of(1), Nanos::from(Duration::from_secs(10)));
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Every {
    length: u64,
    /// How far the first window begins before the clock's origin.
    before: u64,
}

impl Every {
    /// Windows of `length`, one of which begins at the clock's origin.
    ///
    /// # Errors
    ///
    /// [`WindowError::LengthOutOfRange`] for no length at all or 584 years.
    pub const fn new(length: Duration) -> Result<Self, WindowError> {
        match Nanos::from_duration(length).as_u64() {
            0 | u64::MAX => Err(WindowError::LengthOutOfRange { length }),
            nanos => Ok(Self { length: nanos, before: 0 }),
        }
    }

    /// The same, moved so that one begins at the reading `epoch`.
    pub const fn aligned_to(self, epoch: Nanos) -> Self {
        let into = epoch.as_u64() % self.length;
        Self { before: if into == 0 { 0 } else { self.length - into }, ..self }
    }

    /// The length of each.
    pub const fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    #[inline]
    pub(super) const fn length_nanos(&self) -> u64 {
        self.length
    }

    /// The window of a reading, and how much of it has passed. One division.
    #[inline]
    pub(super) const fn place(&self, now: u64) -> (u64, u64) {
        // The last nanoseconds of all may fall together, which is as if time stood still.
        let since_first = now.saturating_add(self.before);
        (since_first / self.length, since_first % self.length)
    }

    /// The reading at which so much of a window has passed; `u64::MAX` if there is none.
    pub(super) const fn reading(&self, window: u64, elapsed: u64) -> u64 {
        let since_first = window as u128 * self.length as u128 + elapsed as u128;
        let reading = since_first.saturating_sub(self.before as u128);
        // What `place` cannot tell apart from the last reading is never reached.
        if since_first < u64::MAX as u128 { reading as u64 } else { u64::MAX }
    }
}

impl Schedule for Every {
    #[inline]
    fn window_at(&self, now: Nanos) -> u64 {
        self.place(now.as_u64()).0
    }

    fn begin_of(&self, window: u64) -> Nanos {
        Nanos::new(self.reading(window, 0))
    }

    #[inline]
    fn last(&self) -> u64 {
        u64::MAX / self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_begins_where_the_last_ends() {
        for (length, epoch) in [(1, 0), (7, 0), (7, 3), (7, 14), (10, u64::MAX), (1 << 40, 12345)] {
            let every = Every::new(Duration::from_nanos(length)).unwrap().aligned_to(Nanos::new(epoch));
            for window in 0..5 {
                let begin = every.begin_of(window);
                assert_eq!(every.window_at(begin), window, "{every:?}");
                assert!(
                    begin == Nanos::ZERO || every.window_at(Nanos::new(begin.as_u64() - 1)) == window - 1
                );
            }
            assert_eq!(every.begin_of(1).as_u64() % length, epoch % length);
        }
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        let every = Every::new(Duration::from_nanos(10)).unwrap().aligned_to(Nanos::new(4));
        assert_eq!(every.window_at(Nanos::MAX), every.last());
        assert_eq!(every.begin_of(every.last() + 1), Nanos::MAX);
        assert_eq!(every.begin_of(u64::MAX), Nanos::MAX);
        let longest = Every::new(Duration::from_nanos(u64::MAX - 1)).unwrap();
        assert_eq!((longest.last(), longest.window_at(Nanos::MAX)), (1, 1));
    }

    #[test]
    fn lengths_have_a_range() {
        for length in [Duration::ZERO, Duration::MAX, Duration::from_nanos(u64::MAX)] {
            assert_eq!(Every::new(length), Err(WindowError::LengthOutOfRange { length }));
        }
    }
}
