//! Whom it behaves like, and how much it allows.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// Whose conventions the answers follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Token buckets; Go's durations until they are full; `Retry-After` in seconds.
    OpenAi,
    /// Token buckets; OpenAI's names with bare milliseconds, renewal periods and `retry-after-ms`.
    Azure,
    /// Token buckets; RFC 3339 times at which they are full; tokens to the nearest 1000.
    Anthropic,
    /// Token buckets, no headers; a refusal has google.rpc's `RetryInfo` in its body.
    Gemini,
    /// A fixed window that ends at a second of the epoch; a refusal is a 403.
    GitHub,
    /// Token buckets, and not a word about them: a refusal is a bare 429.
    Silent,
}

/// How it treats calls, beside its limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It answers them.
    Serve,
    /// It closes the connection without an answer.
    Dead,
    /// It never answers.
    Stall,
    /// It says that it has too much to do: 503, or Anthropic's 529.
    Overloaded,
    /// It says that the quota is used up and no wait helps: `insufficient_quota`, a spend limit, a quota of
    /// the day.
    Exhausted,
}

/// What it is told to be; each field is a key of its own name.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// `family`: `openai`, `azure`, `anthropic`, `gemini`, `github` or `silent`.
    pub family: Family,
    /// `requests` in a period, which a bucket may also give at once. 0: no such limit.
    pub requests: u64,
    /// `tokens` in a period, likewise.
    pub tokens: u64,
    /// `period_ms`.
    pub period: Duration,
    /// `latency_ms` of each answer.
    pub latency: Duration,
    /// `mode`: `serve`, `dead`, `stall`, `overloaded` or `exhausted`.
    pub mode: Mode,
    /// `refuse`: so many of the next calls are refused, whatever is left.
    pub refuse: u64,
    /// `penalty_s`: what refusals ask to wait, if not 0; otherwise they say how long it takes.
    pub penalty: Duration,
    /// `pieces` in which a body is sent. 0: whole.
    pub pieces: u32,
    /// `gap_ms` before each piece.
    pub gap: Duration,
    /// `silent_after` so many pieces nothing more comes, and the body does not end. 0: it ends.
    pub silent_after: u32,
    /// `lifetime_s`: it ends itself after this.
    pub lifetime: Duration,
}

impl FromStr for Family {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "openai" => Ok(Self::OpenAi),
            "azure" => Ok(Self::Azure),
            "anthropic" => Ok(Self::Anthropic),
            "gemini" => Ok(Self::Gemini),
            "github" => Ok(Self::GitHub),
            "silent" => Ok(Self::Silent),
            _ => Err(()),
        }
    }
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "serve" => Ok(Self::Serve),
            "dead" => Ok(Self::Dead),
            "stall" => Ok(Self::Stall),
            "overloaded" => Ok(Self::Overloaded),
            "exhausted" => Ok(Self::Exhausted),
            _ => Err(()),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            family: Family::OpenAi,
            requests: 600,
            tokens: 0,
            period: Duration::from_secs(60),
            latency: Duration::ZERO,
            mode: Mode::Serve,
            refuse: 0,
            penalty: Duration::ZERO,
            pieces: 0,
            gap: Duration::ZERO,
            silent_after: 0,
            lifetime: Duration::from_secs(600),
        }
    }
}

impl Settings {
    /// Reads `key=value&key=value`.
    ///
    /// # Errors
    ///
    /// A sentence that names the pair which cannot be understood. Those before it are set.
    pub fn set_all(&mut self, pairs: &str) -> Result<(), String> {
        pairs.split('&').filter(|pair| !pair.is_empty()).try_for_each(|pair| {
            let (key, value) = pair.split_once('=').ok_or_else(|| fault(pair))?;
            self.set(key, value)
        })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let millis = |value| number(key, value).map(Duration::from_millis);
        let seconds = |value| number(key, value).map(Duration::from_secs);
        match key {
            "family" => self.family = number(key, value)?,
            "requests" => self.requests = number(key, value)?,
            "tokens" => self.tokens = number(key, value)?,
            "period_ms" => self.period = millis(value)?.max(Duration::from_millis(1)),
            "latency_ms" => self.latency = millis(value)?,
            "mode" => self.mode = number(key, value)?,
            "refuse" => self.refuse = number(key, value)?,
            "penalty_s" => self.penalty = seconds(value)?,
            "pieces" => self.pieces = number(key, value)?,
            "gap_ms" => self.gap = millis(value)?,
            "silent_after" => self.silent_after = number(key, value)?,
            "lifetime_s" => self.lifetime = seconds(value)?,
            _ => return Err(format!("no setting `{key}`")),
        }
        Ok(())
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| fault(format!("{key}={value}")))
}

fn fault(pair: impl Display) -> String {
    format!("cannot understand `{pair}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_set_and_nothing_else() {
        let mut settings = Settings::default();
        settings.set_all("family=azure&requests=7&period_ms=1000&mode=stall").unwrap();
        let expected = Settings {
            family: Family::Azure,
            requests: 7,
            period: Duration::from_secs(1),
            mode: Mode::Stall,
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (pairs, named) in [("size=1", "size"), ("requests=many", "requests=many"), ("mode", "mode")] {
            assert!(Settings::default().set_all(pairs).unwrap_err().contains(named));
        }
    }
}
