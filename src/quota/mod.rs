//! What is allowed: a rate, a capacity and what the bucket holds at first.

mod error;
mod parse;
mod text;

use core::time::Duration;

pub use self::error::QuotaError;

/// Capacities are below so many tokens: 2^61.
const CAPACITY_LIMIT: u64 = 1 << 61;

/// The highest rate: 10^10 tokens a second.
const MAX_TOKENS_PER_NANOSECOND: u128 = 10;

/// A rate of tokens, the capacity of the bucket they fall into, and its fill at the start.
///
/// A rate is so many tokens every period, any number in any time, kept as it is given: `5` in `1.5 s` is no decimal
/// fraction. The tokens do not come in one lump at the end of the period, they come one by one, evenly.
///
/// The **capacity** (burst) is what a full bucket holds: the most that can be admitted at one moment, and the largest
/// cost that is ever admitted. **If it is not stated it is the tokens of one period.** A bucket is full at first unless
/// [`fill`](Self::fill) says otherwise.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Fill, Quota};
///
/// let quota = Quota::per_minute(500_000)?.burst(750_000)?;
/// assert_eq!(quota, "500k/min burst 750k".parse()?);
///
/// let slow = Quota::new(5, Duration::from_millis(1500))?.fill(Fill::Empty)?;
/// assert_eq!(slow.to_string(), "5 per 1.5s empty");
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
///
/// # Text
///
/// [`FromStr`](core::str::FromStr) and [`Display`](core::fmt::Display) are inverse to each other:
///
/// ```text
/// quota  = count ( "/" period | "per" period ) [ "burst" ( count | "x" decimal ) ] [ fill ]
/// count  = digits, "_" between them, decimals if a suffix makes it whole; k, M, G or T: 1.5k
/// period = [ decimal ] ( ns | us | ms | s | sec | min | h | hour | d | day ), also in the plural: 1.5s, 2 days
/// fill   = "full" | "empty" | "holding" count
/// ```
///
/// `burst x1.5` is one and a half times the tokens of a period, rounded down. In a constant, [`quota!`](crate::quota!)
/// reads the same text when the program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    tokens: u64,
    period: Duration,
    capacity: u64,
    fill: Fill,
}

/// What a bucket holds at first, and after a [`reset`](crate::Bucket::reset).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Its capacity.
    #[default]
    Full,
    /// Nothing: the first token is admitted when it has been issued.
    Empty,
    /// So many tokens, at most the capacity.
    Tokens(u64),
}

impl Quota {
    /// `tokens` every `period`, and a capacity of `tokens`.
    ///
    /// # Errors
    ///
    /// Zero tokens, a zero period, more than 10^10 tokens a second, or 2^61 tokens or more (which is too large a
    /// capacity; see [`with_burst`](Self::with_burst)).
    pub const fn new(tokens: u64, period: Duration) -> Result<Self, QuotaError> {
        Self::with_burst(tokens, period, tokens)
    }

    /// `tokens` every `period`, and a capacity of `burst` tokens.
    ///
    /// # Errors
    ///
    /// Zero tokens, a zero period, more than 10^10 tokens a second, or a `burst` of zero or of 2^61 tokens or more.
    pub const fn with_burst(tokens: u64, period: Duration, burst: u64) -> Result<Self, QuotaError> {
        if tokens == 0 {
            return Err(QuotaError::ZeroTokens);
        }
        if period.is_zero() {
            return Err(QuotaError::ZeroPeriod);
        }
        if tokens as u128 > MAX_TOKENS_PER_NANOSECOND * period.as_nanos() {
            return Err(QuotaError::RateTooHigh { tokens, period });
        }
        Self { tokens, period, capacity: tokens, fill: Fill::Full }.burst(burst)
    }

    /// So many tokens a second, and as many in a full bucket.
    ///
    /// # Errors
    ///
    /// As [`Quota::new`]: `tokens` must be from 1 to 10^10.
    pub const fn per_second(tokens: u64) -> Result<Self, QuotaError> {
        Self::new(tokens, Duration::from_secs(1))
    }

    /// So many tokens a minute, and as many in a full bucket.
    ///
    /// # Errors
    ///
    /// As [`Quota::new`]: `tokens` must be from 1 to 6 * 10^11.
    pub const fn per_minute(tokens: u64) -> Result<Self, QuotaError> {
        Self::new(tokens, Duration::from_secs(60))
    }

    /// So many tokens an hour, and as many in a full bucket.
    ///
    /// # Errors
    ///
    /// As [`Quota::new`]: `tokens` must be from 1 to 3.6 * 10^13.
    pub const fn per_hour(tokens: u64) -> Result<Self, QuotaError> {
        Self::new(tokens, Duration::from_secs(3600))
    }

    /// So many tokens a day, and as many in a full bucket.
    ///
    /// # Errors
    ///
    /// As [`Quota::new`]: `tokens` must be from 1 to 8.64 * 10^14.
    pub const fn per_day(tokens: u64) -> Result<Self, QuotaError> {
        Self::new(tokens, Duration::from_secs(86_400))
    }

    /// The same rate with a capacity of `capacity` tokens.
    ///
    /// # Errors
    ///
    /// A capacity of zero, of 2^61 tokens or more, or of less than the fill that was set before.
    pub const fn burst(self, capacity: u64) -> Result<Self, QuotaError> {
        if capacity == 0 {
            return Err(QuotaError::ZeroCapacity);
        }
        if capacity >= CAPACITY_LIMIT {
            return Err(QuotaError::CapacityTooLarge { capacity });
        }
        Self { capacity, ..self }.fill(self.fill)
    }

    /// The same quota with another fill at the start.
    ///
    /// # Errors
    ///
    /// More tokens than the capacity.
    pub const fn fill(self, fill: Fill) -> Result<Self, QuotaError> {
        match fill {
            Fill::Tokens(tokens) if tokens > self.capacity => {
                Err(QuotaError::FillAboveCapacity { tokens, capacity: self.capacity })
            }
            _ => Ok(Self { fill, ..self }),
        }
    }

    /// The same rate with another capacity and fill, which the caller knows to be valid.
    #[cfg(feature = "sharded")]
    pub(crate) const fn resized(self, capacity: u64, fill: Fill) -> Self {
        Self { capacity, fill, ..self }
    }

    /// Tokens issued in each [`period`](Self::period).
    #[inline]
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The time in which [`tokens`](Self::tokens) are issued.
    #[inline]
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// The most that a bucket holds, in tokens.
    #[inline]
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What a bucket holds at first.
    #[inline]
    pub const fn initial(&self) -> Fill {
        self.fill
    }

    /// Tokens at the start: the [`initial`](Self::initial) fill as a number.
    #[inline]
    pub const fn initial_tokens(&self) -> u64 {
        match self.fill {
            Fill::Full => self.capacity,
            Fill::Empty => 0,
            Fill::Tokens(tokens) => tokens,
        }
    }

    /// Shares for `shares` limiters that admit no more together than this quota does alone.
    ///
    /// Every share has the same rate, one `shares`th of the whole. Capacity and initial tokens are whole numbers, so
    /// the first shares may hold one more than the last; all of them sum exactly to the whole.
    ///
    /// ```
    /// use tollgate::quota;
    ///
    /// let shares: Vec<_> = quota!("100/s burst 10").split(4)?.collect();
    /// assert_eq!(shares[0], quota!("25/s burst 3"));
    /// assert_eq!(shares[3], quota!("25/s burst 2"));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No shares, more shares than tokens of capacity (one would be zero), or a rate so low that a share of it cannot
    /// be written as tokens in a [`Duration`].
    pub fn split(self, shares: u32) -> Result<impl ExactSizeIterator<Item = Self> + Clone, QuotaError> {
        if shares == 0 || u64::from(shares) > self.capacity {
            return Err(QuotaError::ShareZero { capacity: self.capacity, shares });
        }
        let (tokens, period) = self.rate_share(shares)?;
        let share = move |index| {
            let capacity = part(self.capacity, shares, index);
            let fill = match self.fill {
                Fill::Tokens(tokens) => Fill::Tokens(part(tokens, shares, index)),
                other => other,
            };
            Self { tokens, period, capacity, fill }
        };
        Ok((0..shares).map(share))
    }

    /// One `shares`th of the rate, exactly: fewer tokens if they divide, else a longer period.
    fn rate_share(&self, shares: u32) -> Result<(u64, Duration), QuotaError> {
        if self.tokens.is_multiple_of(u64::from(shares)) {
            return Ok((self.tokens / u64::from(shares), self.period));
        }
        match self.period.checked_mul(shares) {
            Some(period) => Ok((self.tokens, period)),
            None => Err(QuotaError::ShareTooSlow { period: self.period, shares }),
        }
    }
}

/// The `index`th of `shares` whole parts of `whole`; the remainder goes one by one to the first parts.
fn part(whole: u64, shares: u32, index: u32) -> u64 {
    let shares = u64::from(shares);
    whole / shares + u64::from(u64::from(index) < whole % shares)
}

/// A [`Quota`] from its text, checked when the program is compiled.
///
/// ```
/// use tollgate::{Quota, quota};
///
/// const LIMIT: Quota = quota!("100/s burst 200");
/// assert_eq!(LIMIT.capacity(), 200);
/// ```
///
/// A text that is no quota does not compile:
///
/// ```compile_fail
/// let limit = tollgate::quota!("100 a fortnight");
/// ```
#[macro_export]
macro_rules! quota {
    ($text:expr) => {
        const {
            match $crate::Quota::parse($text) {
                Ok(quota) => quota,
                Err(error) => panic!("{}", error.reason()),
            }
        }
    };
}
