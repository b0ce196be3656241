//! What a call will cost, before it is known.

use std::sync::Arc;

use serde_json::Value;
use tollgate::budget::{
    BytesPerToken, Calibrated, CharsPerToken, CountTokens, History, OutputEstimator, PerKey, Side, Usage,
    Weights,
};

/// Kinds of calls that are learned of each by itself: a tenant with a model.
const MOST_KINDS: usize = 1000;
/// What an answer is taken to need before anything is known of its kind.
const FALLBACK: u64 = 256;

/// What is learned from usage records.
pub(crate) struct Estimates {
    count: CharsPerToken,
    /// By how much the count is off.
    input: Calibrated<String>,
    output: PerKey<String, History>,
    rule: OutputEstimator,
}

/// The tokens that a call is reserved at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess {
    /// As counted, before the count was corrected.
    counted: u64,
    input: u64,
    output: u64,
}

impl Estimates {
    pub(crate) fn new() -> Self {
        Self {
            count: CharsPerToken::default(),
            input: Calibrated::new(MOST_KINDS),
            output: PerKey::new(MOST_KINDS),
            // What answers were, with a margin; and no more than half of what the call allows, for few use it
            // up.
            rule: OutputEstimator::hybrid(FALLBACK),
        }
    }

    pub(crate) fn guess(&self, kind: &str, call: &Value) -> Guess {
        let messages = call["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let texts = messages.iter().filter_map(|message| message["content"].as_str());
        let counted = texts.map(|text| self.count.count(text)).sum::<u64>().max(1);
        let caps = [call["max_tokens"].as_u64(), call["max_completion_tokens"].as_u64()];
        // A kind of which nothing was learned gets no place: whoever makes up names of models fills nothing.
        let history = self.output.find(kind).unwrap_or_else(|| Arc::clone(self.output.common()));
        let output = self.rule.estimate(&history, &caps).tokens();
        Guess { counted, input: self.input.estimate(kind, counted), output }
    }

    /// What it came to.
    pub(crate) fn learn(&self, kind: &str, guess: &Guess, usage: &Usage) {
        if let Some(input) = usage.total(Side::Input) {
            self.input.observe(kind, guess.counted, input);
        }
        if let Some(output) = usage.total(Side::Output) {
            self.output.of(kind).record(output);
        }
    }
}

impl Guess {
    /// What the prompt costs, whatever is answered.
    pub(crate) fn input(&self) -> u64 {
        self.input
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// What the call has used by the bytes of its answer.
    pub(crate) fn seen(&self, written: u64) -> u64 {
        self.input.saturating_add(BytesPerToken::default().tokens(written))
    }

    /// What the call has used, with the guess where the usage does not tell.
    pub(crate) fn corrected(&self, usage: &Usage) -> u64 {
        let told = usage.or(&Usage::new(self.input, self.output));
        Weights::TOTAL.cost(&told).unwrap_or_else(|_| self.tokens())
    }
}
