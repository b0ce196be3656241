//! All that is known, under one lock.

use std::time::Duration;

use super::control::Control;
use super::gate::{Gate, Pass};
use super::latency::Latencies;
use super::meter::Meter;
use super::refusal::HeldBack;
use super::settings::Settings;
use crate::level::Level;
use crate::nanos::Nanos;
use crate::quota::Quota;

/// What became of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Succeeded {
        latency: Duration,
    },
    /// With the wait that the upstream asked for.
    Refused {
        retry_after: Option<Duration>,
    },
    /// Timed out or stalled.
    Hung,
    /// Nobody said.
    Unknown,
}

#[derive(Debug)]
pub(super) struct State {
    settings: Settings,
    control: Control,
    gate: Gate,
    latencies: Latencies,
    meter: Meter,
}

impl State {
    pub(super) fn new(base: Quota, settings: Settings, now: Nanos) -> Self {
        let control = Control::new(settings);
        let meter = Meter::new(base, control.rate(), now.as_u64());
        Self { settings, control, gate: Gate::Open, latencies: Latencies::default(), meter }
    }

    /// How a call may go out now, apart from the rate.
    pub(super) fn ask(&self, now: Nanos) -> Result<Pass, HeldBack> {
        self.gate.ask(now.as_u64())
    }

    /// The number of the call, which is out with this.
    pub(super) fn send(&mut self, pass: Pass, cost: u64, now: Nanos) -> Result<u64, HeldBack> {
        let (number, now) = (self.control.next(), now.as_u64());
        self.meter.admit(cost, now).map_err(HeldBack::Denied)?;
        if pass == Pass::Probe {
            self.gate.probe(number, now, self.settings.probe.into());
            // Those that follow it come at the rate, not as a burst of what has gathered during the pause.
            self.meter.drain(now);
        }
        self.control.send();
        Ok(number)
    }

    pub(super) fn answered(&mut self, number: u64, cost: u64, outcome: Outcome, now: Nanos) {
        match outcome {
            Outcome::Unknown => self.gate.lost(number),
            Outcome::Hung => self.failed(number, self.settings.congestion, now),
            Outcome::Refused { retry_after } => {
                self.failed(number, self.settings.refusal, now);
                if let Some(wait) = retry_after.filter(|wait| !wait.is_zero()) {
                    self.pause(now.saturating_add(wait.into()), now);
                }
            }
            Outcome::Succeeded { latency } => {
                self.gate.succeeded(number, now.as_u64());
                self.succeeded(number, cost, latency, now);
            }
        }
        self.meter.run_at(self.control.rate(), now.as_u64());
    }

    pub(super) fn pause_until(&mut self, until: Nanos, now: Nanos) {
        self.pause(until, now);
        self.meter.run_at(self.control.rate(), now.as_u64());
    }

    /// Ends a pause at once, and without a probe; the rate comes back gradually nevertheless.
    pub(super) fn resume(&mut self) {
        self.gate = Gate::Open;
    }

    pub(super) fn permille(&self) -> u32 {
        self.meter.permille()
    }

    pub(super) fn quota(&self) -> Quota {
        self.meter.quota()
    }

    pub(super) fn ceiling(&self) -> Option<u32> {
        self.control.ceiling()
    }

    pub(super) fn peek(&self, now: Nanos) -> Level {
        self.meter.peek(now.as_u64(), self.gate.hold())
    }

    fn pause(&mut self, until: Nanos, now: Nanos) {
        if until > now && self.gate.pause(until.as_u64(), self.control.next()) {
            self.control.ramp();
        }
    }

    fn failed(&mut self, number: u64, factor: u32, now: Nanos) {
        self.gate.lost(number);
        self.congested(number, factor, now);
    }

    fn succeeded(&mut self, number: u64, cost: u64, latency: Duration, now: Nanos) {
        let growth = self.settings.growth;
        // What older calls took is no measure of the rate of now; but a long one among them belongs to the last event.
        let has_grown = self.control.is_new(number) && self.latencies.have_grown_with(latency, growth);
        self.control.accepted(cost);
        if latency > self.settings.latency || has_grown {
            self.congested(number, self.settings.congestion, now);
        } else {
            self.control.succeeded(number);
        }
    }

    fn congested(&mut self, number: u64, factor: u32, now: Nanos) {
        let (meter, now) = (&self.meter, now.as_u64());
        let is_first = self.control.congested(number, factor, now, |flow| {
            let span = now.checked_sub(flow.since?).filter(|&span| span > 0)?;
            Some(meter.permille_of(flow.tokens, span))
        });
        if is_first {
            self.latencies.begin_anew();
        }
    }
}
