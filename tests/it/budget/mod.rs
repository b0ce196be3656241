//! What work costs: estimates, token classes, and money.

mod calibrated;
mod count;
mod history;
mod output;
#[cfg(feature = "serde")]
mod price_files;
mod providers;
mod ratio;
mod spend;
mod usage;
mod weights;

use proptest::prelude::*;
use tollgate::budget::{Ratio, TokenClass, Usage};

fn ratio(over: u32, under: u32) -> Ratio {
    Ratio::new(over, under).unwrap_or_else(|error| panic!("{error}"))
}

/// Fractions with small denominators, so that their sums fit 128 bits in whatever way they are formed.
fn ratios() -> impl Strategy<Value = Ratio> {
    (0..=2_000_u32, 1..=100_u32).prop_map(|(over, under)| ratio(over, under))
}

/// Both sides told, tokens by class.
fn usage_of(tokens: [u64; 6]) -> Usage {
    let classes = TokenClass::ALL.into_iter().zip(tokens);
    classes.fold(Usage::default(), |usage, (class, tokens)| usage.with(class, tokens))
}

fn tokens() -> impl Strategy<Value = [u64; 6]> {
    prop::array::uniform6(prop_oneof![0..=5_u64, 0..=1_000_000_u64, 0..=1_u64 << 60])
}
