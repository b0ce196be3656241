//! The limits and the counts, under one mutex.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::limit::{Limit, Refill};
use crate::settings::{Family, Mode, Settings};

/// What a call costs in each limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) tokens: u64,
}

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Admitted,
    /// It fits after this.
    Refused(Duration),
    Overloaded,
    Exhausted,
    Dead,
    Stalled,
}

/// What a limit says of itself in an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) size: u64,
    pub(crate) left: u64,
    pub(crate) reset: Duration,
    pub(crate) period: Duration,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    requests: Option<Limit>,
    tokens: Option<Limit>,
    counts: Counts,
}

#[derive(Default, Debug)]
struct Counts {
    admitted: u64,
    refused: u64,
    tokens: u64,
    failed: u64,
}

/// Seconds of the epoch.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl State {
    pub(crate) fn new(settings: Settings) -> Self {
        let (now, refill) = (now(), refill(settings.family));
        let full = |size| (size > 0).then(|| Limit::new(size, settings.period, refill, now));
        let (requests, tokens) = (full(settings.requests), full(settings.tokens));
        Self { settings, requests, tokens, counts: Counts::default() }
    }

    /// Other settings; limits keep what is left of them.
    pub(crate) fn change(&mut self, settings: Settings) {
        let (now, refill) = (now(), refill(settings.family));
        let change = |limit: &mut Option<Limit>, size| match limit {
            _ if size == 0 => *limit = None,
            Some(limit) => limit.change(size, settings.period, now),
            None => *limit = Some(Limit::new(size, settings.period, refill, now)),
        };
        change(&mut self.requests, settings.requests);
        change(&mut self.tokens, settings.tokens);
        self.settings = settings;
    }

    pub(crate) fn decide(&mut self, cost: Cost, now: f64) -> Verdict {
        let verdict = match self.settings.mode {
            Mode::Serve => self.take(cost, now),
            Mode::Dead => Verdict::Dead,
            Mode::Stall => Verdict::Stalled,
            Mode::Overloaded => Verdict::Overloaded,
            Mode::Exhausted => Verdict::Exhausted,
        };
        match verdict {
            Verdict::Admitted => self.counts.admitted += 1,
            Verdict::Refused(_) => self.counts.refused += 1,
            _ => self.counts.failed += 1,
        }
        verdict
    }

    /// All limits or none.
    fn take(&mut self, cost: Cost, now: f64) -> Verdict {
        let wait_for = |limit: &mut Option<Limit>, cost| {
            limit.as_mut().map_or(Duration::ZERO, |limit| limit.wait(cost, now))
        };
        let wait = wait_for(&mut self.requests, 1).max(wait_for(&mut self.tokens, cost.tokens));
        if self.settings.refuse > 0 || wait > Duration::ZERO {
            self.settings.refuse = self.settings.refuse.saturating_sub(1);
            let penalty = self.settings.penalty;
            return Verdict::Refused(if penalty.is_zero() { wait } else { penalty });
        }
        if let Some(requests) = &mut self.requests {
            requests.take(1);
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.take(cost.tokens);
        }
        self.counts.tokens += cost.tokens;
        Verdict::Admitted
    }

    pub(crate) fn requests(&self, now: f64) -> Option<Figures> {
        figures(&self.requests, now)
    }

    pub(crate) fn tokens(&self, now: f64) -> Option<Figures> {
        figures(&self.tokens, now)
    }

    pub(crate) fn stats(&mut self, now: f64) -> Value {
        let possible =
            |limit: &mut Option<Limit>| limit.as_mut().map_or(0.0, |limit| limit.possible(now).floor());
        json!({
            "admitted": self.counts.admitted,
            "refused": self.counts.refused,
            "failed": self.counts.failed,
            "tokens": self.counts.tokens,
            "possible_requests": possible(&mut self.requests),
            "possible_tokens": possible(&mut self.tokens),
        })
    }
}

fn figures(limit: &Option<Limit>, now: f64) -> Option<Figures> {
    limit.as_ref().map(|limit| Figures {
        size: limit.size(),
        left: limit.left(),
        reset: limit.reset(now),
        period: limit.period(),
    })
}

fn refill(family: Family) -> Refill {
    if family == Family::GitHub { Refill::AtOnce } else { Refill::Even }
}
