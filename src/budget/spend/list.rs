//! The prices of all models, in one currency.

use core::fmt;
use std::collections::BTreeMap;

use super::{Currency, Price};
#[cfg(feature = "serde")]
use super::{PriceError, Tier};
#[cfg(feature = "serde")]
use crate::budget::decimal::{self, Written};
#[cfg(feature = "serde")]
use crate::budget::usage::{PerClass, TokenClass};

/// A price for each model, in one currency.
///
/// A model that is not in the list has no price and is not free: [`price`](Self::price) is an error then.
///
/// With the feature `serde` it is read from TOML, JSON or any other format that describes itself. Prices are units of the
/// currency for a million tokens, as providers write them, as numbers or as texts, with at most six decimals:
///
/// ```toml
/// currency = "USD"
///
/// [models.large]
/// input = 10
/// cached_input = 1
/// output = 50
/// tiers = [{ above = 272000, input = 2, output = 1.5 }]
///
/// [models.small]
/// input = 0.075
/// output = "0.30"
/// ```
///
/// `cache_write` and `cache_write_long` cost as much as `input` and `reasoning` as `output`, unless they are stated, and
/// so does `cached_input` (or `cache_read`). An error names the field, the value and the range, and the format adds the
/// place. A field that is not known is an error.
///
/// ```
/// use tollgate::budget::{Currency, Price, PriceList, Usage};
///
/// let mut prices = PriceList::new(Currency::USD);
/// prices.insert("large", Price::new(10_000_000, 50_000_000)?);
///
/// assert_eq!(prices.price("large")?.spend(&Usage::new(200, 500))?.micros(), 27_000);
/// assert!(prices.price("unheard of").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PriceList {
    currency: Currency,
    models: BTreeMap<String, Price>,
}

impl PriceList {
    /// No models yet.
    pub const fn new(currency: Currency) -> Self {
        Self { currency, models: BTreeMap::new() }
    }

    /// Sets the price of a model, and returns the one it had.
    pub fn insert(&mut self, model: impl Into<String>, price: Price) -> Option<Price> {
        self.models.insert(model.into(), price)
    }

    /// The price of a model.
    ///
    /// # Errors
    ///
    /// [`UnknownModel`] if it is not in the list.
    pub fn price(&self, model: &str) -> Result<&Price, UnknownModel> {
        self.models.get(model).ok_or_else(|| UnknownModel { model: model.to_string() })
    }

    /// The currency of all prices.
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// The models and their prices, in the order of their names.
    pub fn models(&self) -> impl ExactSizeIterator<Item = (&str, &Price)> {
        self.models.iter().map(|(model, price)| (model.as_str(), price))
    }
}

/// A model without a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownModel {
    /// The model that was asked for.
    pub model: String,
}

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model `{}` is not in the price list: a model without a price is not free", self.model)
    }
}

impl std::error::Error for UnknownModel {}

/// A price as it is written.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    input: Written,
    #[serde(alias = "cached_input", skip_serializing_if = "Option::is_none")]
    cache_read: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_long: Option<Written>,
    output: Written,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Written>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<Tier>,
}

#[cfg(feature = "serde")]
impl TryFrom<Fields> for Price {
    type Error = PriceError;

    fn try_from(fields: Fields) -> Result<Self, PriceError> {
        let amount = |class: TokenClass, written: &Written| {
            let fault = || PriceError::Amount { field: class.name(), text: written.0.clone() };
            decimal::millionths(&written.0).ok_or_else(fault)
        };
        let input = amount(TokenClass::Input, &fields.input)?;
        let mut price = Self::new(input, amount(TokenClass::Output, &fields.output)?)?;
        for (class, written) in [
            (TokenClass::CacheRead, fields.cache_read),
            (TokenClass::CacheWrite, fields.cache_write),
            (TokenClass::CacheWriteLong, fields.cache_write_long),
            (TokenClass::Reasoning, fields.reasoning),
        ] {
            if let Some(written) = written {
                price = price.with(class, amount(class, &written)?)?;
            }
        }
        fields.tiers.into_iter().try_fold(price, Self::tier)
    }
}

#[cfg(feature = "serde")]
impl From<Price> for Fields {
    fn from(price: Price) -> Self {
        let written = |micros: u64| Written(decimal::text(micros));
        let PerClass { input, cache_read, cache_write, cache_write_long, output, reasoning } = price.micros;
        Self {
            input: written(input),
            cache_read: (cache_read != input).then(|| written(cache_read)),
            cache_write: (cache_write != input).then(|| written(cache_write)),
            cache_write_long: (cache_write_long != input).then(|| written(cache_write_long)),
            output: written(output),
            reasoning: (reasoning != output).then(|| written(reasoning)),
            tiers: price.tiers,
        }
    }
}
