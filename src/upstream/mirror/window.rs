//! A span of time with an allowance of its own, in which nothing comes back.

use super::cell::Answer;

/// So much until its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    /// The reading at which it ends; none before something has been taken from it.
    pub(super) end: Option<u64>,
    /// Whether the upstream has told the end, or it is a guess: a whole period after the first call.
    pub(super) is_told: bool,
    pub(super) left: u64,
    pub(super) limit: u64,
}

impl Span {
    pub(super) const fn not_begun(limit: u64) -> Self {
        Self { end: None, is_told: false, left: limit, limit }
    }

    pub(super) const fn told(end: u64, left: u64, limit: u64) -> Self {
        Self { end: Some(end), is_told: true, left, limit }
    }

    pub(super) fn is_over(&self, now: u64) -> bool {
        self.end.is_some_and(|end| end <= now)
    }

    /// Gives it an end, if it has none. An upstream's windows may begin by the clock or with the first call; the latter end
    /// no earlier.
    pub(super) fn begin(&mut self, end: u64) {
        self.end = self.end.or(Some(end));
    }

    pub(super) fn take(&mut self, amount: u64) {
        self.left = self.left.saturating_sub(amount);
    }

    pub(super) fn left(&self, now: u64) -> u64 {
        if self.is_over(now) { self.limit } else { self.left }
    }

    /// Whether `asked` is there.
    pub(super) fn ask(&self, now: u64, asked: u64, period: u64) -> Answer {
        if asked <= self.left(now) {
            return Answer::Now;
        }
        let end = self.end.filter(|end| *end > now);
        Answer::At(end.unwrap_or(now.saturating_add(period)))
    }

    pub(super) fn full_at(&self, now: u64, in_flight: u64, period: u64) -> u64 {
        let is_full = in_flight == 0 && self.left(now) == self.limit;
        match self.end.filter(|end| *end > now) {
            _ if is_full => now,
            Some(end) => end,
            None => now.saturating_add(period),
        }
    }
}
