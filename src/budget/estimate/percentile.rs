//! Percentiles, and what estimators cannot be made with.

use core::fmt;

/// Which part of what was seen lies at or below a figure: from 1 to 100 percent.
///
/// A percentile is one of the values that were seen: the smallest of which at least so many percent of all are no larger
/// (the nearest rank). 100 is the largest value.
///
/// ```
/// use tollgate::budget::Percentile;
///
/// assert_eq!(Percentile::new(90), Ok(Percentile::P90));
/// assert!(Percentile::new(0).is_err() && Percentile::new(101).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u8);

impl Percentile {
    /// Half of what was seen is no larger.
    pub const MEDIAN: Self = Self(50);
    /// Nine of ten.
    pub const P90: Self = Self(90);
    /// Ninety-nine of a hundred.
    pub const P99: Self = Self(99);

    /// So many percent.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Percentile`] for a number that is not from 1 to 100.
    pub const fn new(percent: u8) -> Result<Self, EstimateError> {
        if matches!(percent, 1..=100) {
            Ok(Self(percent))
        } else {
            Err(EstimateError::Percentile { percent })
        }
    }

    /// The number.
    pub const fn percent(self) -> u8 {
        self.0
    }

    /// How many of `count` values are no larger, rounded up: at least one of them, if there are any.
    pub(super) fn rank(self, count: u64) -> u64 {
        let rank = (u128::from(count) * u128::from(self.0)).div_ceil(100);
        u64::try_from(rank).unwrap_or(count)
    }
}

/// An estimator that cannot be; it names the value and the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EstimateError {
    /// A percentile is from 1 to 100.
    Percentile {
        /// The number asked for.
        percent: u8,
    },
    /// A history remembers from 1 to 65 536 values.
    Window {
        /// The number asked for.
        values: usize,
    },
    /// No text has zero tokens for any of its characters or bytes.
    ZeroPerToken,
}

impl fmt::Display for EstimateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile { percent } => write!(f, "percentile {percent}: must be from 1 to 100"),
            Self::Window { values } => {
                write!(f, "a history of {values} values: must be from 1 to {}", super::history::MAX_WINDOW)
            }
            Self::ZeroPerToken => write!(f, "0 characters or bytes a token: must be more than 0"),
        }
    }
}

impl std::error::Error for EstimateError {}
