//! Upstreams with limits of their own, in exact whole numbers and without any code of the crate.

use http::HeaderMap;

use super::support::fields;

/// `limit` calls every `period` nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) limit: u64,
    pub(super) period: u64,
}

/// What a provider does with its limit.
pub(super) trait Provider {
    /// Whether a call is let through, and charged.
    fn call(&mut self, now: u64, cost: u64) -> bool;
    /// Whole calls that are left.
    fn left(&mut self, now: u64) -> u64;
    /// How much later than it is known may be what it has, besides the ways.
    fn late(&self) -> u64;
    /// How many fewer may be told than there are.
    fn slack(&self) -> u64 {
        1
    }
    /// The fields of a response.
    fn fields(&mut self, now: u64, say: Say) -> HeaderMap;
}

/// Which of the fields stand in a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Say {
    pub(super) limit: bool,
    pub(super) remaining: bool,
    pub(super) reset: bool,
}

/// A token bucket: its level is counted in calls times nanoseconds of the period, so nothing is ever rounded.
#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    terms: Terms,
    level: u128,
    at: u64,
}

/// The same, telling rounded figures.
#[derive(Clone, Debug)]
pub(super) struct Rounded(pub(super) TokenBucket);

/// Windows that begin by the clock.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    terms: Terms,
    /// The window that calls were counted in last, and how many they were.
    number: u64,
    used: u64,
    /// How much earlier than a multiple of the period windows begin.
    ahead: u64,
}

impl TokenBucket {
    pub(super) fn new(terms: Terms) -> Self {
        Self { terms, level: u128::from(terms.limit) * u128::from(terms.period), at: 0 }
    }

    fn full(&self) -> u128 {
        u128::from(self.terms.limit) * u128::from(self.terms.period)
    }

    fn advance(&mut self, now: u64) {
        let refill = u128::from(now - self.at) * u128::from(self.terms.limit);
        (self.level, self.at) = ((self.level + refill).min(self.full()), now);
    }
}

impl Provider for TokenBucket {
    fn call(&mut self, now: u64, cost: u64) -> bool {
        self.advance(now);
        let cost = u128::from(cost) * u128::from(self.terms.period);
        let is_there = cost <= self.level;
        self.level -= if is_there { cost } else { 0 };
        is_there
    }

    fn left(&mut self, now: u64) -> u64 {
        self.advance(now);
        (self.level / u128::from(self.terms.period)) as u64
    }

    fn late(&self) -> u64 {
        0
    }

    /// OpenAI's, to the nanosecond.
    fn fields(&mut self, now: u64, say: Say) -> HeaderMap {
        let left = self.left(now);
        let to_full = (self.full() - self.level).div_ceil(u128::from(self.terms.limit));
        said(
            say,
            [
                ("x-ratelimit-limit-requests", self.terms.limit.to_string()),
                ("x-ratelimit-remaining-requests", left.to_string()),
                ("x-ratelimit-reset-requests", format!("{to_full}ns")),
            ],
        )
    }
}

impl Provider for Rounded {
    fn call(&mut self, now: u64, cost: u64) -> bool {
        self.0.call(now, cost)
    }

    fn left(&mut self, now: u64) -> u64 {
        self.0.left(now)
    }

    fn late(&self) -> u64 {
        0
    }

    fn slack(&self) -> u64 {
        1_001
    }

    /// Anthropic's: tokens to the nearest 1000, a time to full to the second that is over.
    fn fields(&mut self, now: u64, say: Say) -> HeaderMap {
        let Self(bucket) = self;
        bucket.advance(now);
        let period = u128::from(bucket.terms.period);
        let left = (bucket.level + 500 * period) / (1_000 * period) * 1_000;
        let to_full = (bucket.full() - bucket.level) / u128::from(bucket.terms.limit);
        let reset = jiff::Timestamp::from_second((to_full / 1_000_000_000) as i64).unwrap();
        said(
            say,
            [
                ("anthropic-ratelimit-input-tokens-limit", bucket.terms.limit.to_string()),
                ("anthropic-ratelimit-input-tokens-remaining", left.to_string()),
                ("anthropic-ratelimit-input-tokens-reset", reset.to_string()),
            ],
        )
    }
}

impl Windows {
    pub(super) fn new(terms: Terms, ahead: u64) -> Self {
        Self { terms, number: 0, used: 0, ahead }
    }

    fn advance(&mut self, now: u64) {
        let number = (now + self.ahead) / self.terms.period;
        if number != self.number {
            (self.number, self.used) = (number, 0);
        }
    }
}

impl Provider for Windows {
    fn call(&mut self, now: u64, cost: u64) -> bool {
        self.advance(now);
        let is_there = self.used + cost <= self.terms.limit;
        self.used += if is_there { cost } else { 0 };
        is_there
    }

    fn left(&mut self, now: u64) -> u64 {
        self.advance(now);
        self.terms.limit - self.used
    }

    /// Where no end was told, what was sent in one window may count in the next.
    fn late(&self) -> u64 {
        2 * self.terms.period
    }

    /// Discord's, to the nanosecond.
    fn fields(&mut self, now: u64, say: Say) -> HeaderMap {
        let left = self.left(now);
        let to_end = (self.number + 1) * self.terms.period - self.ahead - now;
        let reset = format!("{}.{:09}", to_end / 1_000_000_000, to_end % 1_000_000_000);
        said(
            say,
            [
                ("x-ratelimit-limit", self.terms.limit.to_string()),
                ("x-ratelimit-remaining", left.to_string()),
                ("x-ratelimit-reset-after", reset),
            ],
        )
    }
}

fn said(say: Say, all: [(&'static str, String); 3]) -> HeaderMap {
    let said = all.iter().zip([say.limit, say.remaining, say.reset]).filter(|(_, said)| *said);
    fields(&said.map(|((name, value), _)| (*name, value.as_str())).collect::<Vec<_>>())
}
