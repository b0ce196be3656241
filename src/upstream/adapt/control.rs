//! Which rate: additive increase, multiplicative decrease, one decrease an event, in parts per thousand of the base.
//!
//! # Events
//!
//! What was sent before a decrease says nothing about the new rate: its refusals are of the event that the decrease answered,
//! however many there are. So calls are numbered, and an event ends with the first number that is sent after its decrease
//! (RFC 6582, NewReno: the variable `recover`). The event's decrease is that of its worst sign, whichever comes first: a
//! refusal after a mere latency takes the rate to what the refusal alone would have made of it.
//!
//! # Increase
//!
//! A success that follows `run` in a row raises the rate, all of them of calls that were sent at the rate of now; then the
//! run begins anew. The step is a tenth of the base, unless it is known where the last event came (the *ceiling*): then it
//! is half of the way there, below it, and half of the way from there, above it, but always between the smallest and the
//! largest step (after Xu, Harfoush and Rhee, *Binary Increase Congestion Control for Fast Long-Distance Networks*, INFOCOM 2004:
//! binary search, then max probing). Close to the ceiling a run is three times as long (as the plateau of CUBIC, RFC 9438).
//! Equal steps of a tenth would pass the ceiling by up to a tenth each time, and be refused as much.
//!
//! # The ceiling
//!
//! Where an event comes is where the upstream's own bucket or window was empty. One that saves up what is not used lets more
//! pass for a while than it allows in the long run, so the rate of that moment is too high an estimate; what it accepted from
//! one event to the next is exact (as TCP Westwood estimates: Casetti et al., MobiCom 2001). One that saves up nothing makes
//! it the other way round. The ceiling is the middle of the two, so an error of either is halved with each event. Only
//! an event after a run counts: where nothing has succeeded, nothing is known of a ceiling.

use super::settings::{Settings, WHOLE};

/// How much longer a run is near the ceiling.
const PLATEAU: u32 = 3;

#[derive(Debug)]
pub(super) struct Control {
    settings: Settings,
    rate: u32,
    /// Whether the rate is coming back after a pause, with each success a part of the way.
    is_ramping: bool,
    /// Calls sent so far; the number of the next.
    sent: u64,
    /// The first call of the rate of now.
    changed: u64,
    /// The first call after the last decrease.
    recover: u64,
    event: Option<Event>,
    /// Successes in a row.
    run: u32,
    /// Whether there was a whole run since the last decrease.
    has_stood: bool,
    ceiling: Option<u32>,
    flow: Flow,
}

/// What the last decrease was for.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The first call that belongs to it; the last is the one before `recover`.
    from: u64,
    /// The rate when it began.
    rate: u32,
    factor: u32,
}

/// Tokens that were accepted since a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) tokens: u64,
    pub(super) since: Option<u64>,
}

impl Control {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            rate: WHOLE.clamp(settings.lowest, settings.highest),
            settings,
            is_ramping: false,
            sent: 0,
            changed: 0,
            recover: 0,
            event: None,
            run: 0,
            has_stood: false,
            ceiling: None,
            flow: Flow { tokens: 0, since: None },
        }
    }

    /// The rate in force.
    pub(super) fn rate(&self) -> u32 {
        let Settings { lowest, run, .. } = self.settings;
        if self.is_ramping {
            let whole = u64::from(self.rate.saturating_sub(lowest)) * u64::from(self.run.min(run));
            lowest + u32::try_from(whole / u64::from(run.max(1))).unwrap_or(0)
        } else {
            self.rate
        }
    }

    /// The number of the next call.
    pub(super) fn next(&self) -> u64 {
        self.sent
    }

    pub(super) fn send(&mut self) {
        self.sent += 1;
    }

    /// Whether the call was sent after the last decrease.
    pub(super) fn is_new(&self, number: u64) -> bool {
        number >= self.recover
    }

    pub(super) fn ceiling(&self) -> Option<u32> {
        self.ceiling
    }

    /// Tokens were accepted.
    pub(super) fn accepted(&mut self, cost: u64) {
        self.flow.tokens = self.flow.tokens.saturating_add(cost);
    }

    /// The call of that number has succeeded, without a sign of congestion.
    pub(super) fn succeeded(&mut self, number: u64) {
        if number < self.changed {
            return;
        }
        self.run = self.run.saturating_add(1);
        if self.run >= self.settings.run {
            (self.has_stood, self.event) = (true, None);
        }
        if self.is_ramping {
            self.end_ramp_after_a_run();
        } else if self.run > self.needed() && self.rate < self.settings.highest {
            self.change_to(self.rate.saturating_add(self.step()));
        }
    }

    /// A sign of congestion, of the call of that number. `flow` tells the part of the base that a flow is until now. Returns
    /// whether it is the first of an event.
    pub(super) fn congested(
        &mut self,
        number: u64,
        factor: u32,
        now: u64,
        flow: impl Fn(Flow) -> Option<u32>,
    ) -> bool {
        if !self.is_new(number) {
            self.worsen(number, factor);
            return false;
        }
        let rate = self.rate();
        if self.has_stood {
            self.ceiling = Some(flow(self.flow).map_or(rate, |flow| rate.min(flow).midpoint(rate)));
        }
        if self.has_stood || self.flow.since.is_none() {
            self.flow = Flow { tokens: 0, since: Some(now) };
        }
        self.event = Some(Event { from: self.recover, rate, factor });
        self.decrease_to(scaled(rate, factor));
        true
    }

    /// From the lowest rate back to that of now, with the next run: there is a pause. What is accepted is measured from the
    /// next event on, for the upstream's bucket fills up meanwhile.
    pub(super) fn ramp(&mut self) {
        self.flow = Flow { tokens: 0, since: None };
        (self.is_ramping, self.run, self.changed) = (true, 0, self.sent);
    }

    /// One more sign of the event that the rate was decreased for.
    fn worsen(&mut self, number: u64, factor: u32) {
        match self.event {
            Some(event) if number >= event.from && factor < event.factor => {
                self.event = Some(Event { factor, ..event });
                self.decrease_to(scaled(event.rate, factor));
            }
            _ => {}
        }
    }

    fn decrease_to(&mut self, rate: u32) {
        (self.recover, self.has_stood, self.is_ramping) = (self.sent, false, false);
        self.change_to(rate);
    }

    fn end_ramp_after_a_run(&mut self) {
        if self.run >= self.settings.run {
            self.is_ramping = false;
            self.change_to(self.rate);
        }
    }

    fn change_to(&mut self, rate: u32) {
        self.rate = rate.clamp(self.settings.lowest, self.settings.highest);
        (self.run, self.changed) = (0, self.sent);
    }

    /// Successes before the one that raises the rate.
    fn needed(&self) -> u32 {
        let close = 2 * self.settings.smallest_step;
        let is_close = self.ceiling.is_some_and(|ceiling| ceiling.abs_diff(self.rate) <= close);
        if is_close { self.settings.run.saturating_mul(PLATEAU) } else { self.settings.run }
    }

    fn step(&self) -> u32 {
        let Settings { step, smallest_step, .. } = self.settings;
        let way = match self.ceiling {
            None => step,
            Some(ceiling) => self.rate.abs_diff(ceiling) / 2,
        };
        way.clamp(smallest_step, step)
    }
}

/// A part of the rate, rounded down.
fn scaled(rate: u32, permille: u32) -> u32 {
    u32::try_from(u64::from(rate) * u64::from(permille) / u64::from(WHOLE)).unwrap_or(rate)
}
