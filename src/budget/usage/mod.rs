//! What a request used, by class of token, in one form for all providers.

mod class;
mod reported;
mod weights;

use core::fmt;

pub(super) use self::class::PerClass;
pub use self::class::{Side, TokenClass};
pub use self::reported::{Reported, Shape};
pub use self::weights::Weights;

/// Tokens of one request by class, as a provider has told them or as they are estimated.
///
/// The classes are disjoint: each token is in one. Input and output are told apart, each as a whole or not at all, and what
/// was not told is absent, **not zero**. [`Weights::cost`] and [`Price::spend`](super::Price::spend) refuse to make a charge
/// of an absent side; [`or`](Self::or) fills it with what had been reserved.
///
/// ```
/// use tollgate::budget::{Side, TokenClass, Usage, Weights};
///
/// let reserved = Usage::new(1_000, 500);
/// // The stream was cut before its last frame: what came in is known, what went out is not.
/// let told = Usage::default().with(TokenClass::Input, 980);
///
/// assert_eq!(Weights::TOTAL.cost(&told).unwrap_err().side, Side::Output);
/// assert_eq!(Weights::TOTAL.cost(&told.or(&reserved)), Ok(1_480));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    tokens: PerClass<u64>,
    has_input: bool,
    has_output: bool,
}

impl Usage {
    /// Plain input and output, nothing of it cached, for an estimate.
    pub const fn new(input: u64, output: u64) -> Self {
        let mut tokens = PerClass::all(0);
        tokens.input = input;
        tokens.output = output;
        Self { tokens, has_input: true, has_output: true }
    }

    /// The same with so many tokens of a class; with it that side of the request is told.
    pub fn with(mut self, class: TokenClass, tokens: u64) -> Self {
        *self.tokens.of_mut(class) = tokens;
        match class.side() {
            Side::Input => self.has_input = true,
            Side::Output => self.has_output = true,
        }
        self
    }

    /// Tokens of a class; nothing if that side was not told.
    pub const fn tokens(&self, class: TokenClass) -> Option<u64> {
        if self.has(class.side()) { Some(*self.tokens.of(class)) } else { None }
    }

    /// Tokens of all classes of a side, at most `u64::MAX`; nothing if it was not told.
    pub fn total(&self, side: Side) -> Option<u64> {
        let of_side = TokenClass::ALL.into_iter().filter(|class| class.side() == side);
        of_side
            .map(|class| self.tokens(class))
            .try_fold(0_u64, |sum, tokens| Some(sum.saturating_add(tokens?)))
    }

    /// Whether a side was told.
    pub const fn has(&self, side: Side) -> bool {
        match side {
            Side::Input => self.has_input,
            Side::Output => self.has_output,
        }
    }

    /// The same, with each side that was not told as it is in `other`.
    ///
    /// For what had been reserved, or for an earlier report of the same request: where a stream tells cumulative figures
    /// more than once, the last one counts and is not added.
    pub fn or(&self, other: &Self) -> Self {
        let mut filled = *self;
        for class in TokenClass::ALL {
            if let (false, Some(tokens)) = (self.has(class.side()), other.tokens(class)) {
                filled = filled.with(class, tokens);
            }
        }
        filled
    }

    /// Tokens by class, zero where a side was not told.
    pub(super) fn told(&self) -> &PerClass<u64> {
        &self.tokens
    }
}

impl fmt::Debug for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = TokenClass::ALL.into_iter().filter_map(|class| Some((class.name(), self.tokens(class)?)));
        f.write_str("Usage ")?;
        f.debug_map().entries(told).finish()
    }
}

/// A side of a request that was not told, so that no charge can be made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Absent {
    /// The side that is missing.
    pub side: Side,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the usage does not tell its {} tokens; absent is not zero: fill in what was reserved",
            self.side
        )
    }
}

impl std::error::Error for Absent {}
