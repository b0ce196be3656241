//! Why a limit by windows cannot be built.

use core::fmt;
use core::time::Duration;

/// A limit by windows that cannot be built; it names the value and the range it must lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WindowError {
    /// A limit of zero admits nothing.
    ZeroLimit,
    /// The limit does not fit a word together with the number of the window.
    LimitTooLarge {
        /// The limit asked for, in tokens.
        limit: u64,
        /// The largest for windows of this length; 0 if they are too short for any.
        most: u64,
    },
    /// A window must have a length from 1 ns to 2^64 - 1 ns, which is 584 years.
    LengthOutOfRange {
        /// The length asked for.
        length: Duration,
    },
    /// A day of the calendar for which the time zone has no time.
    #[cfg(feature = "calendar")]
    NoSuchDay {
        /// The day.
        date: jiff::civil::Date,
    },
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroLimit => write!(f, "limit of 0 tokens: must be at least 1"),
            Self::LimitTooLarge { limit, most } => {
                write!(f, "limit of {limit} tokens: must be at most {most} for windows of this length; ")?;
                write!(f, "take longer windows or count in larger tokens")
            }
            Self::LengthOutOfRange { length } => {
                write!(f, "window of {length:?}: must be from 1 ns to {:?}", Duration::from_nanos(u64::MAX))
            }
            #[cfg(feature = "calendar")]
            Self::NoSuchDay { date } => write!(f, "day {date}: the time zone must have a time for it"),
        }
    }
}

impl core::error::Error for WindowError {}
