//! The answer on its way to the client: what it has used is read as it passes, and what is held for it is
//! held until its end.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use serde::Deserialize;
use tollgate::budget::{Reported, Shape, Side, Usage};
use tollgate::http::{EffectiveWindow, Fields, Policy, Standing};
use tollgate::metrics::{Call, Outcome};
use tollgate::upstream::{Cost, Dimension, Hop};

use crate::admission::Admitted;
use crate::ask::Ask;
use crate::gateway::{Counts, Gateway};
use crate::upstreams::Reply;

/// A longer line than this is not read: all of it counts as text, of which it has no more.
const LONGEST_LINE: usize = 1 << 20;
/// Nor is a longer answer in one piece.
const LONGEST_WHOLE: usize = 4 << 20;

/// A body that is read as it passes. When the client goes it is dropped, and so is all that is held for it.
struct Metered {
    body: reqwest::Body,
    /// It is a stream of events, each in a line; any other body is one text, which may have many lines.
    is_events: bool,
    /// What has come of a line, or of the one text, that has not ended.
    text: Vec<u8>,
    /// So much has come of it that the rest of it is not kept.
    is_too_long: bool,
    /// Bytes of what was answered, for answers that do not tell their usage.
    written: u64,
    usage: Usage,
    /// Its last event was read.
    is_over: bool,
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

/// Passes an answer on.
pub(crate) fn answer(gateway: &Arc<Gateway>, ask: Ask, admitted: Admitted, reply: Reply) -> Response {
    let (head, body) = reply.response.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).cloned();
    let mut headers = http::HeaderMap::new();
    tell(gateway, &admitted, &mut headers);
    let call = UnderWay { gateway: Arc::clone(gateway), ask, admitted, hop: reply.hop, timed: reply.timed };
    let mut response = Response::new(Body::new(Metered::new(body, is_events(kind.as_ref()), call)));
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

impl Metered {
    fn new(body: reqwest::Body, is_events: bool, call: UnderWay) -> Self {
        Self {
            body,
            is_events,
            text: Vec::new(),
            is_too_long: false,
            written: 0,
            usage: Usage::default(),
            is_over: false,
            call: Some(call),
        }
    }

    fn hear(&mut self, data: &[u8]) {
        if self.is_events {
            for piece in data.split_inclusive(|byte| *byte == b'\n') {
                self.keep(piece, LONGEST_LINE);
                if piece.ends_with(b"\n") {
                    self.read();
                }
            }
        } else {
            self.keep(data, LONGEST_WHOLE);
        }
        let written = self.written;
        if let Some(call) = &mut self.call {
            call.admitted.observe(call.ask.guess.seen(written));
        }
    }

    fn keep(&mut self, piece: &[u8], most: usize) {
        if self.is_too_long || self.text.len() + piece.len() > most {
            self.is_too_long = true;
            self.written += (mem::take(&mut self.text).len() + piece.len()) as u64;
        } else {
            self.text.extend_from_slice(piece);
        }
    }

    /// An event, or a whole answer.
    fn read(&mut self) {
        let text = mem::take(&mut self.text);
        if mem::take(&mut self.is_too_long) {
            return;
        }
        let data = text.strip_prefix(b"data:");
        let is_data = data.is_some() || !self.is_events;
        let data = data.unwrap_or(&text).trim_ascii();
        match serde_json::from_slice(data) {
            Ok(event) => self.read_event(event),
            Err(_) if data == b"[DONE]" => self.is_over = true,
            // Whatever it is, somebody has written it.
            Err(_) if is_data => self.written += data.len() as u64,
            Err(_) => {}
        }
    }

    fn read_event(&mut self, event: Event) {
        self.written += event.choices.iter().map(Choice::written).sum::<u64>();
        if let Some(record) = event.usage {
            self.usage = record.usage();
            // Some events tell it with each piece as well, as it is until then.
            self.is_over |= !self.is_events || event.choices.is_empty();
        }
    }

    /// It is over: what it cost is known. Where it does not tell, that is what was seen of it, or the guess
    /// if that is more.
    fn end(&mut self) {
        self.read();
        let Some(UnderWay { gateway, ask, admitted, hop, timed }) = self.call.take() else { return };
        let mut used = ask.guess.corrected(&self.usage);
        if self.usage.total(Side::Output).is_none() {
            used = used.max(ask.guess.seen(self.written));
        }
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

/// Nobody reads on. After the last event nothing was missing, and many clients go then. Broken off before, it
/// drops what is held: the call keeps what it was observed to use, and the upstream's mirror what it was
/// expected to cost, for nobody knows what the upstream counted.
impl Drop for Metered {
    fn drop(&mut self) {
        self.read();
        if self.is_over {
            self.end();
        }
        if let Some(call) = &self.call {
            Counts::add(&call.admitted.tenant().counts.cut, 1);
        }
    }
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

fn is_events(kind: Option<&HeaderValue>) -> bool {
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split_once(';').map_or(kind, |(essence, _)| essence);
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}
