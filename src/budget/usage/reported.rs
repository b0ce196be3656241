//! Usage as providers report it: which figures contain which.

use super::{TokenClass, Usage};

/// The figures of a usage report, as they stand there. What does not stand there is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// `prompt_tokens`, `input_tokens`, `promptTokenCount`, `inputTokens`.
    pub input: Option<u64>,
    /// `cached_tokens`, `cache_read_input_tokens`, `cachedContentTokenCount`, `cacheReadInputTokens`.
    pub cache_read: Option<u64>,
    /// `cache_write_tokens`, `ephemeral_5m_input_tokens`, `cacheWriteInputTokens`; `cache_creation_input_tokens` where it
    /// is not split by lifetime.
    pub cache_write: Option<u64>,
    /// `ephemeral_1h_input_tokens`.
    pub cache_write_long: Option<u64>,
    /// `completion_tokens`, `output_tokens`, `candidatesTokenCount`, `outputTokens`.
    pub output: Option<u64>,
    /// `reasoning_tokens`, `thoughtsTokenCount`.
    pub reasoning: Option<u64>,
}

/// Which figures of a report contain which. The same numbers mean different amounts with different providers:
///
/// | shape | cached tokens | reasoning tokens |
/// |---|---|---|
/// | [`OPENAI`](Self::OPENAI), also Azure and who copies its form | within the input | within the output |
/// | [`ANTHROPIC`](Self::ANTHROPIC) | beside the input | within the output |
/// | [`GEMINI`](Self::GEMINI), also Vertex | within the input | beside the output |
/// | [`BEDROCK`](Self::BEDROCK) | beside the input | within the output |
///
/// A side whose own figure (`input`, `output`) is not in the report is absent in the [`Usage`], whatever stands beside it.
/// A detail that is not there counts as none of that class, since the side's own figure is there and covers it, or the
/// provider leaves out what did not occur. Details that add up to more than the figure that contains them are not believed:
/// all of it then counts as plain input or output.
///
/// ```
/// use tollgate::budget::{Reported, Shape, Side, TokenClass};
///
/// let report = Reported {
///     input: Some(100),
///     cache_read: Some(80),
///     output: Some(50),
///     reasoning: Some(20),
///     ..Reported::default()
/// };
/// let [openai, anthropic, gemini] = [Shape::OPENAI, Shape::ANTHROPIC, Shape::GEMINI].map(|shape| shape.usage(&report));
///
/// assert_eq!(openai.tokens(TokenClass::Input), Some(20));
/// assert_eq!((openai.total(Side::Input), openai.total(Side::Output)), (Some(100), Some(50)));
/// assert_eq!((anthropic.total(Side::Input), anthropic.total(Side::Output)), (Some(180), Some(50)));
/// assert_eq!((gemini.total(Side::Input), gemini.total(Side::Output)), (Some(100), Some(70)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    cache_is_within_input: bool,
    reasoning_is_within_output: bool,
}

impl Shape {
    /// Chat completions and responses of OpenAI, and the many that have the same form.
    pub const OPENAI: Self = Self::new(true, true);
    /// Messages of Anthropic.
    pub const ANTHROPIC: Self = Self::new(false, true);
    /// Google's Gemini API and Vertex.
    pub const GEMINI: Self = Self::new(true, false);
    /// Converse and the token headers of Amazon Bedrock.
    pub const BEDROCK: Self = Self::new(false, true);

    /// Any other.
    pub const fn new(cache_is_within_input: bool, reasoning_is_within_output: bool) -> Self {
        Self { cache_is_within_input, reasoning_is_within_output }
    }

    /// The report with its classes told apart.
    pub fn usage(self, report: &Reported) -> Usage {
        let caches = [
            (TokenClass::CacheRead, report.cache_read),
            (TokenClass::CacheWrite, report.cache_write),
            (TokenClass::CacheWriteLong, report.cache_write_long),
        ];
        let usage = match report.input {
            Some(input) => {
                divide(Usage::default(), (TokenClass::Input, input), &caches, self.cache_is_within_input)
            }
            None => Usage::default(),
        };
        let reasoning = [(TokenClass::Reasoning, report.reasoning)];
        match report.output {
            Some(output) => {
                divide(usage, (TokenClass::Output, output), &reasoning, self.reasoning_is_within_output)
            }
            None => usage,
        }
    }
}

/// Adds a side to the usage: its own figure, less the details if it contains them.
fn divide(
    usage: Usage,
    (class, figure): (TokenClass, u64),
    details: &[(TokenClass, Option<u64>)],
    is_within: bool,
) -> Usage {
    let detailed = details.iter().filter_map(|(_, tokens)| *tokens).try_fold(0_u64, u64::checked_add);
    let rest = match detailed {
        _ if !is_within => figure,
        Some(detailed) if detailed <= figure => figure - detailed,
        _ => return usage.with(class, figure),
    };
    details.iter().fold(usage.with(class, rest), |usage, (class, tokens)| {
        usage.with(*class, tokens.unwrap_or_default())
    })
}
