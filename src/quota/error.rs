//! Why a quota cannot be built: each reason names the value and the range it must lie in.

use core::fmt;
use core::time::Duration;

use super::{CAPACITY_LIMIT, MAX_TOKENS_PER_NANOSECOND};

/// A quota that cannot be represented, or a text that is not a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuotaError {
    /// No token is ever issued: the rate has zero tokens.
    ZeroTokens,
    /// The period has no length.
    ZeroPeriod,
    /// The capacity (burst) is zero, so nothing could ever be admitted.
    ZeroCapacity,
    /// The capacity is 2^61 tokens or more.
    CapacityTooLarge {
        /// The capacity asked for, in tokens.
        capacity: u64,
    },
    /// The rate is above 10^10 tokens a second; count in larger tokens.
    RateTooHigh {
        /// Tokens in each period.
        tokens: u64,
        /// The period.
        period: Duration,
    },
    /// The bucket would start with more tokens than it can hold.
    FillAboveCapacity {
        /// Tokens at the start.
        tokens: u64,
        /// The capacity, in tokens.
        capacity: u64,
    },
    /// A split into so many shares would leave a share without capacity, or has no share at all.
    ShareZero {
        /// The capacity to be split, in tokens.
        capacity: u64,
        /// Number of shares asked for.
        shares: u32,
    },
    /// A share of the rate would have a period longer than [`Duration::MAX`].
    ShareTooSlow {
        /// The period of the whole.
        period: Duration,
        /// Number of shares asked for.
        shares: u32,
    },
    /// The text has something else where a part of a quota belongs.
    Syntax {
        /// Where, in bytes from the start of the text.
        at: usize,
        /// What belongs there.
        expected: &'static str,
    },
    /// A number in the text does not fit.
    NumberTooLarge {
        /// Where the number begins, in bytes from the start of the text.
        at: usize,
    },
}

impl QuotaError {
    /// The reason in fixed words, for use in constants, where nothing can be formatted.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::ZeroTokens => "the rate must have at least 1 token",
            Self::ZeroPeriod => "the period must be at least 1 ns",
            Self::ZeroCapacity => "the capacity must be at least 1 token",
            Self::CapacityTooLarge { .. } => "the capacity must be below 2^61 tokens",
            Self::RateTooHigh { .. } => "the rate must be at most 10^10 tokens a second",
            Self::FillAboveCapacity { .. } => "the tokens at the start must be at most the capacity",
            Self::ShareZero { .. } => "the shares must be from 1 to the capacity",
            Self::ShareTooSlow { .. } => "the period of a share must fit a Duration",
            Self::Syntax { expected, .. } => expected,
            Self::NumberTooLarge { .. } => "a number must fit 64 bits",
        }
    }
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroTokens => write!(f, "rate of 0 tokens: must be at least 1 token a period"),
            Self::ZeroPeriod => write!(f, "period of 0 ns: must be at least 1 ns"),
            Self::ZeroCapacity => write!(f, "capacity of 0 tokens: must be at least 1"),
            Self::CapacityTooLarge { capacity } => {
                let largest = CAPACITY_LIMIT - 1;
                write!(f, "capacity of {capacity} tokens: must be at most {largest} (below 2^61)")
            }
            Self::RateTooHigh { tokens, period } => {
                let largest = MAX_TOKENS_PER_NANOSECOND;
                write!(f, "rate of {tokens} tokens in {period:?}: must be at most {largest} a nanosecond ")?;
                write!(f, "(10^10 a second); count in larger tokens")
            }
            Self::FillAboveCapacity { tokens, capacity } => {
                write!(f, "{tokens} tokens at the start: must be at most the capacity of {capacity}")
            }
            Self::ShareZero { capacity, shares } => {
                write!(f, "{shares} shares of a capacity of {capacity} tokens: must be from 1 to {capacity}")
            }
            Self::ShareTooSlow { period, shares } => {
                let longest = Duration::MAX;
                write!(f, "{shares} shares of a rate with the period {period:?}: ")?;
                write!(f, "{shares} periods must be at most {longest:?}")
            }
            Self::Syntax { at, expected } => write!(f, "at byte {at}: expected {expected}"),
            Self::NumberTooLarge { at } => {
                write!(f, "number at byte {at}: must be at most {} once its suffix is counted", u64::MAX)
            }
        }
    }
}

impl core::error::Error for QuotaError {}
