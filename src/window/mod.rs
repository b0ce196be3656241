//! Limits by windows, for rules that are published as windows: so much an hour, a day, a calendar month.
//!
//! A [`Bucket`](crate::Bucket) is the better limiter: strict, exact and even. But an upstream, a contract or a budget may count
//! by windows, and who must agree with it has to count as it does.
//!
//! | form | decides by | most in an interval of length `t`, windows of `L` | state |
//! |---|---|---|---|
//! | [`Fixed`] | the count of this window | `limit * (ceil(t/L) + 1)`: twice the limit within a nanosecond | a word |
//! | [`SlidingCounter`] | that, and the count of the window before, weighted | `limit * (1 + t/L)`, a bucket's bound | a word |
//! | `SlidingLog` (with `std`) | every admission of the last `L` | `limit` for `t = L`: exact | an entry for each admission, and a lock |
//!
//! All three have the methods of [`Windowed`]. Which windows those are is told by a [`Schedule`]: [`Every`] span of one
//! length, or (with the feature `calendar`) the days and months of a time zone, `Calendar`. What begins at a time of day
//! goes by [`Wall`] time.
//!
//! ```
//! use std::time::Duration;
//! use tollgate::Manual;
//! use tollgate::window::{Every, Fixed};
//!
//! // 5000 an hour, as the upstream's clock counts hours.
//! let hour = Every::new(Duration::from_secs(3600))?;
//! let clock = Manual::starting_at(Duration::from_secs(3000).into()); // with `std`: Wall::new()
//! let limit = Fixed::with_clock(5000, hour, clock)?;
//! limit.try_acquire_n(5000).unwrap();
//! let refusal = limit.try_acquire().unwrap_err();
//! assert_eq!(refusal.retry_after(), Some(Duration::from_secs(600)));
//! # Ok::<(), tollgate::window::WindowError>(())
//! ```

mod algorithm;
#[cfg(feature = "calendar")]
mod calendar;
mod error;
mod fixed;
mod schedule;
mod sliding_counter;
#[cfg(feature = "std")]
mod sliding_log;
mod usage;
mod wall;
mod windowed;

pub use self::algorithm::Algorithm;
#[cfg(feature = "calendar")]
pub use self::calendar::Calendar;
pub use self::error::WindowError;
pub use self::fixed::{Fixed, FixedWindow};
pub use self::schedule::{Every, Schedule};
pub use self::sliding_counter::{SlidingCounter, WeightedWindows};
#[cfg(feature = "std")]
pub use self::sliding_log::{SlidingLog, WindowLog};
pub use self::usage::Usage;
pub use self::wall::{System, Wall};
pub use self::windowed::Windowed;
