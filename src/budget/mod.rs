//! Work of unknown cost: what it did cost.
//!
//! | to | use |
//! |---|---|
//! | bring a provider's usage figures into one form | [`Shape`] and [`Usage`] |
//! | turn usage into what a limit counts | [`Weights`] |
//!
//! All of it is arithmetic on whole numbers, exact until it is rounded once, at the end and against the caller.

mod decimal;
mod ratio;
mod usage;

pub use self::ratio::{Ratio, RatioError};
pub use self::usage::{Absent, Reported, Shape, Side, TokenClass, Usage, Weights};
