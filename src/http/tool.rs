//! Refusals as an agent's tools tell them.

use serde_json::{Map, Value, json};

use super::refusal::{Refusal, Verdict};

/// What a tool returns instead of its result when a limit refuses the call.
///
/// A model reads it, so it says what to do in a sentence that cannot be taken for another: call again after
/// so many seconds, make the call smaller, or call nothing any more. A program that drives the model reads
/// the JSON, whose `outcome` is
///
/// | `outcome` | `retry` | beside it |
/// |---|---|---|
/// | `try_later` | `true` | `retry_after_seconds`, whole, never 0; absent if nobody knows |
/// | `never_fits` | `false` | `cost`, `most` |
/// | `run_ended` | `false` | `used`, `allowed`, and `tool` if it is the ceiling of one tool |
/// | `invalid` | `false` | |
///
/// and in any case `message`, the sentence, and `limit` if it has a name.
#[derive(Clone, PartialEq, Debug)]
#[must_use = "it is to be returned to the model"]
pub struct ToolResult {
    sentence: String,
    json: Value,
}

impl Refusal<'_> {
    /// As the result of a tool's call.
    ///
    /// ```
    /// use tollgate::http::Refusal;
    /// use tollgate::{Bucket, Manual, quota};
    ///
    /// let searches = Bucket::with_clock(quota!("1/min"), Manual::new());
    /// searches.try_acquire()?;
    /// let result = Refusal::from(searches.try_acquire().unwrap_err()).named("search").tool_result();
    /// assert_eq!(
    ///     result.sentence(),
    ///     "Not now: the limit `search` is used up. Wait 60 seconds, then make the same call again."
    /// );
    /// assert_eq!(result.json()["retry_after_seconds"], 60);
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    pub fn tool_result(&self) -> ToolResult {
        let sentence = self.instruction();
        let mut json = Map::new();
        json.insert("outcome".into(), self.outcome().into());
        json.insert("retry".into(), (!self.is_final()).into());
        for (key, value) in self.particulars() {
            json.insert(key.into(), value);
        }
        if let Some(name) = self.name() {
            json.insert("limit".into(), name.into());
        }
        json.insert("message".into(), sentence.as_str().into());
        ToolResult { sentence, json: Value::Object(json) }
    }

    fn outcome(&self) -> &'static str {
        match self.verdict() {
            Verdict::Later { .. } | Verdict::Busy | Verdict::Closed => "try_later",
            Verdict::Never { .. } => "never_fits",
            Verdict::Invalid => "invalid",
            #[cfg(feature = "budget")]
            Verdict::Ended(_) => "run_ended",
        }
    }

    fn particulars(&self) -> Vec<(&'static str, Value)> {
        match self.verdict() {
            Verdict::Later { .. } | Verdict::Busy | Verdict::Closed => {
                let wait = self.retry_after().map(|wait| ("retry_after_seconds", json!(wait.as_secs())));
                wait.into_iter().collect()
            }
            Verdict::Never { cost, most } => vec![("cost", json!(cost)), ("most", json!(most))],
            Verdict::Invalid => Vec::new(),
            #[cfg(feature = "budget")]
            Verdict::Ended(ended) => {
                let figures = [("used", json!(ended.used())), ("allowed", json!(ended.allowed()))];
                figures.into_iter().chain(ended.tool().map(|tool| ("tool", json!(tool)))).collect()
            }
        }
    }

    fn instruction(&self) -> String {
        let limit = self.limit_in_words("the", "a");
        match self.verdict() {
            Verdict::Later { .. } | Verdict::Busy | Verdict::Closed => {
                let wait = self.wait_in_words().unwrap_or("a little".to_string());
                format!("Not now: {limit} {}. Wait {wait}, then make the same call again.", self.obstacle())
            }
            Verdict::Never { cost, most } => format!(
                "Too large: this call costs {cost} and {limit} admits at most {most} at once, however long \
                 you wait. Do not repeat it; make it smaller."
            ),
            Verdict::Invalid => {
                "This tool is set up wrongly: it asked its limit for nothing. Do not repeat the call."
                    .to_string()
            }
            #[cfg(feature = "budget")]
            Verdict::Ended(ended) => {
                format!("Stop: {ended}. Make no more calls; finish with what you have.")
            }
        }
    }
}

impl ToolResult {
    /// One sentence or two, for the model.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The same as an object, for what drives the model.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The object.
    pub fn into_json(self) -> Value {
        self.json
    }
}
