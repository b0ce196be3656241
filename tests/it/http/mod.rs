//! What servers tell of limits, and whom they limit.

#[cfg(feature = "budget")]
mod agent;
mod client;
mod fields;
#[cfg(feature = "upstream")]
mod heard;
mod refusal;

use http::HeaderMap;

/// All fields, as they are sent.
fn told(headers: &HeaderMap) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect()
}
