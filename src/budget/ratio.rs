//! An exact fraction, for weights and factors.

use core::fmt;
use core::str::FromStr;

use super::decimal;

/// The largest denominator. A sum of as many fractions as there are token classes still fits 128 bits.
const MAX_UNDER: u32 = 1_000_000;

/// How many products are summed up at most: one for each token class.
pub(super) const TERMS: usize = 6;

/// A fraction such as 1.25, exactly: a weight, a factor or a margin.
///
/// It is a `u32` over a number from 1 to 1 000 000, kept in lowest terms, so any decimal with up to six places is exact,
/// and so is a third. Its text is a decimal or a quotient.
///
/// ```
/// use tollgate::budget::Ratio;
///
/// let weight: Ratio = "1.25".parse()?;
/// assert_eq!(weight, Ratio::new(5, 4)?);
/// assert_eq!(weight.of(3), 4); // 3.75, rounded up
/// assert_eq!("2/6".parse::<Ratio>()?.to_string(), "1/3");
/// # Ok::<(), tollgate::budget::RatioError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "decimal::Written"))]
pub struct Ratio {
    over: u32,
    under: u32,
}

impl Ratio {
    /// Nothing of it.
    pub const ZERO: Self = Self { over: 0, under: 1 };
    /// All of it.
    pub const ONE: Self = Self { over: 1, under: 1 };

    /// `over / under`.
    ///
    /// # Errors
    ///
    /// [`RatioError::Denominator`] for an `under` that is not from 1 to 1 000 000 in lowest terms.
    pub const fn new(over: u32, under: u32) -> Result<Self, RatioError> {
        if under == 0 {
            return Err(RatioError::Denominator { over, under });
        }
        let shared = common_divisor(over, under);
        let ratio = Self { over: over / shared, under: under / shared };
        if ratio.under > MAX_UNDER { Err(RatioError::Denominator { over, under }) } else { Ok(ratio) }
    }

    /// So many millionths.
    pub(super) const fn of_millionths(millionths: u32) -> Self {
        let shared = common_divisor(millionths, MAX_UNDER);
        Self { over: millionths / shared, under: MAX_UNDER / shared }
    }

    /// A fraction whose terms are known to be in range and without a common divisor.
    pub(super) const fn known(over: u32, under: u32) -> Self {
        Self { over, under }
    }

    /// The numerator in lowest terms.
    pub const fn over(self) -> u32 {
        self.over
    }

    /// The denominator in lowest terms.
    pub const fn under(self) -> u32 {
        self.under
    }

    /// `amount` times the fraction, rounded up; `u64::MAX` where that is larger.
    pub const fn of(self, amount: u64) -> u64 {
        narrowed((amount as u128 * self.over as u128).div_ceil(self.under as u128))
    }

    /// How many parts of this size `amount` has, rounded up; `u64::MAX` where there are more, or of parts of no size.
    pub(super) const fn into_parts(self, amount: u64) -> u64 {
        match self.over {
            0 => u64::MAX,
            over => narrowed((amount as u128 * self.under as u128).div_ceil(over as u128)),
        }
    }

    /// The product of two fractions.
    ///
    /// # Errors
    ///
    /// [`RatioError::Product`] if it has a numerator above `u32::MAX` or a denominator above 1 000 000.
    pub fn times(self, other: Self) -> Result<Self, RatioError> {
        let (left, right) = (common_divisor(self.over, other.under), common_divisor(other.over, self.under));
        let over = u64::from(self.over / left) * u64::from(other.over / right);
        let under = u64::from(self.under / right) * u64::from(other.under / left);
        match (u32::try_from(over), u32::try_from(under)) {
            (Ok(over), Ok(under)) if under <= MAX_UNDER => Ok(Self { over, under }),
            _ => Err(RatioError::Product { left: self, right: other }),
        }
    }

    /// `amount` times the fraction where that is a whole number.
    pub(super) fn of_exactly(self, amount: u64) -> Option<u128> {
        let product = u128::from(amount) * u128::from(self.over);
        product.is_multiple_of(u128::from(self.under)).then_some(product / u128::from(self.under))
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let syntax = || RatioError::Text { text: text.to_string() };
        if let Some((over, under)) = text.split_once('/') {
            let part = |part: &str| decimal::millionths(part).filter(|number| number % 1_000_000 == 0);
            let (over, under) = (part(over).ok_or_else(syntax)?, part(under).ok_or_else(syntax)?);
            let narrow = |number: u64| u32::try_from(number / 1_000_000).map_err(|_| syntax());
            return Self::new(narrow(over)?, narrow(under)?);
        }
        let millionths = decimal::millionths(text).ok_or_else(syntax)?;
        let shared = common_divisor_u64(millionths, u64::from(MAX_UNDER));
        match (u32::try_from(millionths / shared), u32::try_from(u64::from(MAX_UNDER) / shared)) {
            (Ok(over), Ok(under)) => Self::new(over, under),
            _ => Err(syntax()),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if MAX_UNDER.is_multiple_of(self.under) {
            f.write_str(&decimal::text(u64::from(self.over) * u64::from(MAX_UNDER / self.under)))
        } else {
            write!(f, "{}/{}", self.over, self.under)
        }
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
impl From<Ratio> for String {
    fn from(ratio: Ratio) -> Self {
        ratio.to_string()
    }
}

#[cfg(feature = "serde")]
impl TryFrom<decimal::Written> for Ratio {
    type Error = RatioError;

    fn try_from(written: decimal::Written) -> Result<Self, RatioError> {
        written.0.parse()
    }
}

/// A fraction that cannot be; it names the value and the range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RatioError {
    /// The denominator is zero, or above 1 000 000 in lowest terms.
    Denominator {
        /// The numerator asked for.
        over: u32,
        /// The denominator asked for.
        under: u32,
    },
    /// The product of two fractions does not fit.
    Product {
        /// The one.
        left: Ratio,
        /// The other.
        right: Ratio,
    },
    /// The text is not a fraction.
    Text {
        /// What stands there.
        text: String,
    },
}

impl fmt::Display for RatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denominator { over, under } => {
                write!(f, "{over}/{under}: in lowest terms the denominator must be from 1 to {MAX_UNDER}")
            }
            Self::Product { left, right } => {
                write!(
                    f,
                    "{left} times {right}: in lowest terms the numerator must be at most {}, ",
                    u32::MAX
                )?;
                write!(f, "the denominator at most {MAX_UNDER}")
            }
            Self::Text { text } => {
                write!(
                    f,
                    "`{text}`: must be a decimal with at most 6 places, such as 1.25, or a quotient such as "
                )?;
                write!(f, "1/3, of numbers from 0 to {}", u32::MAX)
            }
        }
    }
}

impl std::error::Error for RatioError {}

/// The sum of all amounts times their fractions, rounded up once, at its end; `u64::MAX` where it is larger.
pub(super) fn sum_of(products: [(u64, Ratio); TERMS]) -> u64 {
    // The fractions are below one each, over at most 10^6 each: their sum is below 6 * 10^36 over 10^36.
    let (mut whole, mut over, mut under) = (0_u128, 0_u128, 1_u128);
    for (amount, ratio) in products {
        let product = u128::from(amount) * u128::from(ratio.over);
        let divisor = u128::from(ratio.under);
        whole += product / divisor;
        over = over * divisor + product % divisor * under;
        under *= divisor;
    }
    narrowed(whole + over.div_ceil(under))
}

const fn narrowed(number: u128) -> u64 {
    if number > u64::MAX as u128 { u64::MAX } else { number as u64 }
}

/// Of two numbers of which one is not zero.
const fn common_divisor(a: u32, b: u32) -> u32 {
    common_divisor_u64(a as u64, b as u64) as u32
}

const fn common_divisor_u64(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
