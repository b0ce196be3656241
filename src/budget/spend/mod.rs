//! Money: exact sums, and whole micro-units for limits.

mod carry;
mod currency;
mod list;
mod price;

use core::fmt;
use core::iter::Sum;
use core::ops::Add;

pub use self::carry::Carry;
pub use self::currency::Currency;
pub use self::list::{PriceList, UnknownModel};
pub use self::price::{Price, PriceError, Tier};

/// A price is so many micro-units for so many tokens, so one token at one micro-unit costs a millionth of it.
const MILLIONTHS: u128 = 1_000_000;

/// An amount of money, exactly.
///
/// It counts millionths of a micro-unit of the currency, the finest that a [`Price`] can come to, and so sums of many small
/// requests do not drift. Only [`micros`](Self::micros) rounds: up, to whole micro-units. Which currency it is, the
/// [`PriceList`] says; amounts of different currencies must be kept apart. Sums end at `u128::MAX` millionths.
///
/// ```
/// use tollgate::budget::{Price, Usage};
///
/// let price = Price::new(75_000, 300_000)?; // 0.075 and 0.30 a million tokens
/// let small = price.spend(&Usage::new(1, 1))?;
/// assert_eq!(small.micros(), 1); // 0.375, rounded up
/// let thousand: tollgate::budget::Spend = std::iter::repeat_n(small, 1000).sum();
/// assert_eq!(thousand.micros(), 375);
/// assert_eq!(thousand.to_string(), "0.000375");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spend {
    millionths: u128,
}

impl Spend {
    /// Nothing.
    pub const ZERO: Self = Self { millionths: 0 };

    /// So many micro-units.
    pub const fn from_micros(micros: u64) -> Self {
        Self { millionths: micros as u128 * MILLIONTHS }
    }

    /// Whole micro-units, rounded up; `u64::MAX` where there are more.
    pub const fn micros(self) -> u64 {
        let micros = self.millionths.div_ceil(MILLIONTHS);
        if micros > u64::MAX as u128 { u64::MAX } else { micros as u64 }
    }

    /// The sum, or the largest amount.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self { millionths: self.millionths.saturating_add(other.millionths) }
    }

    /// The difference, or nothing.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self { millionths: self.millionths.saturating_sub(other.millionths) }
    }
}

impl Add for Spend {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Sum for Spend {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::saturating_add)
    }
}

/// In units of the currency, with all decimals that there are.
impl fmt::Display for Spend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNIT: u128 = MILLIONTHS * 1_000_000;
        let (units, rest) = (self.millionths / UNIT, self.millionths % UNIT);
        if rest == 0 {
            return write!(f, "{units}");
        }
        f.write_str(format!("{units}.{rest:012}").trim_end_matches('0'))
    }
}

impl fmt::Debug for Spend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spend({self})")
    }
}
