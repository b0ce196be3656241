//! When a store that fails is asked again.

use core::fmt;
use core::time::Duration;

use crate::nanos::Nanos;

/// When a store that fails is asked again: a circuit breaker, so that a dead store is not hammered.
///
/// *Closed*, every call asks. After so many failures in a row it is *open*: nobody asks until a back-off has
/// passed. Then it is *half-open*: one call asks, alone, and all others go by the outage rule. If that call
/// is answered the circuit is closed again; if not, the back-off doubles. Each back-off is anywhere between
/// half of its length and the whole, so that many instances do not come back at once.
///
/// An answer to a call that was sent before the circuit last changed says nothing of now, and changes
/// nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Circuit {
    failures: u32,
    first: Duration,
    most: Duration,
}

/// A circuit that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CircuitError {
    /// It would open without a failure.
    ZeroFailures,
    /// The first back-off has no length, or is longer than the longest.
    Backoff {
        /// The first.
        first: Duration,
        /// The longest.
        most: Duration,
    },
}

/// What a circuit does with the next call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CircuitState {
    /// The store is asked.
    Closed,
    /// The store is not asked.
    Open {
        /// Until one call may ask.
        retry_in: Duration,
    },
    /// One call has asked, and is not answered yet.
    HalfOpen,
}

impl Circuit {
    /// Opens after `failures` failures in a row, for `first` at first and for at most `most`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::redis::Circuit;
    ///
    /// let circuit = Circuit::new(3, Duration::from_millis(50), Duration::from_secs(5))?;
    /// assert_eq!(circuit.backoff(0), Duration::from_millis(50));
    /// assert_eq!(circuit.backoff(3), Duration::from_millis(400));
    /// assert_eq!(circuit.backoff(60), Duration::from_secs(5));
    /// # Ok::<(), tollgate::redis::CircuitError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No failures, or a first back-off of zero or above the longest.
    pub const fn new(failures: u32, first: Duration, most: Duration) -> Result<Self, CircuitError> {
        if failures == 0 {
            return Err(CircuitError::ZeroFailures);
        }
        if first.is_zero() || first.as_nanos() > most.as_nanos() {
            return Err(CircuitError::Backoff { first, most });
        }
        Ok(Self { failures, first, most })
    }

    /// The longest that the back-off can be after so many probes that failed; at least half of it.
    pub fn backoff(&self, probes: u32) -> Duration {
        let doubled = 1_u32.checked_shl(probes).unwrap_or(u32::MAX);
        self.first.saturating_mul(doubled).min(self.most)
    }
}

/// Five failures; 100 ms at first and 10 s at most.
impl Default for Circuit {
    fn default() -> Self {
        Self { failures: 5, first: Duration::from_millis(100), most: Duration::from_secs(10) }
    }
}

/// A circuit at work. It is told the time.
#[derive(Debug)]
pub(super) struct Breaker {
    circuit: Circuit,
    state: State,
    since: Nanos,
    /// In a row.
    failures: u32,
    failing_since: Option<Nanos>,
    /// Counts the changes of the state: what was sent in an earlier round says nothing of this one.
    round: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    Open { until: Nanos, probes: u32 },
    HalfOpen { probes: u32 },
}

/// The round in which a call was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Round(u64);

impl Breaker {
    pub(super) fn new(circuit: Circuit, now: Nanos) -> Self {
        Self { circuit, state: State::Closed, since: now, failures: 0, failing_since: None, round: 0 }
    }

    /// Whether a call may ask the store now; if not, after how long one may, at the earliest.
    pub(super) fn ask(&mut self, now: Nanos) -> Result<Round, Duration> {
        match self.state {
            State::Closed => {}
            State::Open { until, probes } if now >= until => self.turn(State::HalfOpen { probes }, now),
            State::Open { until, .. } => return Err(until.saturating_sub(now).as_duration()),
            State::HalfOpen { .. } => return Err(self.circuit.first),
        }
        Ok(Round(self.round))
    }

    pub(super) fn answered(&mut self, sent: Round, now: Nanos) {
        if sent.0 != self.round {
            return;
        }
        (self.failures, self.failing_since) = (0, None);
        if self.state != State::Closed {
            self.turn(State::Closed, now);
        }
    }

    /// `spread` makes of the longest back-off the one that is taken.
    pub(super) fn failed(&mut self, sent: Round, now: Nanos, spread: impl FnOnce(Duration) -> Duration) {
        if sent.0 != self.round {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        self.failing_since.get_or_insert(now);
        let probes = match self.state {
            State::HalfOpen { probes } => probes.saturating_add(1),
            _ if self.failures >= self.circuit.failures => 0,
            _ => return,
        };
        let backoff = Nanos::from_duration(spread(self.circuit.backoff(probes)));
        self.turn(State::Open { until: now.saturating_add(backoff), probes }, now);
    }

    /// The call was given up before it had an outcome. If it was the probe, another call may be.
    pub(super) fn abandoned(&mut self, sent: Round, now: Nanos) {
        if let State::HalfOpen { probes } = self.state
            && sent.0 == self.round
        {
            self.turn(State::Open { until: now, probes }, now);
        }
    }

    pub(super) fn state(&self, now: Nanos) -> CircuitState {
        match self.state {
            State::Closed => CircuitState::Closed,
            State::Open { until, .. } => {
                CircuitState::Open { retry_in: until.saturating_sub(now).as_duration() }
            }
            State::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }

    /// When the state was entered.
    pub(super) fn since(&self) -> Nanos {
        self.since
    }

    /// When the first of the failures was told that no answer has followed.
    pub(super) fn failing_since(&self) -> Option<Nanos> {
        self.failing_since
    }

    fn turn(&mut self, state: State, now: Nanos) {
        (self.state, self.since, self.round) = (state, now, self.round.wrapping_add(1));
    }
}

impl fmt::Display for CircuitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroFailures => f.write_str("0 failures in a row: must be at least 1"),
            Self::Backoff { first, most } => {
                write!(f, "first back-off of {first:?}: must be above zero and at most the longest, {most:?}")
            }
        }
    }
}

impl std::error::Error for CircuitError {}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(100);

    fn breaker() -> Breaker {
        Breaker::new(Circuit::new(3, FIRST, Duration::from_millis(350)).unwrap(), Nanos::ZERO)
    }

    fn ms(millis: u64) -> Nanos {
        Nanos::new(millis * 1_000_000)
    }

    fn fail(breaker: &mut Breaker, now: Nanos) {
        let sent = breaker.ask(now).unwrap();
        breaker.failed(sent, now, |backoff| backoff);
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_the_back_off_doubles_to_the_longest() {
        let mut breaker = breaker();
        fail(&mut breaker, ms(1));
        fail(&mut breaker, ms(2));
        let sent = breaker.ask(ms(3)).unwrap();
        breaker.answered(sent, ms(3));
        assert_eq!(breaker.failing_since(), None);
        (4..7).for_each(|at| fail(&mut breaker, ms(at)));
        assert_eq!(breaker.failing_since(), Some(ms(4)));
        let mut now = 6;
        for backoff in [100, 200, 350, 350] {
            assert_eq!(
                breaker.state(ms(now)),
                CircuitState::Open { retry_in: Duration::from_millis(backoff) }
            );
            assert_eq!(breaker.ask(ms(now + backoff - 1)), Err(Duration::from_millis(1)));
            now += backoff;
            fail(&mut breaker, ms(now));
        }
    }

    #[test]
    fn one_call_probes_at_a_time_and_its_answer_closes() {
        let mut breaker = breaker();
        (0..3).for_each(|at| fail(&mut breaker, ms(at)));
        let probe = breaker.ask(ms(102)).unwrap();
        assert_eq!((breaker.state(ms(102)), breaker.since()), (CircuitState::HalfOpen, ms(102)));
        assert_eq!(breaker.ask(ms(500)), Err(FIRST));
        // Given up, it leaves its turn to another.
        breaker.abandoned(probe, ms(600));
        let probe = breaker.ask(ms(600)).unwrap();
        assert!(breaker.ask(ms(600)).is_err());
        breaker.answered(probe, ms(601));
        assert_eq!((breaker.state(ms(601)), breaker.since()), (CircuitState::Closed, ms(601)));
    }

    #[test]
    fn outcomes_of_an_earlier_round_are_no_news() {
        let mut breaker = breaker();
        let old: Vec<_> = (0..9).map(|_| breaker.ask(ms(0)).unwrap()).collect();
        for sent in &old[..6] {
            breaker.failed(*sent, ms(1), |backoff| backoff);
        }
        assert_eq!(breaker.state(ms(1)), CircuitState::Open { retry_in: FIRST }, "opened once, by three");
        breaker.answered(old[6], ms(2));
        assert_eq!(breaker.state(ms(1)), CircuitState::Open { retry_in: FIRST });
        let probe = breaker.ask(ms(101)).unwrap();
        breaker.failed(old[7], ms(102), |backoff| backoff);
        breaker.abandoned(old[8], ms(102));
        assert_eq!(breaker.state(ms(102)), CircuitState::HalfOpen);
        breaker.answered(probe, ms(103));
        for sent in &old {
            breaker.failed(*sent, ms(104), |backoff| backoff);
        }
        assert_eq!((breaker.state(ms(104)), breaker.failing_since()), (CircuitState::Closed, None));
    }

    #[test]
    fn what_cannot_be_names_its_values() {
        let error = |failures, first, most| Circuit::new(failures, first, most).unwrap_err().to_string();
        assert_eq!(error(0, FIRST, FIRST), "0 failures in a row: must be at least 1");
        assert!(error(1, Duration::ZERO, FIRST).starts_with("first back-off of 0ns"));
        assert!(error(1, FIRST * 2, FIRST).ends_with("at most the longest, 100ms"));
    }
}
