//! Pauses, and the one call that finds out whether they are over.

use std::time::Duration;

use super::refusal::HeldBack;
use crate::nanos::Nanos;

/// While a probe is out, nobody is told to come back in less than this part of the time after which it is lost.
const LEAST_WAIT: u64 = 100;

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
    sent: u64,
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
        match *self {
            Self::Open => Ok(Pass::Open),
            Self::Closed { until, .. } if now < until => {
                Err(HeldBack::Paused { wait: Duration::from_nanos(until - now) })
            }
            Self::Closed { probe: Some(probe), .. } if now < probe.deadline => {
                Err(HeldBack::Probing { wait: Duration::from_nanos(probe.wait(now)) })
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
            *probe = Some(Probe { number: next, sent: now, deadline: now.saturating_add(longest.as_u64()) });
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

impl Probe {
    /// How long to wait before asking again: as long again as it has been out, so that nobody asks often, nor misses an
    /// answer by more than what it took.
    fn wait(&self, now: u64) -> u64 {
        let least = self.deadline.saturating_sub(self.sent) / LEAST_WAIT;
        now.saturating_sub(self.sent).max(least).max(1).min(self.deadline.saturating_sub(now))
    }
}
