//! Work of unknown cost: what it will cost, what it did cost, and what that is in money.
//!
//! | to | use |
//! |---|---|
//! | count the tokens of a text | [`CountTokens`]: [`CharsPerToken`], [`BytesPerToken`], or a tokenizer |
//! | correct a count by what it turned out to be | [`Calibrated`] |
//! | estimate an output that is not there yet | [`OutputEstimator`] on a [`History`] |
//! | bring a provider's usage figures into one form | [`Shape`] and [`Usage`] |
//! | turn usage into what a limit counts | [`Weights`] |
//! | turn usage into money | [`PriceList`], [`Price`] and [`Spend`] |
//!
//! Tokens and money are two limits. A cached input may cost a tenth of its price and still count in full against a
//! quota, so neither is worked out from the other.
//!
//! All of it is arithmetic on whole numbers, exact until it is rounded once, at the end and against the caller.

mod decimal;
mod estimate;
mod ratio;
mod spend;
mod usage;

pub use self::estimate::{
    BytesPerToken, Calibrated, CharsPerToken, CountTokens, Estimate, EstimateError, Figure, History,
    OutputEstimator, PerKey, Percentile, WithFallback,
};
pub use self::ratio::{Ratio, RatioError};
pub use self::spend::{Carry, Currency, Price, PriceError, PriceList, Spend, Tier, UnknownModel};
pub use self::usage::{Absent, Reported, Shape, Side, TokenClass, Usage, Weights};
