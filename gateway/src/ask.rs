//! What a request asks for.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use tokio::time::Instant;
use tollgate::budget::Run;
use tollgate::upstream::{Cost, Dimension};

use crate::estimates::Guess;
use crate::failure::Failure;
use crate::gateway::Gateway;

/// A call, before anything has been taken for it.
pub(crate) struct Ask {
    /// Its place among the tenants.
    pub(crate) tenant: usize,
    pub(crate) model: String,
    /// As it goes upstream.
    pub(crate) body: Bytes,
    pub(crate) guess: Guess,
    /// The class of batch work.
    pub(crate) batch: Option<u8>,
    pub(crate) run: Option<Run>,
    /// It is of no use later.
    pub(crate) deadline: Instant,
}

impl Ask {
    pub(crate) fn read(gateway: &Gateway, headers: &HeaderMap, body: &Bytes) -> Result<Self, Failure> {
        let key = text(headers, AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        let tenant = key.and_then(|key| gateway.keys.get(key)).copied().ok_or(Failure::Unauthorized)?;
        let mut call: Value =
            serde_json::from_slice(body).map_err(|_| Failure::bad("the body is no JSON"))?;
        let model = call["model"].as_str().ok_or(Failure::bad("the body names no `model`"))?.to_owned();
        let guess = gateway.estimates.guess(&kind(tenant, &model), &call);
        let patience = number(headers, "x-deadline-ms").map_or(gateway.patience, Duration::from_millis);
        Ok(Self {
            tenant,
            model,
            body: with_usage(&mut call).unwrap_or_else(|| body.clone()),
            guess,
            batch: number(headers, "x-batch").map(|class| u8::try_from(class).unwrap_or(u8::MAX)),
            run: run(gateway, tenant, headers),
            deadline: Instant::now() + patience.min(Duration::from_secs(3600)),
        })
    }

    /// What it costs an upstream, as far as is known before.
    pub(crate) fn cost(&self) -> Cost {
        Cost::requests(1).with(Dimension::Tokens, self.guess.tokens())
    }

    /// Whose outputs are like this one's, and whose texts are counted alike.
    pub(crate) fn kind(&self) -> String {
        kind(self.tenant, &self.model)
    }
}

fn kind(tenant: usize, model: &str) -> String {
    format!("{tenant}/{model}")
}

/// A stream tells what it has used only if it is asked to. `None` if it would anyway.
fn with_usage(call: &mut Value) -> Option<Bytes> {
    if call["stream"] != true || call["stream_options"]["include_usage"] == true {
        return None;
    }
    call["stream_options"] = json!({ "include_usage": true });
    Some(call.to_string().into())
}

fn run(gateway: &Gateway, tenant: usize, headers: &HeaderMap) -> Option<Run> {
    let name = text(headers, "x-run")?;
    let (calls, tokens) = (number(headers, "x-run-calls"), number(headers, "x-run-tokens"));
    Some(gateway.runs.of(tenant, name, calls, tokens))
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    text(headers, name)?.parse().ok()
}
