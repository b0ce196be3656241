//! Chat completions in OpenAI's form: what a call costs follows from its body, and the answer can be a stream
//! of events.

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::state::Cost;

/// Where a call goes that is one.
pub(crate) const PATH: &str = "/v1/chat/completions";

/// Beside its text, each message counts so many tokens.
const MESSAGE_TOKENS: u64 = 3;
/// In prompts and in answers.
const BYTES_PER_TOKEN: u64 = 4;
/// Where the call does not say how long the answer shall be.
const OUTPUT_TOKENS: u64 = 16;
/// No answer is longer, whatever the call asks for: it is made in memory.
const LONGEST_OUTPUT: u64 = 1 << 20;
/// Nor does it come in more pieces.
const MOST_PIECES: u32 = 1 << 16;

/// A call, as its body asks for it. `metadata.output_tokens`, a string, says how long the answer shall be,
/// for no model is here to decide it; `max_tokens` cuts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chat {
    prompt: u64,
    output: u64,
    pub(crate) is_streamed: bool,
}

impl Chat {
    /// `None` for a body that is no call.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let messages = body["messages"].as_array()?;
        let prompt = messages.iter().map(|message| {
            let text = message["content"].as_str().unwrap_or_default();
            MESSAGE_TOKENS + (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
        });
        let wanted = body["metadata"]["output_tokens"].as_str().and_then(|number| number.parse().ok());
        let most = body["max_tokens"].as_u64().unwrap_or(u64::MAX);
        Some(Self {
            prompt: prompt.sum(),
            output: wanted.unwrap_or(OUTPUT_TOKENS).min(most).min(LONGEST_OUTPUT),
            is_streamed: body["stream"].as_bool().unwrap_or_default(),
        })
    }

    pub(crate) fn cost(self) -> Cost {
        Cost { tokens: self.prompt + self.output }
    }

    /// The answer as one body.
    pub(crate) fn whole(self) -> String {
        let message = json!({ "role": "assistant", "content": text(self.output) });
        let choices = json!([{ "index": 0, "message": message, "finish_reason": "stop" }]);
        json!({ "object": "chat.completion", "choices": choices, "usage": self.usage() }).to_string()
    }

    /// The answer as so many events, and one that tells the usage with the end mark behind it.
    pub(crate) fn events(self, pieces: u32) -> Vec<Bytes> {
        let pieces = u64::from(pieces.clamp(1, MOST_PIECES));
        let upto = |piece: u64| self.output * piece / pieces;
        let texts = (0..pieces).map(|piece| {
            let delta = json!({ "content": text(upto(piece + 1) - upto(piece)) });
            event(&json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta }] }))
        });
        let usage = json!({ "object": "chat.completion.chunk", "choices": [], "usage": self.usage() });
        texts.chain([event(&usage) + "data: [DONE]\n\n"]).map(Bytes::from).collect()
    }

    fn usage(self) -> Value {
        let Self { prompt, output, .. } = self;
        json!({ "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output })
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn text(tokens: u64) -> String {
    "lorem ip".chars().cycle().take(usize::try_from(tokens * BYTES_PER_TOKEN).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_its_prompt_and_the_answer_that_it_asks_for() {
        let body = br#"{"messages":[{"content":"12345"},{"content":"1234"}],"metadata":{"output_tokens":"7"},"stream":true}"#;
        let chat = Chat::read(body).unwrap();
        assert_eq!(chat, Chat { prompt: 3 + 2 + 3 + 1, output: 7, is_streamed: true });
        assert_eq!(chat.cost().tokens, 16);
        let cut = br#"{"messages":[],"max_tokens":5,"metadata":{"output_tokens":"7"}}"#;
        assert_eq!(Chat::read(cut).unwrap().output, 5);
        assert_eq!(Chat::read(b"{}"), None);
    }

    #[test]
    fn no_answer_is_longer_than_fits_into_memory() {
        let body = format!(
            r#"{{"messages":[{{"content":"12345"}}],"metadata":{{"output_tokens":"{}"}},"stream":true}}"#,
            u64::MAX
        );
        let chat = Chat::read(body.as_bytes()).unwrap();
        assert_eq!(chat.cost().tokens, 3 + 2 + LONGEST_OUTPUT);
        let bytes = LONGEST_OUTPUT * BYTES_PER_TOKEN;
        assert!(chat.whole().len() as u64 > bytes);
        let events = chat.events(u32::MAX);
        assert_eq!(events.len(), MOST_PIECES as usize + 1);
        assert!(events.iter().map(|event| event.len() as u64).sum::<u64>() > bytes);
    }

    #[test]
    fn events_add_up_to_the_answer() {
        let chat = Chat { prompt: 9, output: 7, is_streamed: true };
        let events = chat.events(3);
        assert_eq!(events.len(), 4);
        let all = events.concat();
        let all = std::str::from_utf8(&all).unwrap();
        let data: Vec<Value> =
            all.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
        let texts = data.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
        assert_eq!(texts.map(str::len).sum::<usize>(), 28);
        assert_eq!(data[3]["usage"]["total_tokens"], 16);
        assert!(all.ends_with("data: [DONE]\n\n"));
    }
}
