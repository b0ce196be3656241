//! How many tokens a text has.

use std::sync::Arc;

use super::EstimateError;
use crate::budget::ratio::Ratio;

/// Counts the tokens of a text, exactly or nearly.
///
/// Any `Fn(&str) -> u64` does, so a tokenizer needs no wrapper; `examples/tiktoken.rs` has one. What may fail goes into
/// [`WithFallback`].
///
/// ```
/// use tollgate::budget::{CharsPerToken, CountTokens};
///
/// let words = |text: &str| text.split_whitespace().count() as u64;
/// let counters: [&dyn CountTokens; 2] = [&words, &CharsPerToken::default()];
/// assert_eq!(counters.map(|counter| counter.count("one two three")), [3, 4]);
/// ```
pub trait CountTokens {
    /// Tokens in the text.
    fn count(&self, text: &str) -> u64;
}

impl<F: Fn(&str) -> u64 + ?Sized> CountTokens for F {
    fn count(&self, text: &str) -> u64 {
        self(text)
    }
}

impl<T: CountTokens + ?Sized> CountTokens for Arc<T> {
    fn count(&self, text: &str) -> u64 {
        T::count(self, text)
    }
}

/// Characters (Unicode scalar values) divided by a ratio, rounded up; 3.5 unless told otherwise.
///
/// It walks through the text once. See [`BytesPerToken`] for what it is off by.
///
/// ```
/// use tollgate::budget::{CharsPerToken, CountTokens};
///
/// assert_eq!(CharsPerToken::default().count("Hello, world"), 4); // 12 / 3.5 = 3.4
/// assert_eq!(CharsPerToken::new("4".parse()?)?.count("Hello, world"), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharsPerToken {
    chars: Ratio,
}

impl CharsPerToken {
    /// So many characters a token.
    ///
    /// # Errors
    ///
    /// [`EstimateError::ZeroPerToken`] for zero.
    pub fn new(chars: Ratio) -> Result<Self, EstimateError> {
        Ok(Self { chars: more_than_none(chars)? })
    }

    /// Tokens of so many characters.
    pub const fn tokens(&self, chars: u64) -> u64 {
        self.chars.into_parts(chars)
    }
}

impl Default for CharsPerToken {
    fn default() -> Self {
        Self { chars: Ratio::known(7, 2) }
    }
}

impl CountTokens for CharsPerToken {
    fn count(&self, text: &str) -> u64 {
        self.tokens(text.chars().count() as u64)
    }
}

/// Bytes (of UTF-8) divided by a ratio, rounded up; 4 unless told otherwise. It does not look at the text.
///
/// Also for what is only known by its length, such as a stream that was cut before its usage came.
///
/// ```
/// use tollgate::budget::BytesPerToken;
///
/// assert_eq!(BytesPerToken::default().tokens(2_000), 500);
/// assert_eq!(BytesPerToken::UPPER_BOUND.tokens(2_000), 2_000);
/// ```
///
/// # Error
///
/// What `examples/tiktoken.rs` prints, for texts of a kind, against the exact count with the encoding `o200k_base`:
///
/// | text | tokens | characters / 3.5 | bytes / 4 |
/// |---|---|---|---|
/// | English | 83 | +46 % | +28 % |
/// | German | 99 | +30 % | +16 % |
/// | Russian | 75 | +15 % | +84 % |
/// | Chinese | 91 | -64 % | -7 % |
/// | Japanese | 71 | -67 % | -12 % |
/// | Licence | 2231 | +39 % | +22 % |
/// | Rust | 420 | +11 % | -4 % |
/// | JSON | 74 | +15 % | +2 % |
/// | Digits | 37 | -17 % | -28 % |
///
/// So either is within about half for prose in an alphabet, and characters fall short by two thirds where a character is a
/// word.
///
/// A tokenizer that encodes bytes (all of OpenAI's) never has more tokens than bytes, so [`UPPER_BOUND`](Self::UPPER_BOUND)
/// is never too low, special tokens and what a chat format adds to each message aside. [`Calibrated`](super::Calibrated)
/// learns what remains, for each kind of text that has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesPerToken {
    bytes: Ratio,
}

impl BytesPerToken {
    /// A token for each byte.
    pub const UPPER_BOUND: Self = Self { bytes: Ratio::ONE };

    /// So many bytes a token.
    ///
    /// # Errors
    ///
    /// [`EstimateError::ZeroPerToken`] for zero.
    pub fn new(bytes: Ratio) -> Result<Self, EstimateError> {
        Ok(Self { bytes: more_than_none(bytes)? })
    }

    /// Tokens of so many bytes.
    pub const fn tokens(&self, bytes: u64) -> u64 {
        self.bytes.into_parts(bytes)
    }
}

impl Default for BytesPerToken {
    fn default() -> Self {
        Self { bytes: Ratio::known(4, 1) }
    }
}

impl CountTokens for BytesPerToken {
    fn count(&self, text: &str) -> u64 {
        self.tokens(text.len() as u64)
    }
}

/// A counter that can fail, and the figure that stands in for it then.
///
/// ```
/// use tollgate::budget::{CountTokens, WithFallback};
///
/// let of_the_service = |text: &str| text.is_ascii().then_some(text.len() as u64); // ... or None
/// let counter = WithFallback::new(of_the_service, 2_000);
/// assert_eq!((counter.count("abc"), counter.count("αβγ")), (3, 2_000));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithFallback<F> {
    count: F,
    fallback: u64,
}

impl<F: Fn(&str) -> Option<u64>> WithFallback<F> {
    /// Counts with `count`, and takes `fallback` tokens where it gives none.
    pub const fn new(count: F, fallback: u64) -> Self {
        Self { count, fallback }
    }
}

impl<F: Fn(&str) -> Option<u64>> CountTokens for WithFallback<F> {
    fn count(&self, text: &str) -> u64 {
        (self.count)(text).unwrap_or(self.fallback)
    }
}

fn more_than_none(ratio: Ratio) -> Result<Ratio, EstimateError> {
    if ratio == Ratio::ZERO { Err(EstimateError::ZeroPerToken) } else { Ok(ratio) }
}
