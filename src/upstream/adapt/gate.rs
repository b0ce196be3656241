//! Pauses, and the one call that finds out whether they are over.

use std::time::Duration;

use super::refusal::HeldBack;
use crate::nanos::Nanos;

/// Whether calls may go out, apart from the rate.
#[derive(Debug)]
pub(super) enum Gate {
    Open,
    /// Nothing goes out before a reading; after it one call does, and no other until that one has succeeded.
    Closed {
        until: u64,
        /// The first call that goes out after the pause. What was sent before it tells nothing.
        first: u64,
        probe: Option<Probe>,
    },
}

/// The call that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    number: u64,
    /// When it is lost.
    deadline: u64,
}

/// How a call may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Open,
    /// As the probe.
    Probe,
}

impl Gate {
    pub(super) fn ask(&self, now: u64) -> Result<Pass, HeldBack> {
        let wait = |until: u64| Duration::from_nanos(until - now);
        match *self {
            Self::Open => Ok(Pass::Open),
            Self::Closed { until, .. } if now < until => Err(HeldBack::Paused { wait: wait(until) }),
            Self::Closed { probe: Some(Probe { deadline, .. }), .. } if now < deadline => {
                Err(HeldBack::Probing { wait: wait(deadline) })
            }
            Self::Closed { .. } => Ok(Pass::Probe),
        }
    }

    /// The reading at which a pause ends.
    pub(super) fn hold(&self) -> u64 {
        match *self {
            Self::Open => 0,
            Self::Closed { until, .. } => until,
        }
    }

    /// Closes until a reading, unless a pause lasts as long already; tells which. `next` is the next call.
    pub(super) fn pause(&mut self, until: u64, next: u64) -> bool {
        let is_longer = until > self.hold();
        if is_longer {
            *self = Self::Closed { until, first: next, probe: None };
        }
        is_longer
    }

    /// The probe goes out.
    pub(super) fn probe(&mut self, next: u64, now: u64, longest: Nanos) {
        if let Self::Closed { probe, .. } = self {
            *probe = Some(Probe { number: next, deadline: now.saturating_add(longest.as_u64()) });
        }
    }

    /// A call has succeeded, which opens the gate if it was sent after the pause.
    pub(super) fn succeeded(&mut self, number: u64, now: u64) {
        match *self {
            Self::Closed { until, first, .. } if number >= first && now >= until => *self = Self::Open,
            _ => self.lost(number),
        }
    }

    /// A call will not succeed any more. If it was the probe, the next one is.
    pub(super) fn lost(&mut self, number: u64) {
        if let Self::Closed { probe, .. } = self {
            probe.take_if(|probe| probe.number == number);
        }
    }
}
