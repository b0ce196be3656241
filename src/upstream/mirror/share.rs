//! The part of a limit that is one's own, where others use the same credential.
//!
//! Equal clients that each take the whole refill and all that is told for their own spend several times as much as there is
//! before the next answer tells them. So each learns which part of what is drawn is its own, from two answers in the order of
//! sending: what the figures fell by, refill taken into account, and what it sent meanwhile. From then on a token of its own
//! counts as so many tokens as are drawn in all while it draws one. It claims that part of what is told, and between answers
//! that part of the refill.
//!
//! A little more than the own part is claimed, so that equal clients come to equal parts, and what an idle one does not use is
//! taken up by the others.

use super::cell::{Answer, Cell};
use super::figures::Origin;
use crate::gcra::Gcra;

/// Parts are counted in so many.
const WHOLE: u64 = 1024;
/// What is claimed beyond the own part: 8 %.
const CLAIM: u64 = 82;
/// The least part that is claimed: 2 %.
const LEAST: u64 = 20;
/// What is claimed before anything is known.
const FIRST: u64 = WHOLE / 4;
/// As much as this client has on its way the others may have, each of them, when it is all drawn down in a few round trips: so
/// what is on its way counts so many times.
const UNSEEN: u64 = 3;
/// Both sums are halved after so many nanoseconds, but not before so many answers: long enough that a pause of a second, in
/// which somebody else has it all, teaches little.
const HALF_LIFE: u64 = 10_000_000_000;
const ANSWERS: u32 = 16;

/// What is known of the own part of a limit.
#[derive(Clone, Debug)]
pub(super) struct Share {
    parts: u64,
    own: u128,
    drawn: u128,
    answers: u32,
    /// The reading at which they were halved last.
    halved_at: u64,
    last: Option<Mark>,
    /// The arrival point as told last, with what was charged since counted in full: own and others'.
    pub(super) arrival: u64,
    /// The same of what is left of a window.
    pub(super) left: u64,
    /// Whether answers came that told nothing, and none that did. Then nothing can be learned, and the limit is used whole.
    is_silent: bool,
    /// The reading from which on nothing is known: as long after the answer as that was on its way.
    fresh_until: u64,
}

/// What one answer tells of what has been drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// What had been sent of it, with the call itself; wrapping.
    pub(super) sent: u64,
    /// What the call would have taken, if it was refused.
    pub(super) refused: u64,
    /// Where the arrival point of a bucket must be at least to be ahead: what had been issued when it was sent. For a window 0.
    pub(super) issued: u64,
    /// What is missing, in units of a bucket, in tokens of a window.
    pub(super) deficit: u64,
    /// The reading at which it was sent, and that at which the window ends.
    pub(super) sent_at: u64,
    pub(super) end: u64,
}

impl Share {
    pub(super) fn new(arrival: u64, left: u64) -> Self {
        Self {
            parts: FIRST,
            own: 0,
            drawn: 0,
            answers: 0,
            halved_at: 0,
            last: None,
            arrival,
            left,
            is_silent: false,
            fresh_until: 0,
        }
    }

    /// An answer has come, and what it says has been applied.
    pub(super) fn answered(&mut self) {
        self.is_silent = self.last.is_none() && self.fresh_until == 0;
    }

    /// Goes on from here in other units. What was learned of the own part stays.
    pub(super) fn restart(&mut self, arrival: u64, limit: u64) {
        (self.arrival, self.left, self.last) = (arrival, self.left.min(limit), None);
        (self.own, self.drawn, self.answers) = (0, 0, 0);
    }

    /// What is drawn in all while so much is drawn by this client.
    pub(super) fn in_all(&self, own: u64) -> u64 {
        let scaled = (u128::from(own) * u128::from(WHOLE)).div_ceil(u128::from(self.parts));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Corrects what is expected of all clients together by what a bucket's answer tells.
    pub(super) fn told(&mut self, mark: Mark, told: u64, origin: Origin, gcra: &Gcra) {
        if origin.number.is_none() {
            self.arrival = self.arrival.max(told);
            return;
        }
        self.fresh_until = origin.now.saturating_add(origin.now.saturating_sub(origin.sent_at));
        self.learn(mark, gcra.one.units);
        self.arrival = gcra.charge(told, told, gcra.units(self.in_all(origin.others)));
    }

    /// The same by what is left of a window.
    pub(super) fn told_left(&mut self, mark: Mark, left: u64, origin: Origin) {
        if origin.number.is_none() {
            self.left = self.left.min(left);
            return;
        }
        self.fresh_until = origin.now.saturating_add(origin.now.saturating_sub(origin.sent_at));
        self.learn(mark, 1);
        self.left = left.saturating_sub(self.in_all(origin.others));
    }

    /// Learns from the difference to the answer before, in the order of sending; `unit` is one token.
    fn learn(&mut self, mark: Mark, unit: u64) {
        let Some(last) = self.last.replace(mark) else { return };
        if last.end <= mark.sent_at {
            // Another window.
            return;
        }
        // Less than before, if what was counted as sent never left.
        let sent = mark.sent.wrapping_sub(last.sent);
        let sent = if sent > u64::MAX / 2 { 0 } else { sent.saturating_sub(mark.refused) };
        let own = u128::from(sent) * u128::from(unit);
        self.own = self.own.saturating_add(own);
        self.drawn = self.drawn.saturating_add(u128::from(mark.drawn_since(&last)).max(own));
        self.answers = self.answers.saturating_add(1);
        if self.answers >= ANSWERS && mark.sent_at.saturating_sub(self.halved_at) >= HALF_LIFE {
            (self.own, self.drawn, self.answers) = (self.own / 2, self.drawn / 2, 0);
            self.halved_at = mark.sent_at;
        }
        let own = self.own.saturating_mul(u128::from(WHOLE));
        let part = own.checked_div(self.drawn).unwrap_or(u128::from(WHOLE));
        self.parts = u64::try_from(part).unwrap_or(WHOLE).saturating_add(CLAIM).clamp(LEAST, WHOLE);
    }
}

impl Mark {
    /// What was drawn between two answers, in units.
    fn drawn_since(&self, last: &Self) -> u64 {
        let arrival = |mark: &Self| mark.issued.saturating_add(mark.deficit);
        arrival(self).saturating_sub(arrival(last).max(self.issued))
    }
}

impl Cell {
    /// Whether the own part of what is there is enough for `amount`. What is more than the whole of it is let through when all
    /// of it is there.
    pub(super) fn ask_share(&self, now: u64, amount: u64) -> Answer {
        let Some(share) = self.share.as_ref().filter(|share| !share.is_silent) else { return Answer::Now };
        let (asked, others) = (share.in_all(amount), share.in_all(self.in_flight.saturating_mul(UNSEEN)));
        if let Some(windowed) = &self.windowed {
            let enough = asked.min(windowed.limit).saturating_add(others) <= share.left;
            return match enough {
                true if others == 0 || now <= share.fresh_until => Answer::Now,
                // When the call on its way is answered; that takes no longer than a share of the window does.
                true => Answer::At(now.saturating_add(windowed.time_of(asked))),
                false => Answer::At(windowed.next(now)),
            };
        }
        // One call may go by what should be there by now; more only by what is known to be.
        let known = if others == 0 { now } else { now.min(share.fresh_until) };
        let held = self.gcra.charge(share.arrival, self.gcra.issued(known), self.gcra.units(others));
        // Half of the cost more, for the parts that many clients claim are together more than the whole.
        let cost = self.cost(share.in_all(amount.saturating_mul(3)).div_ceil(2));
        match self.when(held, known, cost) {
            Answer::At(at) if at <= now => {
                let in_its_time = self.gcra.issued(now).saturating_add(cost.units);
                Answer::At(self.gcra.full_at(in_its_time))
            }
            answer => answer,
        }
    }

    /// Charges the own part.
    pub(super) fn charge_share(&mut self, now: u64, amount: u64) {
        let issued = self.gcra.issued(now);
        if let Some(share) = &mut self.share {
            let units = self.gcra.units(share.in_all(amount));
            share.arrival = self.gcra.charge(share.arrival, issued, units);
            share.left = share.left.saturating_sub(share.in_all(amount));
        }
    }
}
