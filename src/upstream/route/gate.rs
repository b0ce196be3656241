//! Whether an upstream takes calls: a state that failures close and a probe opens again. Pure, and without a clock.

use core::time::Duration;

use crate::nanos::Nanos;
use crate::upstream::Backoff;

/// One, of which shares are parts.
const ONE: u64 = 1 << 32;

/// What all gates of a router go by. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) failures: u32,
    pub(super) cooling: Backoff,
    pub(super) probe: u64,
    pub(super) ramp: u64,
    pub(super) step: u64,
    pub(super) calls: u64,
}

/// A gate before all calls, or before those that need one dimension.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    phase: Phase,
    /// Failures in a row while it is open.
    failures: u32,
    /// How often it was closed since it was open for good.
    closings: u32,
    /// Calls with a smaller number were sent before it was closed, so what becomes of them is no news.
    since: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Open,
    /// Nobody passes before the reading; the first one after it is the probe.
    Closed {
        until: u64,
    },
    /// The call with this number is the probe. After the reading there is another one.
    Probing {
        number: u64,
        until: u64,
    },
    /// A share passes that rises from that reading on; `credit` is what those that did not pass have added up, less than one.
    Ramping {
        from: u64,
        credit: u64,
    },
}

/// Why a call does not pass; of several reasons the last in order counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Barred {
    /// It is not in the share. It may pass if it can go nowhere else.
    Share,
    /// It is not before this reading that one may.
    Until(u64),
}

/// What became of a call, as far as one gate is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    Good,
    /// One of the failures of which some in a row close it.
    Bad,
    /// It is to be closed, for so long if that was said.
    Close(Option<Duration>),
    /// It does not tell.
    Nothing,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { phase: Phase::Open, failures: 0, closings: 0, since: 0 }
    }

    /// Whether a call may pass; one that is not in a share is counted. Whoever passes says so by [`pass`](Self::pass).
    pub(super) fn ask(&mut self, now: u64, rules: &Rules) -> Result<(), Barred> {
        match &mut self.phase {
            Phase::Open => Ok(()),
            Phase::Closed { until } | Phase::Probing { until, .. } if now >= *until => Ok(()),
            Phase::Closed { until } | Phase::Probing { until, .. } => Err(Barred::Until(*until)),
            Phase::Ramping { from, credit } => {
                let sum = credit.saturating_add(rules.share(*from, now));
                if sum >= ONE {
                    return Ok(());
                }
                *credit = sum;
                Err(Barred::Share)
            }
        }
    }

    /// The call with this number passes.
    pub(super) fn pass(&mut self, number: u64, now: u64, rules: &Rules) {
        match self.phase_at(now, rules) {
            Phase::Closed { until } | Phase::Probing { until, .. } if now >= until => {
                self.phase = Phase::Probing { number, until: now.saturating_add(rules.probe) };
            }
            Phase::Ramping { from, credit } => {
                // A call that could go nowhere else passes without having a share.
                let credit = credit.saturating_add(rules.share(from, now)).saturating_sub(ONE);
                self.phase = Phase::Ramping { from, credit };
            }
            Phase::Open | Phase::Closed { .. } | Phase::Probing { .. } => {}
        }
    }

    /// What became of the call with this number; `next` is the number of the next one.
    pub(super) fn hear(&mut self, number: u64, word: Word, next: u64, now: u64, rules: &Rules) {
        match self.phase_at(now, rules) {
            // A probe that came too late, and was replaced, tells as much.
            Phase::Probing { number: probe, .. } if number >= self.since => {
                self.probed(word, probe == number, next, now, rules);
            }
            Phase::Open | Phase::Ramping { .. } if number >= self.since => self.note(word, next, now, rules),
            // Of several that tell how long to wait the longest counts.
            Phase::Closed { until } => {
                if let Word::Close(Some(hint)) = word {
                    self.phase = Phase::Closed { until: until.max(end_of(hint, now)) };
                }
            }
            _ => {}
        }
    }

    /// The phase, where a ramp that is over is none.
    pub(super) fn phase_at(&self, now: u64, rules: &Rules) -> Phase {
        match self.phase {
            Phase::Ramping { from, .. } if rules.share(from, now) >= ONE => Phase::Open,
            phase => phase,
        }
    }

    pub(super) fn is_open(&self, now: u64, rules: &Rules) -> bool {
        self.phase_at(now, rules) == Phase::Open
    }

    fn probed(&mut self, word: Word, is_latest: bool, next: u64, now: u64, rules: &Rules) {
        match word {
            Word::Good => self.phase = Phase::Ramping { from: now, credit: 0 },
            Word::Bad => self.close(None, next, now, rules),
            Word::Close(hint) => self.close(hint, next, now, rules),
            // The next one is the probe.
            Word::Nothing if is_latest => self.phase = Phase::Closed { until: now },
            Word::Nothing => {}
        }
    }

    fn note(&mut self, word: Word, next: u64, now: u64, rules: &Rules) {
        match word {
            Word::Good => self.failures = 0,
            Word::Bad if self.failures.saturating_add(1) < rules.failures => self.failures += 1,
            Word::Bad => self.close_from(None, next, now, rules),
            Word::Close(hint) => self.close_from(hint, next, now, rules),
            Word::Nothing => {}
        }
    }

    /// Closes it; if it was open for good, as for the first time.
    fn close_from(&mut self, hint: Option<Duration>, next: u64, now: u64, rules: &Rules) {
        if self.is_open(now, rules) {
            self.closings = 0;
        }
        self.close(hint, next, now, rules);
    }

    fn close(&mut self, hint: Option<Duration>, next: u64, now: u64, rules: &Rules) {
        let span = hint.unwrap_or_else(|| rules.cooling.longest(self.closings));
        let until = end_of(span, now);
        self.closings = self.closings.saturating_add(1);
        (self.failures, self.since) = (0, next);
        self.phase = Phase::Closed { until };
    }
}

impl Rules {
    /// The share that passes at a reading of a ramp, rounded down; all of it at its end.
    fn share(&self, from: u64, now: u64) -> u64 {
        let elapsed = now.saturating_sub(from);
        if elapsed >= self.ramp {
            return ONE;
        }
        // Less than one, so it fits.
        (u128::from(elapsed) * u128::from(ONE) / u128::from(self.ramp)) as u64
    }

    pub(super) fn parts_per_thousand(&self, from: u64, now: u64) -> u32 {
        let elapsed = u128::from(now.saturating_sub(from).min(self.ramp));
        // At most a thousand. A ramp of no length is over at once.
        (elapsed * 1_000).checked_div(self.ramp.into()).unwrap_or(1_000) as u32
    }
}

fn end_of(span: Duration, now: u64) -> u64 {
    now.saturating_add(Nanos::from_duration(span).as_u64())
}
