//! What a call costs in each dimension.

use core::fmt;

use crate::upstream::read::Dimension;

/// As many as [`Dimension`] has.
const DIMENSIONS: usize = 18;

const _: () = assert!(Dimension::Other as usize + 1 == DIMENSIONS);

/// Every dimension, to be shown.
const ALL: [Dimension; DIMENSIONS] = [
    Dimension::Requests,
    Dimension::Tokens,
    Dimension::InputTokens,
    Dimension::OutputTokens,
    Dimension::ProjectTokens,
    Dimension::InputImages,
    Dimension::PriorityInputTokens,
    Dimension::PriorityOutputTokens,
    Dimension::FastInputTokens,
    Dimension::FastOutputTokens,
    Dimension::Unified5h,
    Dimension::Unified7d,
    Dimension::UnifiedOverage,
    Dimension::TrialCalls,
    Dimension::Points,
    Dimension::ContentBytes,
    Dimension::ConcurrentRequests,
    Dimension::Other,
];

/// What a call is expected to cost, in each dimension; zero where nothing is said.
///
/// ```
/// use tollgate::upstream::{Cost, Dimension};
///
/// let cost = Cost::requests(1).with(Dimension::InputTokens, 1_200);
/// assert_eq!(cost.amount(Dimension::InputTokens), 1_200);
/// assert_eq!(cost.amount(Dimension::OutputTokens), 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cost {
    amounts: [u64; DIMENSIONS],
}

impl Cost {
    /// So many calls and nothing else.
    pub const fn requests(requests: u64) -> Self {
        Self::of(Dimension::Requests, requests)
    }

    /// So much in one dimension and nothing else.
    pub const fn of(dimension: Dimension, amount: u64) -> Self {
        Self { amounts: [0; DIMENSIONS] }.with(dimension, amount)
    }

    /// The same with so much in `dimension`, in place of what it was.
    #[must_use]
    pub const fn with(mut self, dimension: Dimension, amount: u64) -> Self {
        // In range: see the assertion above.
        self.amounts[dimension as usize] = amount;
        self
    }

    /// What it takes in `dimension`.
    pub const fn amount(&self, dimension: Dimension) -> u64 {
        self.amounts[dimension as usize]
    }

    pub(super) fn wrapping_add(&self, other: &Self) -> Self {
        self.combined(other, u64::wrapping_add)
    }

    pub(super) fn wrapping_sub(&self, other: &Self) -> Self {
        self.combined(other, u64::wrapping_sub)
    }

    pub(super) fn saturating_sub(&self, other: &Self) -> Self {
        self.combined(other, u64::saturating_sub)
    }

    fn combined(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let mut amounts = self.amounts;
        for (amount, other) in amounts.iter_mut().zip(&other.amounts) {
            *amount = combine(*amount, *other);
        }
        Self { amounts }
    }
}

impl fmt::Debug for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(ALL.iter().map(|d| (d, self.amount(*d))).filter(|(_, amount)| *amount > 0))
            .finish()
    }
}
