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

/// Beginnings of names that only one provider uses, in order: a gateway's own fields stand beside those of whom it asks.
const MARKS: [(&str, Provider); 26] = [
    ("anthropic-", Provider::Anthropic),
    ("x-ratelimit-renewalperiod-", Provider::Azure),
    ("x-ratelimit-abusepenalty-", Provider::Azure),
    ("x-groq-", Provider::Groq),
    ("x-shopify-", Provider::Shopify),
    ("x-rate-limit-", Provider::X),
    ("x-trial-endpoint-call-", Provider::Cohere),
    ("x-endpoint-monthly-call-", Provider::Cohere),
    ("x-tokenlimit-", Provider::Together),
    ("x-amzn-bedrock-", Provider::Bedrock),
    ("x-ratelimit-bucket", Provider::Discord),
    ("x-ratelimit-reset-after", Provider::Discord),
    ("x-ratelimit-global", Provider::Discord),
    ("x-ratelimit-scope", Provider::Discord),
    ("x-github-", Provider::GitHub),
    ("x-ratelimit-resource", Provider::GitHub),
    ("x-ratelimit-limit-req-", Provider::Mistral),
    ("x-ratelimit-remaining-req-", Provider::Mistral),
    ("x-ratelimit-tokens-query-cost", Provider::Mistral),
    ("x-ratelimit-limit-requests-day", Provider::Cerebras),
    ("x-ratelimit-limit-tokens-minute", Provider::Cerebras),
    ("x-envoy-ratelimited", Provider::Envoy),
    ("openai-", Provider::OpenAi),
    ("x-ms-", Provider::Azure),
    ("x-ratelimit-", Provider::Generic),
    ("ratelimit", Provider::Generic),
];

impl Provider {
    /// The provider that the names of the fields tell; none if they tell nothing about limits.
    pub fn detect(headers: &HeaderMap) -> Option<Self> {
        let mut best = MARKS.len();
        for name in
            headers.keys().map(|name| name.as_str()).filter(|name| name.starts_with(['a', 'o', 'r', 'x']))
        {
            // Only what stands above the best so far is of interest.
            let mut above = MARKS.iter().take(best);
            best = above.position(|(beginning, _)| name.starts_with(beginning)).unwrap_or(best);
        }
        MARKS.get(best).map(|(_, provider)| *provider)
    }
}
