//! One limit as the mirror holds it: a bucket or a window, and what is in flight beside it.

use super::window::Span;
use crate::gcra::Gcra;
use crate::quota::Quota;
use crate::upstream::read::Dimension;

/// One limit.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) dimension: Dimension,
    /// What it was built with, and what is in force.
    pub(super) configured: Quota,
    pub(super) quota: Quota,
    pub(super) gcra: Gcra,
    /// The arrival point of a bucket: all that has been settled.
    pub(super) arrival: u64,
    /// The window, if it is one.
    pub(super) window: Option<Span>,
    /// What is meant to last for a time (IETF draft -11).
    pub(super) ration: Option<Span>,
    /// Tokens of calls on their way. They count as if they were charged now, whenever now is: how soon the upstream counts
    /// them is not known, and the later it does the less refill has made good.
    pub(super) in_flight: u64,
    /// Tokens that are left to others.
    pub(super) keep: u64,
    /// The number of the call whose figures were applied last.
    pub(super) latest: u64,
}

/// Whether an amount is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Now,
    /// At this reading.
    At(u64),
    /// It is above this, the most there ever is.
    Never(u64),
}

impl Cell {
    pub(super) fn new(dimension: Dimension, quota: Quota, is_window: bool, keep: u64) -> Self {
        let gcra = Gcra::new(&quota);
        Self {
            dimension,
            configured: quota,
            quota,
            gcra,
            arrival: gcra.holding(0, quota.initial_tokens()),
            window: is_window.then(|| Span::not_begun(quota.tokens())),
            ration: None,
            in_flight: 0,
            keep,
            latest: 0,
        }
    }

    /// Whether `amount` is there, besides what is in flight and what is kept for others.
    pub(super) fn ask(&self, now: u64, amount: u64) -> Answer {
        if amount == 0 {
            return Answer::Now;
        }
        let most = self.capacity().saturating_sub(self.keep);
        if amount > most {
            return Answer::Never(most);
        }
        let asked = amount.saturating_add(self.keep).saturating_add(self.in_flight);
        let spans = self.ration.iter().chain(&self.window).map(|span| span.ask(now, asked, self.period()));
        let of_bucket = if self.window.is_none() { self.ask_bucket(now, amount) } else { Answer::Now };
        spans.fold(of_bucket, Answer::or_later)
    }

    fn ask_bucket(&self, now: u64, amount: u64) -> Answer {
        let cost = self.gcra.valid_cost(self.gcra.units(amount + self.keep));
        let needed = self.gcra.needed(self.held(now), now, cost);
        if needed <= self.gcra.issued(now) { Answer::Now } else { Answer::At(self.gcra.full_at(needed)) }
    }

    /// The arrival point of a bucket, were all that is in flight counted now.
    pub(super) fn held(&self, now: u64) -> u64 {
        self.gcra.charge(self.arrival, self.gcra.issued(now), self.gcra.units(self.in_flight))
    }

    /// The most that it ever has.
    pub(super) fn capacity(&self) -> u64 {
        if self.window.is_some() { self.quota.tokens() } else { self.quota.capacity() }
    }

    /// The length of its window, or the time in which as much as one period gives is issued.
    pub(super) fn period(&self) -> u64 {
        crate::nanos::Nanos::from_duration(self.quota.period()).as_u64()
    }

    /// What is there besides what is in flight.
    pub(super) fn available(&self, now: u64) -> u64 {
        let left = |span: &Span| span.left(now).saturating_sub(self.in_flight);
        let of_spans = self.ration.iter().chain(&self.window).map(left).min().unwrap_or(u64::MAX);
        let issued = self.gcra.issued(now);
        let of_bucket = self.gcra.available(self.held(now).saturating_sub(issued));
        if self.window.is_some() { of_spans } else { of_spans.min(of_bucket) }
    }

    /// The share of it that is there, in parts per thousand.
    pub(super) fn share(&self, now: u64) -> u32 {
        let capacity = u128::from(self.capacity().max(1));
        let parts = u128::from(self.available(now)) * 1000 / capacity;
        u32::try_from(parts.min(1000)).unwrap_or(1000)
    }

    /// The reading at which all is there again, if nothing more is sent.
    pub(super) fn full_at(&self, now: u64) -> u64 {
        match &self.window {
            Some(span) => span.full_at(now, self.in_flight, self.period()),
            None => self.gcra.full_at(self.held(now)).max(now),
        }
    }

    /// Lets time pass: what is over is forgotten.
    pub(super) fn roll(&mut self, now: u64) {
        self.ration = self.ration.filter(|span| !span.is_over(now));
        if let Some(span) = &mut self.window
            && span.is_over(now)
        {
            *span = Span::not_begun(self.quota.tokens());
        }
    }

    /// Charges what has been counted by now.
    pub(super) fn charge(&mut self, now: u64, amount: u64) {
        if amount == 0 {
            return;
        }
        self.roll(now);
        let period = self.period();
        self.arrival = self.gcra.charge(self.arrival, self.gcra.issued(now), self.gcra.units(amount));
        if let Some(span) = &mut self.window {
            span.begin(now.saturating_add(period));
        }
        for span in self.ration.iter_mut().chain(&mut self.window) {
            span.take(amount);
        }
    }
}

impl Answer {
    /// The one that is harder to meet.
    fn or_later(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never(most), Self::Never(other)) => Self::Never(most.min(other)),
            (Self::Never(most), _) | (_, Self::Never(most)) => Self::Never(most),
            (Self::At(one), Self::At(other)) => Self::At(one.max(other)),
            (Self::At(at), Self::Now) | (Self::Now, Self::At(at)) => Self::At(at),
            (Self::Now, Self::Now) => Self::Now,
        }
    }
}
