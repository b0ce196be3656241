//! What a limit counts of each class of tokens.

use super::{Absent, PerClass, Side, TokenClass, Usage};
use crate::budget::ratio::{self, Ratio, RatioError};

/// How much of each class of tokens one limit counts.
///
/// A provider's token limits differ in what they count. One usage record is charged to each limit through that limit's
/// weights:
///
/// | limit | weights | what it counts |
/// |---|---|---|
/// | OpenAI and Azure, tokens | [`TOTAL`](Self::TOTAL) | all; no exemption of cached input is documented |
/// | Anthropic, input tokens | [`ANTHROPIC_INPUT`](Self::ANTHROPIC_INPUT) | input and cache writes, not cache reads; for models that are marked as counting those too, [`INPUT`](Self::INPUT) |
/// | Anthropic, output tokens | [`OUTPUT`](Self::OUTPUT) | output as it comes; `max_tokens` does not count |
/// | Anthropic priority, input tokens | [`ANTHROPIC_PRIORITY_INPUT`](Self::ANTHROPIC_PRIORITY_INPUT) | cache reads a tenth, writes 1.25 and, for an hour, 2; in the US only all of it [times](Self::times) 1.1 |
/// | Gemini and Vertex, tokens | [`INPUT`](Self::INPUT) | input only; cached input is within it, and no exemption is known |
/// | Groq, tokens | [`GROQ`](Self::GROQ) | all but cached input |
/// | Bedrock, at admission | [`TOTAL`](Self::TOTAL) | input, cache reads and writes, and `maxTokens` as the output |
/// | Bedrock, at the end | [`bedrock`](Self::bedrock) | input, cache writes, and output times a burn-down rate |
/// | any other, as Mistral | [`TOTAL`](Self::TOTAL) | the safe side, until something else is known |
///
/// The figures are those of the providers' documentation in 2026; DeepSeek limits what is in flight and counts no tokens.
/// Learn what is really charged from the provider's own headers where it has them.
///
/// With the feature `serde` they are read from fields named for the classes, such as `cached_input = 0.1` and `output = 5`.
/// Caches that are not stated count as the input does and reasoning as the output, and those count in full.
///
/// ```
/// use tollgate::budget::{Ratio, TokenClass, Usage, Weights};
///
/// let usage = Usage::new(1_000, 300).with(TokenClass::CacheRead, 9_001);
/// assert_eq!(Weights::TOTAL.cost(&usage)?, 10_301);
/// assert_eq!(Weights::ANTHROPIC_INPUT.cost(&usage)?, 1_000);
/// assert_eq!(Weights::ANTHROPIC_PRIORITY_INPUT.cost(&usage)?, 1_901); // 1900.1, rounded up
/// assert_eq!(Weights::bedrock("5".parse()?).cost(&usage)?, 2_500);
///
/// let own = Weights::TOTAL.with(TokenClass::CacheRead, Ratio::new(1, 4)?);
/// assert_eq!(own.cost(&usage)?, 3_551); // 3550.25, rounded up
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "Fields", from = "Fields"))]
pub struct Weights(PerClass<Ratio>);

impl Weights {
    /// Every token once.
    #[doc(alias = "OPENAI")]
    #[doc(alias = "AZURE")]
    #[doc(alias = "MISTRAL")]
    pub const TOTAL: Self = Self(PerClass::all(Ratio::ONE));
    /// Every token of the input once, none of the output.
    #[doc(alias = "GEMINI")]
    #[doc(alias = "VERTEX")]
    pub const INPUT: Self = Self(PerClass { output: Ratio::ZERO, reasoning: Ratio::ZERO, ..Self::TOTAL.0 });
    /// Every token of the output once, none of the input.
    #[doc(alias = "ANTHROPIC_OUTPUT")]
    pub const OUTPUT: Self =
        Self(PerClass { output: Ratio::ONE, reasoning: Ratio::ONE, ..PerClass::all(Ratio::ZERO) });
    /// Anthropic's input tokens a minute, for most models: cache reads do not count.
    pub const ANTHROPIC_INPUT: Self = Self(PerClass { cache_read: Ratio::ZERO, ..Self::INPUT.0 });
    /// Anthropic's input tokens a minute of the priority tier.
    pub const ANTHROPIC_PRIORITY_INPUT: Self = Self(PerClass {
        cache_read: Ratio::known(1, 10),
        cache_write: Ratio::known(5, 4),
        cache_write_long: Ratio::known(2, 1),
        ..Self::INPUT.0
    });
    /// Groq's tokens: cached input does not count.
    pub const GROQ: Self = Self(PerClass { cache_read: Ratio::ZERO, ..Self::TOTAL.0 });

    /// Bedrock's tokens when the request has ended: output counts `burndown` times (5 for newer Claude models, 1 for most),
    /// cache reads do not.
    pub const fn bedrock(burndown: Ratio) -> Self {
        Self(PerClass { output: burndown, reasoning: burndown, ..Self::GROQ.0 })
    }

    /// The same with another weight for one class; 0 leaves it out. Output that is reasoning is a class of its own.
    pub fn with(mut self, class: TokenClass, weight: Ratio) -> Self {
        *self.0.of_mut(class) = weight;
        self
    }

    /// All weights times a factor.
    ///
    /// # Errors
    ///
    /// [`RatioError::Product`] for a product that is no [`Ratio`].
    pub fn times(self, factor: Ratio) -> Result<Self, RatioError> {
        TokenClass::ALL
            .into_iter()
            .try_fold(self, |weights, class| Ok(weights.with(class, weights.weight(class).times(factor)?)))
    }

    /// The weight of a class.
    pub const fn weight(&self, class: TokenClass) -> Ratio {
        *self.0.of(class)
    }

    /// Whether anything of a side counts.
    pub fn counts(&self, side: Side) -> bool {
        TokenClass::ALL.into_iter().any(|class| class.side() == side && self.weight(class) != Ratio::ZERO)
    }

    /// What the limit counts of the usage: the exact sum, rounded up once; at most `u64::MAX`.
    ///
    /// # Errors
    ///
    /// [`Absent`] if a side that counts was not told; see [`Usage::or`].
    pub fn cost(&self, usage: &Usage) -> Result<u64, Absent> {
        let missing = |side: &Side| self.counts(*side) && !usage.has(*side);
        match [Side::Input, Side::Output].into_iter().find(missing) {
            Some(side) => Err(Absent { side }),
            None => {
                Ok(ratio::sum_of(TokenClass::ALL.map(|class| (*usage.told().of(class), self.weight(class)))))
            }
        }
    }
}

/// Weights as they are written: caches count as the input and reasoning as the output, unless stated, and those in full.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default = "in_full")]
    input: Ratio,
    #[serde(alias = "cached_input")]
    cache_read: Option<Ratio>,
    cache_write: Option<Ratio>,
    cache_write_long: Option<Ratio>,
    #[serde(default = "in_full")]
    output: Ratio,
    reasoning: Option<Ratio>,
}

#[cfg(feature = "serde")]
fn in_full() -> Ratio {
    Ratio::ONE
}

#[cfg(feature = "serde")]
impl From<Weights> for Fields {
    fn from(Weights(weights): Weights) -> Self {
        let PerClass { input, output, .. } = weights;
        let [cache_read, cache_write, cache_write_long, reasoning] =
            [weights.cache_read, weights.cache_write, weights.cache_write_long, weights.reasoning].map(Some);
        Self { input, cache_read, cache_write, cache_write_long, output, reasoning }
    }
}

#[cfg(feature = "serde")]
impl From<Fields> for Weights {
    fn from(fields: Fields) -> Self {
        let Fields { input, output, .. } = fields;
        Self(PerClass {
            input,
            cache_read: fields.cache_read.unwrap_or(input),
            cache_write: fields.cache_write.unwrap_or(input),
            cache_write_long: fields.cache_write_long.unwrap_or(input),
            output,
            reasoning: fields.reasoning.unwrap_or(output),
        })
    }
}
