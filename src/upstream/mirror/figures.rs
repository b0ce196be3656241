//! What an upstream says about one limit, brought into a cell.

use core::time::Duration;

use super::cell::Cell;
use super::share::Mark;
use super::window::{Ration, Windowed};
use crate::nanos::Nanos;
use crate::upstream::read::{Reset, Window};

/// What is known of the response that the figures stand in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// The number of the call, if it is one of this mirror's.
    pub(super) number: Option<u64>,
    /// The reading at its arrival.
    pub(super) now: u64,
    /// The reading at which it was sent.
    pub(super) sent_at: u64,
    /// Tokens that had been sent by then, with its own; wrapping.
    pub(super) sent: u64,
    /// Tokens of its own cost, if it was refused.
    pub(super) refused: u64,
    /// Whether its figures may raise what is there: it was sent after all that are on their way, and is not stale.
    pub(super) may_raise: bool,
    /// Tokens of other calls that were answered while it was on its way, so that they may or may not be in the figures.
    pub(super) others: u64,
}

/// How far the arrival point is ahead, in units: at least and at most, with what the figures leave open.
#[derive(Clone, Copy, Debug)]
struct Deficit {
    least: u64,
    most: u64,
}

impl Cell {
    /// Applies what is said. What is not said changes nothing.
    pub(super) fn apply(&mut self, said: &Window, heard: Heard) {
        if heard.number.is_some_and(|number| number < self.latest) {
            return;
        }
        self.latest = heard.number.unwrap_or(self.latest);
        let heard = Heard { may_raise: heard.may_raise && is_plausible(said), ..heard };
        self.correct_limit(said, heard);
        match said.reset {
            Some(Reset::WindowEnd(span)) => self.apply_window(said, span, heard),
            Some(Reset::EffectiveWindow(span)) => {
                self.apply_bucket(said, heard);
                self.apply_ration(said, span, heard);
            }
            _ if self.windowed.is_some() => self.apply_left(said, heard),
            _ => self.apply_bucket(said, heard),
        }
    }

    /// What is surely left, in tokens.
    fn surely_left(&self, said: &Window) -> Option<u64> {
        Some(said.remaining?.saturating_sub(said.granularity / 2).min(self.quota.tokens()))
    }

    fn apply_bucket(&mut self, said: &Window, heard: Heard) {
        let Some(deficit) = self.deficit(said, heard.now) else { return };
        let issued = self.gcra.issued(heard.now);
        let told = self.gcra.lacking(issued, deficit);
        if let Some(share) = &mut self.share {
            let (sent, refused, sent_at, end) = (heard.sent, heard.refused, heard.sent_at, u64::MAX);
            let mark = Mark { sent, refused, issued: self.gcra.issued(sent_at), deficit, sent_at, end };
            share.told(mark, told, heard, &self.gcra);
        }
        if told >= self.arrival {
            self.arrival = told;
        } else if heard.may_raise {
            self.arrival = self.gcra.charge(told, issued, self.gcra.units(heard.others)).min(self.arrival);
        }
    }

    /// How much is missing, in units: by the reset, within what `remaining` leaves open.
    fn deficit(&self, said: &Window, now: u64) -> Option<u64> {
        let by_remaining = self.deficit_by_remaining(said);
        let ahead = |span: Duration| {
            let then = now.saturating_add(Nanos::from_duration(span).as_u64());
            self.gcra.issued(then) - self.gcra.issued(now)
        };
        let by_reset = match (said.reset, by_remaining) {
            (Some(Reset::TimeToFull(span)), Some(_)) => Some(ahead(span.saturating_add(resolution(span)))),
            (Some(Reset::TimeToFull(span)), None) => Some(ahead(span)),
            (Some(Reset::NextUnit(span)), Some(open)) => {
                Some(open.most.saturating_sub(self.gcra.one.units).saturating_add(ahead(span)))
            }
            _ => None,
        };
        match (by_remaining, by_reset) {
            (Some(open), Some(reset)) => Some(reset.clamp(open.least, open.most)),
            (Some(open), None) => Some(open.most),
            (None, reset) => reset,
        }
    }

    fn deficit_by_remaining(&self, said: &Window) -> Option<Deficit> {
        let limit = self.quota.tokens();
        let surely = self.surely_left(said)?;
        let perhaps = said.remaining?.saturating_add((said.granularity / 2).max(1)).min(limit);
        let missing = |left: u64| self.gcra.units(limit.saturating_sub(left));
        Some(Deficit { least: missing(perhaps), most: missing(surely) })
    }

    /// A window that ends: all of it is there then, and nothing before.
    fn apply_window(&mut self, said: &Window, span: Duration, heard: Heard) {
        let span = Nanos::from_duration(span).as_u64();
        let (earliest, latest) = (heard.sent_at.saturating_add(span), heard.now.saturating_add(span));
        let (limit, left) = (self.quota.tokens(), self.bucket_left(heard.now));
        let period = Nanos::from_duration(self.quota.period()).as_u64();
        let windowed = self.windowed.get_or_insert(Windowed::new(limit, left, period));
        windowed.tell_end(earliest, latest, heard.now, heard.others, heard.may_raise);
        self.apply_left(said, heard);
        self.roll(heard.now);
    }

    /// What is left in the window.
    fn apply_left(&mut self, said: &Window, heard: Heard) {
        let left = self.surely_left(said);
        let (Some(left), Some(windowed)) = (left, &mut self.windowed) else { return };
        if let Some(share) = &mut self.share {
            let mark = Mark {
                sent: heard.sent,
                refused: heard.refused,
                issued: 0,
                deficit: self.quota.tokens().saturating_sub(left),
                sent_at: heard.sent_at,
                end: windowed.latest_end(),
            };
            share.told_left(mark, left, heard);
        }
        if left <= windowed.left {
            windowed.left = left;
        } else if heard.may_raise {
            windowed.left = left.saturating_sub(heard.others).max(windowed.left);
        }
    }

    /// What a bucket has left, settled, in whole tokens and at most the limit.
    fn bucket_left(&self, now: u64) -> u64 {
        let issued = self.gcra.issued(now);
        self.gcra.available(self.arrival.saturating_sub(issued)).min(self.quota.tokens())
    }

    /// What remains is meant to last for a time. It does not say when there is more: after it the bucket alone counts.
    fn apply_ration(&mut self, said: &Window, span: Duration, heard: Heard) {
        let Some(left) = self.surely_left(said) else { return };
        let end = heard.now.saturating_add(Nanos::from_duration(span).as_u64());
        let told = Ration { end, left: left.saturating_sub(heard.others) };
        self.ration = match self.ration {
            Some(known) if !heard.may_raise => {
                Some(Ration { end: known.end.max(end), left: known.left.min(left) })
            }
            _ => Some(told),
        };
    }

    /// Takes a lower limit at once, and a higher one only up to what was configured.
    fn correct_limit(&mut self, said: &Window, heard: Heard) {
        let Some(limit) = said.limit.filter(|limit| *limit > 0) else { return };
        let limit = limit.min(self.configured.tokens());
        if limit == self.quota.tokens() || (limit > self.quota.tokens() && !heard.may_raise) {
            return;
        }
        self.change_limit(limit, heard.now);
    }
}

/// Whether what is said can be: no more is left than there is.
fn is_plausible(said: &Window) -> bool {
    match (said.limit, said.remaining) {
        (Some(limit), Some(remaining)) => remaining <= limit,
        _ => true,
    }
}

/// How much longer a span may be than what was written, which is often cut to whole seconds or milliseconds.
fn resolution(span: Duration) -> Duration {
    match span.subsec_nanos() {
        0 => Duration::from_secs(1),
        nanos if nanos % 1_000_000 == 0 => Duration::from_millis(1),
        nanos if nanos % 1_000 == 0 => Duration::from_micros(1),
        _ => Duration::ZERO,
    }
}
