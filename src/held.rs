//! What happens to the tokens that are held when the quota changes.

use crate::gcra::Gcra;

/// What becomes of the tokens in the bucket when its quota changes.
///
/// A bucket of 100 that holds 40 and becomes one of 50 holds
///
/// | choice | rule | then holds |
/// |---|---|---|
/// | [`Tokens`](Self::Tokens) | the same tokens, as many as fit | 40 |
/// | [`Fraction`](Self::Fraction) | the same part of the capacity | 20 |
/// | [`Deficit`](Self::Deficit) | the same tokens missing from full | -10, a debt |
///
/// A debt is kept as the tokens that are owed. All of it is worked out in whole numbers; what does not come out even is
/// rounded against the caller, by less than one unit of the new quota's axis, the smallest part of a token it counts in:
/// the refill of a nanosecond, or 2^-60 of the time to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// Keeps the number of tokens, as far as they fit into the new capacity. A change then never gives anything.
    Tokens,
    /// Keeps how full the bucket is. A larger capacity gives at most what it is larger by. A debt does not scale.
    Fraction,
    /// Keeps how many tokens are missing from a full bucket, as if what was used had been used under the new quota. A
    /// larger capacity gives what it is larger by, a smaller one takes as much and may leave a debt.
    Deficit,
}

impl Held {
    /// The word under the rules `new` for what was the word `arrival` under the rules `old` at the reading `now`.
    pub(crate) fn carried(self, old: &Gcra, new: &Gcra, arrival: u64, now: u64) -> u64 {
        let deficit = arrival.saturating_sub(old.issued(now));
        let deficit = self.deficit(Tub::of(old), Tub::of(new), deficit.into());
        new.lacking(new.issued(now), u64::try_from(deficit).unwrap_or(u64::MAX))
    }

    /// The units missing from `new` for those missing from `old`, rounded up. Units and spans have less than 61 bits and a
    /// deficit has at most 64, so no product has more than 125.
    fn deficit(self, old: Tub, new: Tub, deficit: u128) -> u128 {
        let (there, owed) = (old.span.saturating_sub(deficit), deficit.saturating_sub(old.span));
        let debt = (owed * new.unit).div_ceil(old.unit);
        match self {
            Self::Tokens => new.span.saturating_sub(there * new.unit / old.unit) + debt,
            Self::Fraction => new.span - there * new.span / old.span + debt,
            Self::Deficit => (deficit * new.unit).div_ceil(old.unit),
        }
    }
}

/// The sizes that matter, in units.
#[derive(Clone, Copy)]
struct Tub {
    /// A token.
    unit: u128,
    /// The capacity.
    span: u128,
}

impl Tub {
    fn of(gcra: &Gcra) -> Self {
        let (unit, spare) = (u128::from(gcra.one.units), u128::from(gcra.one.spare));
        Self { unit, span: unit + spare }
    }
}
