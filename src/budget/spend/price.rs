//! What a model's tokens cost.

use core::fmt;

use super::Spend;
use crate::budget::ratio::Ratio;
use crate::budget::usage::{Absent, PerClass, Side, TokenClass, Usage};

/// The highest price: a million units of the currency for a million tokens. No sum of classes can overflow.
const MAX_MICROS: u64 = 1_000_000_000_000;

/// What a million tokens of each class cost, in micro-units of a currency, and what large requests cost more.
///
/// Cached input costs as much as other input and reasoning as much as other output, unless stated. Prices go up to 10^12
/// micro-units, a million units of the currency for a million tokens.
///
/// ```
/// use tollgate::budget::{Price, Ratio, Tier, TokenClass, Usage};
///
/// // 10 and 50 a million tokens, cached input 1; twice and 1.5 times as much for a request of over 272 000 input tokens.
/// let price = Price::new(10_000_000, 50_000_000)?
///     .with(TokenClass::CacheRead, 1_000_000)?
///     .tier(Tier { above: 272_000, input: Ratio::new(2, 1)?, output: Ratio::new(3, 2)? })?;
///
/// assert_eq!(price.spend(&Usage::new(200, 500))?.micros(), 27_000);
/// assert_eq!(price.spend(&Usage::new(500_000, 50_000))?.micros(), 13_750_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Exactness
///
/// A [`Spend`] is exact. For that, a tier's factor must leave every price a whole number of micro-units for a million
/// tokens; otherwise the price cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "super::list::Fields", try_from = "super::list::Fields"))]
pub struct Price {
    pub(super) micros: PerClass<u64>,
    pub(super) tiers: Vec<Tier>,
}

/// Factors for requests with much input. They hold for all tokens of such a request, not only for those above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Tier {
    /// It holds for requests with more input tokens than this, of all classes together.
    pub above: u64,
    /// The factor of every class of input.
    pub input: Ratio,
    /// The factor of every class of output.
    pub output: Ratio,
}

impl Price {
    /// So many micro-units for a million input tokens, and for a million output tokens.
    ///
    /// # Errors
    ///
    /// [`PriceError::TooHigh`] for more than 10^12 micro-units.
    pub fn new(input: u64, output: u64) -> Result<Self, PriceError> {
        let micros = PerClass { output, reasoning: output, ..PerClass::all(input) };
        Self { micros, tiers: Vec::new() }.checked()
    }

    /// The same with another price for a million tokens of one class.
    ///
    /// # Errors
    ///
    /// [`PriceError::TooHigh`] for more than 10^12 micro-units, [`PriceError::Uneven`] if a tier's factor leaves a fraction
    /// of a micro-unit.
    pub fn with(mut self, class: TokenClass, micros: u64) -> Result<Self, PriceError> {
        *self.micros.of_mut(class) = micros;
        self.checked()
    }

    /// The same with one more tier. Of several that a request is above, the highest holds.
    ///
    /// # Errors
    ///
    /// [`PriceError::SameTier`] if there is one with that threshold already, [`PriceError::Uneven`] if a factor leaves a
    /// fraction of a micro-unit, [`PriceError::TooHigh`] if a price times its factor is more than 10^12 micro-units.
    pub fn tier(mut self, tier: Tier) -> Result<Self, PriceError> {
        match self.tiers.binary_search_by_key(&tier.above, |tier| tier.above) {
            Ok(_) => return Err(PriceError::SameTier { above: tier.above }),
            Err(place) => self.tiers.insert(place, tier),
        }
        self.checked()
    }

    /// Micro-units for a million tokens of a class, below all tiers.
    pub const fn micros(&self, class: TokenClass) -> u64 {
        *self.micros.of(class)
    }

    /// The tiers, the lowest first.
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// What the usage costs, exactly.
    ///
    /// # Errors
    ///
    /// [`Absent`] for a side that was not told, unless it is free; see [`Usage::or`]. Input that was not told is also
    /// missing where a tier depends on it.
    pub fn spend(&self, usage: &Usage) -> Result<Spend, Absent> {
        let needed = |side: &Side| self.counts(*side) && !usage.has(*side);
        if let Some(side) = [Side::Input, Side::Output].into_iter().find(needed) {
            return Err(Absent { side });
        }
        let tier = self.tier_of(usage.total(Side::Input).unwrap_or_default());
        let of_class = |class: TokenClass| {
            let factor = tier.map_or(Ratio::ONE, |tier| tier.factor(class.side()));
            // Nothing is rounded, and it is at most 10^12: that was checked when the price was made.
            let micros = factor.of(self.micros(class));
            Spend { millionths: u128::from(*usage.told().of(class)) * u128::from(micros) }
        };
        Ok(TokenClass::ALL.into_iter().map(of_class).sum())
    }

    /// Whether the price depends on a side.
    fn counts(&self, side: Side) -> bool {
        let costs = TokenClass::ALL.into_iter().any(|class| class.side() == side && self.micros(class) > 0);
        costs || (side == Side::Input && !self.tiers.is_empty())
    }

    fn tier_of(&self, input: u64) -> Option<&Tier> {
        self.tiers.iter().rev().find(|tier| input > tier.above)
    }

    fn checked(self) -> Result<Self, PriceError> {
        for class in TokenClass::ALL {
            let micros = self.micros(class);
            at_most_max(class, None, micros.into())?;
            for tier in &self.tiers {
                let (above, factor) = (tier.above, tier.factor(class.side()));
                let uneven = PriceError::Uneven { class, micros, above, factor };
                at_most_max(class, Some(above), factor.of_exactly(micros).ok_or(uneven)?)?;
            }
        }
        Ok(self)
    }
}

impl Tier {
    fn factor(&self, side: Side) -> Ratio {
        match side {
            Side::Input => self.input,
            Side::Output => self.output,
        }
    }
}

/// A price that cannot be; it names the field, the value and the range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriceError {
    /// A price is above 10^12 micro-units for a million tokens.
    TooHigh {
        /// The class that it is the price of.
        class: TokenClass,
        /// The threshold of the tier in which it is too high; `None` for the price below all tiers.
        above: Option<u64>,
        /// The price, in micro-units for a million tokens.
        micros: u64,
    },
    /// A price times its factor is not a whole number of micro-units for a million tokens.
    Uneven {
        /// The class that it is the price of.
        class: TokenClass,
        /// The price, in micro-units for a million tokens.
        micros: u64,
        /// The threshold of the tier.
        above: u64,
        /// The tier's factor.
        factor: Ratio,
    },
    /// Two tiers have one threshold.
    SameTier {
        /// The threshold.
        above: u64,
    },
    /// The text of a price is not an amount.
    Amount {
        /// The field that it stands in.
        field: &'static str,
        /// What stands there.
        text: String,
    },
    /// The text is not the name of a currency.
    Currency {
        /// What stands there.
        text: String,
    },
}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooHigh { class, above, micros } => {
                write!(f, "`{}`: {micros} micro-units for a million tokens", class.name())?;
                if let Some(above) = above {
                    write!(f, " in the tier above {above}")?;
                }
                write!(f, ": must be at most {MAX_MICROS}")
            }
            Self::Uneven { class, micros, above, factor } => {
                write!(f, "`{}`: {micros} micro-units for a million tokens times {factor} ", class.name())?;
                write!(f, "in the tier above {above}: must be a whole number of micro-units")
            }
            Self::SameTier { above } => {
                write!(f, "`tiers`: two tiers above {above}: each must have a threshold of its own")
            }
            Self::Amount { field, text } => {
                write!(f, "`{field}`: `{text}` for a million tokens: must be from 0 to 1000000 ")?;
                write!(f, "units of the currency with at most 6 decimals")
            }
            Self::Currency { text } => {
                write!(f, "`currency`: `{text}`: must be three capital letters such as USD")
            }
        }
    }
}

impl std::error::Error for PriceError {}

fn at_most_max(class: TokenClass, above: Option<u64>, micros: u128) -> Result<(), PriceError> {
    if micros <= MAX_MICROS.into() {
        return Ok(());
    }
    Err(PriceError::TooHigh { class, above, micros: u64::try_from(micros).unwrap_or(u64::MAX) })
}
