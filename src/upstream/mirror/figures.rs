//! What an upstream says about one limit, brought into a cell.

use core::time::Duration;

use super::cell::Cell;
use super::learn::{Figures, Told};
use super::share::Mark;
use super::window::{Ration, Windowed};
use crate::nanos::Nanos;
use crate::upstream::read::{Reset, Status, Window, share};

/// What is known of the response that the figures stand in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The number of the call, if it is one of this mirror's.
    pub(super) number: Option<u64>,
    /// The reading at its arrival.
    pub(super) now: u64,
    /// The reading at which it was sent.
    pub(super) sent_at: u64,
    /// The reading by which it was counted and its figures were taken.
    pub(super) told_by: u64,
    /// Tokens that had been sent by then, with its own; wrapping.
    pub(super) sent: u64,
    pub(super) is_refused: bool,
    /// Tokens of its own cost, if it was refused.
    pub(super) refused: u64,
    /// Whether no other call was on its way beside it.
    pub(super) is_alone: bool,
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

impl Origin {
    /// The latest reading that so long after its figures can be.
    fn until(&self, span: Duration) -> u64 {
        self.told_by.saturating_add(Nanos::from_duration(span).as_u64())
    }
}

impl Cell {
    /// Applies what is said. What is not said changes nothing.
    pub(super) fn apply(&mut self, said: &Window, origin: Origin) {
        if origin.number.is_some_and(|number| number < self.latest) {
            return;
        }
        if said.remaining.is_some() || said.reset.is_some() {
            self.latest = origin.number.unwrap_or(self.latest);
        }
        let origin = Origin { may_raise: origin.may_raise && is_plausible(said), ..origin };
        self.correct_limit(said, origin);
        // A limit above what was configured says nothing about what is left of that.
        let is_ours = said.limit.is_none_or(|limit| limit <= self.whole());
        let origin = Origin { may_raise: origin.may_raise && is_ours, ..origin };
        match said.reset {
            // It speaks of a window that is over.
            Some(Reset::WindowEnd(span)) if origin.until(span) < origin.now => return,
            Some(Reset::WindowEnd(span)) => self.apply_end(span, origin),
            // It fills evenly, so it is a bucket, whatever it was taken for. Its arrival point has been kept beside the window.
            Some(Reset::TimeToFull(_)) => self.windowed = None,
            _ => {}
        }
        if self.windowed.is_some() {
            self.apply_left(said, origin);
        } else {
            self.apply_bucket(said, origin);
        }
        if let Some(Reset::EffectiveWindow(span)) = said.reset {
            self.apply_ration(said, span, origin);
        }
        self.roll(origin.now);
    }

    /// From and to how many tokens may be left.
    fn left_by(&self, said: &Window) -> Option<(u64, u64)> {
        let limit = self.whole();
        let half = said.granularity / 2;
        let (least, most) = match (said.remaining, said.utilization, said.status) {
            (_, _, Some(Status::Rejected)) => (0, 0),
            (Some(left), ..) => (left.saturating_sub(half), left.saturating_add(half.max(1))),
            (None, Some(used), _) => unused(used, limit),
            (None, None, _) => return None,
        };
        Some((least.min(limit), most.min(limit)))
    }

    fn apply_bucket(&mut self, said: &Window, origin: Origin) {
        self.learn_window(said, origin);
        let Some(deficit) = self.deficit(said, origin.told_by) else { return };
        self.learn_charge(said, deficit, origin);
        let issued = self.gcra.issued(origin.told_by);
        let told = self.gcra.lacking(issued, deficit);
        if let Some(share) = &mut self.share {
            let (sent, refused, sent_at, end) = (origin.sent, origin.refused, origin.sent_at, u64::MAX);
            let mark = Mark { sent, refused, issued: self.gcra.issued(sent_at), deficit, sent_at, end };
            share.told(mark, told, origin, &self.gcra);
        }
        let is_explained = told >= self.known;
        self.note_least(said, origin);
        if told >= self.arrival {
            self.arrival = told;
        } else if origin.may_raise && is_explained {
            let others = self.gcra.units(origin.others).saturating_add(self.cut_off(said, origin));
            self.arrival = self.gcra.charge(told, issued, others).min(self.arrival);
        }
    }

    /// Units by which more may be missing than a reset tells for itself, because its last place was cut off.
    fn cut_off(&self, said: &Window, origin: Origin) -> u64 {
        match said.reset {
            Some(Reset::TimeToFull(span)) if said.remaining.is_none() => {
                self.ahead(origin.told_by, resolution(span))
            }
            _ => 0,
        }
    }

    /// Remembers where the arrival point is at least: refill does not lower it.
    fn note_least(&mut self, said: &Window, origin: Origin) {
        if let Some(open) = self.deficit_by_remaining(said).filter(|_| origin.number.is_some()) {
            let least = self.gcra.issued(origin.sent_at).saturating_add(open.least);
            self.known = self.known.max(least);
        }
    }

    /// Learns the length of the window, and takes it if it is longer than the one in force.
    fn learn_window(&mut self, said: &Window, origin: Origin) {
        let (None, Some(Reset::TimeToFull(reset))) = (said.period, said.reset) else { return };
        let Some(remaining) = said.remaining else { return };
        let limit = said.limit.unwrap_or(self.whole());
        let (granularity, resolution) = (said.granularity, resolution(reset));
        self.learned.hear(Figures { limit, remaining, granularity, reset, resolution });
        let Some(learned) = self.learned.window() else { return };
        // In its window the bucket gets its limit, and so in a part of it the tokens of the quota's period.
        let period = |window: Duration| share(window, self.quota.tokens(), limit);
        if period(learned.range().0) > self.quota.period() {
            self.take_period(period(learned.length()), origin.now);
        }
    }

    /// Learns what the call was charged, from what is missing of the bucket.
    fn learn_charge(&mut self, said: &Window, most: u64, origin: Origin) {
        let (Some(number), Some(open)) = (origin.number, self.deficit_by_remaining(said)) else { return };
        let least = match said.reset {
            Some(Reset::TimeToFull(span)) => {
                self.ahead(origin.told_by, span).saturating_sub(1).clamp(open.least, open.most)
            }
            _ => open.least,
        };
        let (sent_at, heard_at, is_alone, end) = (origin.sent_at, origin.told_by, origin.is_alone, u64::MAX);
        let told = Told { number, sent_at, heard_at, least, most, is_alone, end };
        self.learned.compare(told, Some(&self.gcra));
    }

    /// Units that are issued in so long from now.
    fn ahead(&self, now: u64, span: Duration) -> u64 {
        let then = now.saturating_add(Nanos::from_duration(span).as_u64());
        self.gcra.issued(then).saturating_sub(self.gcra.issued(now))
    }

    /// How much is missing, in units: by the reset, within what `remaining` leaves open.
    fn deficit(&self, said: &Window, now: u64) -> Option<u64> {
        let by_remaining = self.deficit_by_remaining(said);
        let ahead = |span: Duration| self.ahead(now, span);
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
        let (surely, perhaps) = self.left_by(said)?;
        let missing = |left: u64| self.gcra.units(self.whole().saturating_sub(left));
        let most = missing(surely);
        // One token more would have been told.
        Some(Deficit { least: missing(perhaps).saturating_add(1).min(most), most })
    }

    /// It is a window, all of which is there at its end, and nothing before.
    fn apply_end(&mut self, span: Duration, origin: Origin) {
        let earliest = origin.sent_at.saturating_add(Nanos::from_duration(span).as_u64());
        let latest = origin.until(span);
        let (limit, left) = (self.quota.tokens(), self.bucket_left(origin.now));
        let period = Nanos::from_duration(self.quota.period()).as_u64();
        let windowed = self.windowed.get_or_insert(Windowed::new(limit, left, period));
        windowed.tell_end(earliest, latest, origin.now, origin.others, origin.may_raise);
    }

    /// What is left in the window.
    fn apply_left(&mut self, said: &Window, origin: Origin) {
        let left = self.left_by(said);
        let (Some((left, perhaps)), Some(windowed)) = (left, &mut self.windowed) else { return };
        if !windowed.begin(origin.sent_at, origin.told_by, origin.now, origin.others) {
            return;
        }
        if let Some(number) = origin.number {
            let missing = self.quota.tokens().saturating_sub(left);
            let (sent_at, heard_at, is_alone) = (origin.sent_at, origin.now, origin.is_alone);
            let (least, most, end) = (missing, missing, windowed.latest_end());
            self.learned.compare(Told { number, sent_at, heard_at, least, most, is_alone, end }, None);
        }
        if let Some(share) = &mut self.share {
            let mark = Mark {
                sent: origin.sent,
                refused: origin.refused,
                issued: 0,
                deficit: self.quota.tokens().saturating_sub(left),
                sent_at: origin.sent_at,
                end: windowed.latest_end(),
            };
            share.told_left(mark, left, origin);
        }
        windowed.tell_left(left, perhaps, origin.others, origin.may_raise);
    }

    /// What a bucket has left, settled, in whole tokens and at most the limit.
    fn bucket_left(&self, now: u64) -> u64 {
        let issued = self.gcra.issued(now);
        self.gcra.available(self.arrival.saturating_sub(issued)).min(self.quota.tokens())
    }

    /// What remains is meant to last for a time. It does not say when there is more: after it the bucket alone counts.
    fn apply_ration(&mut self, said: &Window, span: Duration, origin: Origin) {
        let Some((left, _)) = self.left_by(said) else { return };
        let end = origin.until(span);
        let told = Ration { end, left: left.saturating_sub(origin.others) };
        self.ration = match self.ration {
            Some(known) if !origin.may_raise => {
                Some(Ration { end: known.end.max(end), left: known.left.min(left) })
            }
            _ => Some(told),
        };
    }

    /// Takes a lower limit at once, and a higher one only up to what was configured.
    fn correct_limit(&mut self, said: &Window, origin: Origin) {
        let Some(limit) = said.limit.filter(|limit| *limit > 0) else { return };
        let terms = self.terms_of(limit);
        let is_higher = terms.0 > self.quota.tokens() || terms.1 > self.quota.capacity();
        if terms != (self.quota.tokens(), self.quota.capacity()) && (!is_higher || origin.may_raise) {
            self.take_terms(terms, origin.now);
        }
    }

    /// The most that may be said to be left: what a full bucket holds or, if that is more, what a period gives.
    fn whole(&self) -> u64 {
        self.quota.capacity().max(self.quota.tokens())
    }
}

/// From and to how many tokens of a limit are left when such a share of it is used.
fn unused(used: f64, limit: u64) -> (u64, u64) {
    const WHOLE: u64 = 1_000_000;
    let used = if used.is_nan() { 1.0 } else { used.clamp(0.0, 1.0) };
    let parts = (used * WHOLE as f64).ceil() as u64;
    let left = u128::from(limit) * u128::from(WHOLE.saturating_sub(parts)) / u128::from(WHOLE);
    let left = u64::try_from(left).unwrap_or(u64::MAX);
    (left, left.saturating_add(1))
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
