//! Work of unknown cost: what it did cost, and what that is in money.
//!
//! | to | use |
//! |---|---|
//! | bring a provider's usage figures into one form | [`Shape`] and [`Usage`] |
//! | turn usage into what a limit counts | [`Weights`] |
//! | turn usage into money | [`PriceList`], [`Price`] and [`Spend`] |
//!
//! Tokens and money are two limits. A cached input may cost a tenth of its price and still count in full against a
//! quota, so neither is worked out from the other.
//!
//! All of it is arithmetic on whole numbers, exact until it is rounded once, at the end and against the caller.

mod decimal;
mod ratio;
mod spend;
mod usage;

pub use self::ratio::{Ratio, RatioError};
pub use self::spend::{Carry, Currency, Price, PriceError, PriceList, Spend, Tier, UnknownModel};
pub use self::usage::{Absent, Reported, Shape, Side, TokenClass, Usage, Weights};
