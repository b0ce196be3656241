//! Limits in which nothing comes back before a certain time, and then all of it.
//!
//! # Windows whose end is not known exactly
//!
//! When a window ends is told by a response, and so known but for the time that the response was on its way, or not at all: then
//! it ends within one period of the first call in it. So a window has an earliest and a latest end, and all is there again only
//! at the latest. What is counted between the two may belong to the next window already, so it is charged to both.
//!
//! Windows that begin by the clock and those that begin with the first call are the same to this: of a window that began
//! between two readings, by whatever rule, the end lies one period after them.

use super::cell::Answer;

/// A limit by windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Windowed {
    pub(super) limit: u64,
    pub(super) left: u64,
    /// The most that can be left of it: what was told once, and what was given back since.
    ceiling: u64,
    /// When the window ends, once something has been counted in it.
    ends: Option<Ends>,
    /// What was counted since the earliest end.
    doubtful: u64,
    period: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ends {
    earliest: u64,
    latest: u64,
    is_told: bool,
}

/// So much until an end, and beyond it no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ration {
    pub(super) end: u64,
    pub(super) left: u64,
}

impl Windowed {
    pub(super) const fn new(limit: u64, left: u64, period: u64) -> Self {
        Self { limit, left, ceiling: limit, ends: None, doubtful: 0, period }
    }

    /// Lets time pass.
    pub(super) fn roll(&mut self, now: u64) {
        while let Some(ends) = self.ends.filter(|ends| ends.latest <= now) {
            let begun = Ends {
                earliest: ends.earliest.saturating_add(self.period),
                latest: ends.latest.saturating_add(self.period),
                is_told: false,
            };
            self.ends = (self.doubtful > 0 && ends.latest < u64::MAX).then_some(begun);
            self.left = self.limit.saturating_sub(self.doubtful);
            self.ceiling = self.limit;
            self.doubtful = 0;
        }
    }

    /// Counts what came by the reading `now`.
    pub(super) fn take(&mut self, now: u64, amount: u64) {
        let first = Ends { earliest: now, latest: now.saturating_add(self.period), is_told: false };
        let ends = self.ends.get_or_insert(first);
        if now >= ends.earliest {
            self.doubtful = self.doubtful.saturating_add(amount);
        }
        self.left = self.left.saturating_sub(amount);
    }

    /// A response tells the end, which lies between the two readings. `counted` may have been counted while it was on its way.
    /// A known end comes closer only if `may_raise`.
    pub(super) fn tell_end(&mut self, earliest: u64, latest: u64, now: u64, counted: u64, may_raise: bool) {
        let told = Ends { earliest, latest, is_told: true };
        if self.ends.is_some_and(|ends| earliest > ends.latest) {
            // Another window.
            self.ceiling = self.limit;
        }
        match &mut self.ends {
            Some(ends) if ends.is_told && !may_raise => {
                if earliest <= now && ends.earliest > now {
                    self.doubtful = self.doubtful.saturating_add(counted);
                }
                (ends.earliest, ends.latest) = (ends.earliest.min(earliest), ends.latest.max(latest));
            }
            ends => {
                *ends = Some(told);
                self.doubtful = if earliest <= now { counted } else { 0 };
            }
        }
    }

    /// A response tells of a window that had begun between the two readings and nobody has told of. Begins it if none is known,
    /// unless it is over; tells whether there is one.
    pub(super) fn begin(&mut self, earliest: u64, latest: u64, now: u64, counted: u64) -> bool {
        let latest = latest.saturating_add(self.period);
        if self.ends.is_none() && latest > now {
            self.ends = Some(Ends { earliest, latest, is_told: false });
            self.doubtful = counted;
        }
        self.ends.is_some()
    }

    /// A response tells what is left, at least and at most, when `others` may or may not be counted in it. More than was known
    /// only if it may raise and nothing has been told that it cannot be.
    pub(super) fn tell_left(&mut self, left: u64, perhaps: u64, others: u64, may_raise: bool) {
        let is_explained = left <= self.ceiling;
        self.ceiling = self.ceiling.min(perhaps);
        if left <= self.left {
            self.left = left;
        } else if may_raise && is_explained {
            self.left = left.saturating_sub(others).max(self.left);
        }
    }

    /// Something was charged less than expected, so there may be more left than was told.
    pub(super) fn give_back(&mut self, amount: u64) {
        self.ceiling = self.ceiling.saturating_add(amount).min(self.limit);
    }

    /// Puts the limit to another number, less what `used` says.
    pub(super) fn change_limit(&mut self, limit: u64, used: u64) {
        (self.limit, self.left, self.ceiling) = (limit, limit.saturating_sub(used), limit);
    }

    /// When the next window begins; a whole period from now, if this one has not begun.
    pub(super) fn next(&self, now: u64) -> u64 {
        self.ends.map_or(now.saturating_add(self.period), |ends| ends.latest)
    }

    /// The time in which so much would be there, if it came evenly.
    pub(super) fn time_of(&self, amount: u64) -> u64 {
        let nanos = u128::from(self.period) * u128::from(amount) / u128::from(self.limit.max(1));
        u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
    }

    /// About when it ends, for comparison.
    pub(super) fn latest_end(&self) -> u64 {
        self.ends.map_or(u64::MAX, |ends| ends.latest)
    }

    /// Whether so much is left.
    pub(super) fn ask(&self, now: u64, asked: u64) -> Answer {
        if asked <= self.left { Answer::Now } else { Answer::At(self.next(now)) }
    }

    pub(super) fn full_at(&self, now: u64, in_flight: u64) -> u64 {
        if in_flight == 0 && self.left == self.limit { now } else { self.next(now) }
    }
}

impl Ration {
    pub(super) fn ask(&self, asked: u64) -> Answer {
        if asked <= self.left { Answer::Now } else { Answer::At(self.end) }
    }
}
