//! One limit as the mirror holds it: a bucket or windows, and what is in flight beside it.

use super::learn::Learned;
use super::share::Share;
use super::window::{Ration, Windowed};
use crate::gcra::{Cost, Gcra};
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::upstream::read::Dimension;

/// One limit. What it answers is right for a time that [`roll`](Self::roll) has been told.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) dimension: Dimension,
    /// What it was built with, and what is in force.
    pub(super) configured: Quota,
    pub(super) quota: Quota,
    pub(super) gcra: Gcra,
    /// The arrival point of a bucket: all that has been settled.
    pub(super) arrival: u64,
    /// Where the arrival point is at least, as far as the upstream told.
    pub(super) known: u64,
    /// The windows, if it has such.
    pub(super) windowed: Option<Windowed>,
    /// What is meant to last for a time (IETF draft -11).
    pub(super) ration: Option<Ration>,
    /// Tokens of calls on their way. They count as if they were charged now, whenever now is: how soon the upstream counts
    /// them is not known, and the later it does the less refill has made good.
    pub(super) in_flight: u64,
    /// Tokens that are left to others, of what was configured.
    pub(super) keep: u64,
    /// The own part, if others use the same credential.
    pub(super) share: Option<Share>,
    /// What its figures told without saying it.
    pub(super) learned: Learned,
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
    pub(super) fn new(dimension: Dimension, quota: Quota, is_windowed: bool, keep: u64) -> Self {
        let gcra = Gcra::new(&quota);
        let period = Nanos::from_duration(quota.period()).as_u64();
        Self {
            dimension,
            configured: quota,
            quota,
            gcra,
            arrival: gcra.holding(0, quota.initial_tokens()),
            known: 0,
            windowed: is_windowed.then(|| Windowed::new(quota.tokens(), quota.tokens(), period)),
            ration: None,
            in_flight: 0,
            keep,
            share: None,
            learned: Learned::default(),
            latest: 0,
        }
    }

    /// Whether `amount` is there, besides what is in flight and what is kept for others.
    pub(super) fn ask(&self, now: u64, amount: u64) -> Answer {
        if amount == 0 {
            return Answer::Now;
        }
        let keep = self.kept();
        let most = self.capacity().saturating_sub(keep);
        if amount > most {
            return Answer::Never(most);
        }
        let asked = amount.saturating_add(keep).saturating_add(self.in_flight);
        let of_limit = match &self.windowed {
            Some(windowed) => windowed.ask(now, asked),
            None => self.when(self.held(now), now, self.cost(amount.saturating_add(keep))),
        };
        let of_ration = self.ration.map_or(Answer::Now, |ration| ration.ask(asked));
        of_limit.or_later(of_ration).or_later(self.ask_share(now, amount))
    }

    /// What is left to others of the limit in force: less in proportion, if that is lower than configured.
    fn kept(&self) -> u64 {
        let part = u128::from(self.keep) * u128::from(self.quota.tokens());
        let kept = part.div_ceil(u128::from(self.configured.tokens()));
        u64::try_from(kept).unwrap_or(u64::MAX).min(self.capacity().saturating_sub(1))
    }

    /// A cost of so many tokens, at most the capacity.
    pub(super) fn cost(&self, tokens: u64) -> Cost {
        self.gcra.valid_cost(self.gcra.units(tokens.min(self.quota.capacity())))
    }

    /// When a bucket at this arrival point has a cost.
    pub(super) fn when(&self, arrival: u64, now: u64, cost: Cost) -> Answer {
        let needed = self.gcra.needed(arrival, now, cost);
        if needed <= self.gcra.issued(now) { Answer::Now } else { Answer::At(self.gcra.full_at(needed)) }
    }

    /// The arrival point of a bucket, were all that is in flight counted now.
    fn held(&self, now: u64) -> u64 {
        self.gcra.charge(self.arrival, self.gcra.issued(now), self.gcra.units(self.in_flight))
    }

    /// The most that it ever has.
    pub(super) fn capacity(&self) -> u64 {
        if self.windowed.is_some() { self.quota.tokens() } else { self.quota.capacity() }
    }

    /// What is there besides what is in flight.
    pub(super) fn available(&self, now: u64) -> u64 {
        let of_limit = match &self.windowed {
            Some(windowed) => windowed.left.saturating_sub(self.in_flight),
            None => self.gcra.available(self.held(now).saturating_sub(self.gcra.issued(now))),
        };
        let of_ration = self.ration.map(|ration| ration.left.saturating_sub(self.in_flight));
        of_limit.min(of_ration.unwrap_or(u64::MAX))
    }

    /// The share of it that is there, in parts per thousand.
    pub(super) fn share_left(&self, now: u64) -> u32 {
        let capacity = u128::from(self.capacity().max(1));
        let parts = u128::from(self.available(now)) * 1000 / capacity;
        u32::try_from(parts.min(1000)).unwrap_or(1000)
    }

    /// The reading at which all is there again, if nothing more is sent.
    pub(super) fn full_at(&self, now: u64) -> u64 {
        let of_limit = match &self.windowed {
            Some(windowed) => windowed.full_at(now, self.in_flight),
            None => self.gcra.full_at(self.held(now)),
        };
        of_limit.max(self.ration.map_or(now, |ration| ration.end)).max(now)
    }

    /// Lets time pass: what is over is forgotten.
    pub(super) fn roll(&mut self, now: u64) {
        self.ration = self.ration.filter(|ration| ration.end > now);
        let Some(windowed) = &mut self.windowed else { return };
        let before = windowed.latest_end();
        windowed.roll(now);
        if let Some(share) = &mut self.share
            && before <= now
        {
            share.left = windowed.left;
        }
    }

    /// A call is on its way no more: its expected cost becomes a charge of what it used.
    pub(super) fn settle(&mut self, now: u64, expected: u64, used: u64) {
        self.in_flight = self.in_flight.saturating_sub(expected);
        self.charge(now, used);
        self.explain(expected.saturating_sub(used));
    }

    /// So much less was used than expected, which may explain that there is more than was told.
    pub(super) fn explain(&mut self, surplus: u64) {
        self.known = self.known.saturating_sub(self.gcra.units(surplus));
        if let Some(windowed) = &mut self.windowed {
            windowed.give_back(surplus);
        }
    }

    /// A call was refused for want of its cost, so less than that was there.
    pub(super) fn lacks(&mut self, now: u64, amount: u64) {
        let Some(most) = amount.checked_sub(1) else { return };
        let missing = self.gcra.units(self.quota.capacity().saturating_sub(most));
        self.arrival = self.arrival.max(self.gcra.lacking(self.gcra.issued(now), missing));
        if let Some(windowed) = &mut self.windowed {
            windowed.left = windowed.left.min(most);
        }
    }

    /// Charges what has been counted by now.
    fn charge(&mut self, now: u64, amount: u64) {
        if amount == 0 {
            return;
        }
        self.arrival = self.gcra.charge(self.arrival, self.gcra.issued(now), self.gcra.units(amount));
        if let Some(windowed) = &mut self.windowed {
            windowed.take(now, amount);
        }
        if let Some(ration) = &mut self.ration {
            ration.left = ration.left.saturating_sub(amount);
        }
        self.charge_share(now, amount);
    }
}

impl Answer {
    /// The one that is harder to meet.
    pub(super) fn or_later(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never(most), Self::Never(other)) => Self::Never(most.min(other)),
            (Self::Never(most), _) | (_, Self::Never(most)) => Self::Never(most),
            (Self::At(one), Self::At(other)) => Self::At(one.max(other)),
            (Self::At(at), Self::Now) | (Self::Now, Self::At(at)) => Self::At(at),
            (Self::Now, Self::Now) => Self::Now,
        }
    }
}
