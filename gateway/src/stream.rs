//! The answer on its way to the client: what it has used is read as it passes, and what is held for it is held until its end.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body::Frame;
use serde::Deserialize;
use tollgate::budget::{BytesPerToken, Reported, Shape, Usage};
use tollgate::http::{EffectiveWindow, Fields, Policy, Standing};
use tollgate::metrics::{Call, Outcome};
use tollgate::upstream::{Cost, Dimension, Hop};

use crate::admission::Admitted;
use crate::ask::Ask;
use crate::gateway::{Counts, Gateway};
use crate::upstreams::Reply;

/// A longer line than this is not read; the call is then settled with what was guessed.
const LONGEST_LINE: usize = 1 << 20;

/// Passes an answer on.
pub(crate) fn answer(gateway: &Arc<Gateway>, ask: Ask, admitted: Admitted, reply: Reply) -> Response {
    let (head, body) = reply.response.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).cloned();
    let mut headers = http::HeaderMap::new();
    tell(gateway, &admitted, &mut headers);
    let call = UnderWay { gateway: Arc::clone(gateway), ask, admitted, hop: reply.hop, timed: reply.timed };
    let metered = Metered { body, line: Vec::new(), written: 0, usage: Usage::default(), call: Some(call) };
    let mut response = Response::new(Body::new(metered));
    *response.status_mut() = head.status;
    headers.extend(kind.map(|kind| (CONTENT_TYPE, kind)));
    *response.headers_mut() = headers;
    response
}

/// What the tenant could use now.
fn tell(gateway: &Gateway, admitted: &Admitted, headers: &mut http::HeaderMap) {
    let balance = gateway.node(admitted.tenant()).peek();
    if let Ok(policy) = Policy::new("tenant", balance.max_cost().max(1)) {
        let policy = policy.counting(tollgate::http::Unit::Tokens);
        let standing = Standing::new(&policy, balance.available(), std::time::Duration::ZERO);
        // When all is back depends on the others.
        Fields::new().effective_window(EffectiveWindow::Untold).admitted(&[standing], headers);
    }
}

/// A body that is read as it passes. When the client goes it is dropped, and so is all that is held for it.
struct Metered {
    body: reqwest::Body,
    /// What has come of a line that has not ended.
    line: Vec<u8>,
    /// Bytes of text, for answers that break off before their usage.
    written: u64,
    usage: Usage,
    call: Option<UnderWay>,
}

/// What is held for an answer until its end.
struct UnderWay {
    gateway: Arc<Gateway>,
    ask: Ask,
    admitted: Admitted,
    hop: Hop,
    timed: Call<()>,
}

impl Metered {
    fn hear(&mut self, data: &[u8]) {
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() <= LONGEST_LINE {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_of_line();
            }
        }
        if let Some(call) = &mut self.call {
            call.admitted.observe(call.ask.guess.input + BytesPerToken::default().tokens(self.written));
        }
    }

    /// An event, or a whole answer, which is one line.
    fn end_of_line(&mut self) {
        let line = mem::take(&mut self.line);
        let json = line.strip_prefix(b"data:").unwrap_or(&line);
        let Ok(event) = serde_json::from_slice::<Event>(json) else { return };
        self.written += event.choices.iter().map(Choice::written).sum::<u64>();
        if let Some(record) = event.usage {
            self.usage = record.usage();
        }
    }

    /// It is over: what it cost is known.
    fn end(&mut self) {
        self.end_of_line();
        let Some(UnderWay { gateway, ask, admitted, hop, timed }) = self.call.take() else { return };
        let used = ask.guess.corrected(&self.usage);
        gateway.estimates.learn(&ask.kind(), &ask.guess, &self.usage);
        admitted.settle(used);
        hop.settled(&Cost::requests(1).with(Dimension::Tokens, used));
        timed.end(Outcome::Succeeded);
    }
}

impl http_body::Body for Metered {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => frame.data_ref().into_iter().for_each(|data| self.hear(data)),
            Some(Err(_)) => {}
            None => self.end(),
        }
        Poll::Ready(frame)
    }
}

/// Broken off: what is held is dropped with it. The call keeps what it was observed to use, and the upstream's mirror what it
/// was expected to cost, for nobody knows what the upstream counted.
impl Drop for Metered {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            Counts::add(&call.admitted.tenant().counts.cut, 1);
        }
    }
}

/// An event of a stream, or a whole answer.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Record>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<Text>,
}

#[derive(Deserialize)]
struct Text {
    content: Option<String>,
}

/// A usage record, as OpenAI and those who copy it write it.
#[derive(Deserialize)]
struct Record {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

impl Choice {
    fn written(&self) -> u64 {
        let text = self.delta.as_ref().and_then(|delta| delta.content.as_ref());
        text.map_or(0, |text| text.len() as u64)
    }
}

impl Record {
    fn usage(&self) -> Usage {
        let report =
            Reported { input: self.prompt_tokens, output: self.completion_tokens, ..Reported::default() };
        Shape::OPENAI.usage(&report)
    }
}
