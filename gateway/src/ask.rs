//! What a request asks for.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use tokio::time::Instant;
use tollgate::upstream::{Cost, Dimension};

use crate::estimates::Guess;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::runs::Named;

/// Of batch work.
const LOWEST_CLASS: u64 = 7;

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
    pub(crate) run: Option<Named>,
    /// It is of no use later.
    pub(crate) deadline: Instant,
}

impl Ask {
    pub(crate) fn read(gateway: &Gateway, headers: &HeaderMap, body: &Bytes) -> Result<Self, Failure> {
        let key = text(headers, AUTHORIZATION.as_str())
            .ok()
            .flatten()
            .and_then(|value| value.strip_prefix("Bearer "));
        let tenant = key.and_then(|key| gateway.keys.get(key)).copied().ok_or(Failure::Unauthorized)?;
        let mut call: Value =
            serde_json::from_slice(body).map_err(|_| Failure::bad("the body is no JSON"))?;
        let model = call["model"].as_str().ok_or(Failure::bad("the body names no `model`"))?.to_owned();
        let guess = gateway.estimates.guess(&kind(tenant, &model), &call);
        let patience =
            number(headers, "x-deadline-ms", u64::MAX)?.map_or(gateway.patience, Duration::from_millis);
        Ok(Self {
            tenant,
            model,
            body: with_usage(&mut call).unwrap_or_else(|| body.clone()),
            guess,
            batch: number(headers, "x-batch", LOWEST_CLASS)?.and_then(|class| u8::try_from(class).ok()),
            run: run(headers)?,
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

fn run(headers: &HeaderMap) -> Result<Option<Named>, Failure> {
    let (calls, tokens) =
        (number(headers, "x-run-calls", u64::MAX)?, number(headers, "x-run-tokens", u64::MAX)?);
    Ok(text(headers, "x-run")?.map(|name| Named { name: name.to_owned(), calls, tokens }))
}

/// What is not there bounds nothing. What is there and cannot be read would have, so it is an error.
fn number(headers: &HeaderMap, name: &str, most: u64) -> Result<Option<u64>, Failure> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number <= most);
    let fault = || Failure::BadRequest(format!("{name}: `{text}` is not a number from 0 to {most}"));
    number.map(Some).ok_or_else(fault)
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Failure> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let fault = |_| Failure::BadRequest(format!("{name}: {value:?} is not visible ASCII"));
    value.to_str().map(Some).map_err(fault)
}
