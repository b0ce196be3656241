//! Whose conventions a response follows.

use http::HeaderMap;

/// Whose conventions a response follows.
///
/// Most fields say by their name what they mean, so [`Provider`] matters only where one name means two things. It is found
/// from the headers where they tell; say it where they do not: Groq's requests are a day's, and nothing but its own fields
/// tells that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI, and those that use its names with Go's durations.
    OpenAi,
    /// Azure OpenAI and GitHub Models: OpenAI's names with bare numbers.
    Azure,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini and Vertex AI: no fields, only bodies.
    Google,
    /// Groq: OpenAI's names, requests by the day and tokens by the minute.
    Groq,
    /// Mistral.
    Mistral,
    /// Cohere.
    Cohere,
    /// Together.
    Together,
    /// OpenRouter.
    OpenRouter,
    /// Cerebras and SambaNova.
    Cerebras,
    /// Amazon Bedrock: no fields.
    Bedrock,
    /// GitHub's REST interface.
    GitHub,
    /// Shopify.
    Shopify,
    /// X, once Twitter.
    X,
    /// Discord.
    Discord,
    /// Envoy's filter.
    Envoy,
    /// `X-RateLimit-*` or `RateLimit-*` of whoever it is.
    Generic,
}

/// Who wins where the marks of several stand: a gateway's own fields stand beside those of whom it asks.
const PRECEDENCE: [Provider; 15] = [
    Provider::Anthropic,
    Provider::Azure,
    Provider::Groq,
    Provider::Shopify,
    Provider::X,
    Provider::Cohere,
    Provider::Together,
    Provider::Bedrock,
    Provider::Discord,
    Provider::GitHub,
    Provider::Mistral,
    Provider::Cerebras,
    Provider::Envoy,
    Provider::OpenAi,
    Provider::Generic,
];

/// Beginnings of names that only one provider uses.
const MARKS: [(&str, Provider); 13] = [
    ("anthropic-", Provider::Anthropic),
    ("openai-", Provider::OpenAi),
    ("ratelimit", Provider::Generic),
    ("x-ms-", Provider::Azure),
    ("x-groq-", Provider::Groq),
    ("x-shopify-", Provider::Shopify),
    ("x-rate-limit-", Provider::X),
    ("x-trial-endpoint-call-", Provider::Cohere),
    ("x-endpoint-monthly-call-", Provider::Cohere),
    ("x-tokenlimit-", Provider::Together),
    ("x-amzn-bedrock-", Provider::Bedrock),
    ("x-github-", Provider::GitHub),
    ("x-envoy-ratelimited", Provider::Envoy),
];

/// The same of what follows `x-ratelimit-`.
const MARKS_OF_RATE_LIMIT: [(&str, Provider); 12] = [
    ("renewalperiod-", Provider::Azure),
    ("abusepenalty-", Provider::Azure),
    ("bucket", Provider::Discord),
    ("reset-after", Provider::Discord),
    ("global", Provider::Discord),
    ("scope", Provider::Discord),
    ("resource", Provider::GitHub),
    ("limit-req-", Provider::Mistral),
    ("remaining-req-", Provider::Mistral),
    ("tokens-query-cost", Provider::Mistral),
    ("limit-requests-day", Provider::Cerebras),
    ("limit-tokens-minute", Provider::Cerebras),
];

impl Provider {
    /// The provider that the names of the fields tell; none if they tell nothing about limits.
    pub fn detect(headers: &HeaderMap) -> Option<Self> {
        let mut best = PRECEDENCE.len();
        for provider in headers.keys().filter_map(|name| Self::marked(name.as_str())) {
            let mut above = PRECEDENCE.iter().take(best);
            best = above.position(|other| *other == provider).unwrap_or(best);
        }
        PRECEDENCE.get(best).copied()
    }

    /// Whose mark a name is.
    fn marked(name: &str) -> Option<Self> {
        let among = |marks: &[(&str, Self)], name: &str| {
            let mark = marks.iter().find(|(beginning, _)| name.starts_with(beginning));
            mark.map(|(_, provider)| *provider)
        };
        if let Some(rest) = name.strip_prefix("x-ratelimit-") {
            return among(&MARKS_OF_RATE_LIMIT, rest).or(Some(Self::Generic));
        }
        name.starts_with(['a', 'o', 'r', 'x']).then(|| among(&MARKS, name)).flatten()
    }
}
