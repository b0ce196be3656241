//! What work will cost, before it is known.

mod calibrated;
mod count;
mod history;
mod output;
mod per_key;
mod percentile;
mod ring;

pub use self::calibrated::Calibrated;
pub use self::count::{BytesPerToken, CharsPerToken, CountTokens, WithFallback};
pub use self::history::History;
pub use self::output::{Estimate, Figure, OutputEstimator};
pub use self::per_key::PerKey;
pub use self::percentile::{EstimateError, Percentile};
