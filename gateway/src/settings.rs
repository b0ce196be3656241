//! What is in `gateway.toml`, and in the file of allowances beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tollgate::Quota;
use tollgate::budget::allowances::Config;

use crate::Fault;

/// `gateway.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The file of named allowances, beside this one.
    pub allowances: PathBuf,
    /// What all tenants share.
    pub tokens: Quota,
    /// How long a call may wait that does not say so.
    pub patience_ms: u64,
    /// The line for batch work.
    pub batch: Batch,
    /// The most that any run may use.
    pub run: Ceilings,
    /// Where calls go.
    pub upstream: Vec<Upstream>,
    /// Who calls, by name.
    pub tenant: BTreeMap<String, Tenant>,
}

/// The line for batch work.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Batch {
    /// How fast it moves.
    pub calls: Quota,
    /// How long anybody may stand in it.
    pub longest_wait_ms: u64,
}

/// The most that one run may use.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ceilings {
    /// In calls.
    pub calls: u64,
    /// In tokens.
    pub tokens: u64,
}

/// Somebody who answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Upstream {
    /// For the page and for refusals.
    pub name: String,
    /// Where it is, without the path, by `http://`, for the gateway has no TLS; if it is left out, a local
    /// provider is started.
    pub url: Option<String>,
    /// The environment variable that has the key for it.
    pub key_from: Option<String>,
    /// What it allows in requests.
    pub requests: Quota,
    /// What it allows in tokens.
    pub tokens: Quota,
    /// How a local provider behaves.
    #[serde(default)]
    pub provider: String,
}

/// Somebody who asks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tenant {
    /// `authorization: Bearer KEY`.
    pub key: String,
    /// The guaranteed part of all tokens, in per cent.
    pub share: u32,
    /// How many of its calls may be under way at once.
    pub in_flight: u32,
}

impl Settings {
    /// Reads both files; without a path, those that this package was built with.
    ///
    /// # Errors
    ///
    /// What cannot be read or does not hold together, with its place.
    pub fn read(path: Option<&Path>) -> Result<(Self, Config), Fault> {
        let Some(path) = path else {
            let settings = toml::from_str(include_str!("../gateway.toml"))?;
            return Ok((settings, include_str!("../allowances.toml").parse()?));
        };
        let settings: Self = toml::from_str(&text(path)?).map_err(|error| at(path, error))?;
        let beside = path.parent().unwrap_or(Path::new("")).join(&settings.allowances);
        let config = text(&beside)?.parse().map_err(|error| at(&beside, error))?;
        Ok((settings, config))
    }
}

fn text(path: &Path) -> Result<String, Fault> {
    fs::read_to_string(path).map_err(|error| at(path, error))
}

fn at(path: &Path, error: impl std::fmt::Display) -> Fault {
    format!("{}: {error}", path.display()).into()
}
