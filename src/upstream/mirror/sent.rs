//! A call on its way, and what came of it.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use super::Inner;
use super::cost::Cost;
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::lock;
use crate::upstream::read::{Class, Reading};

/// A call on its way, let through by [`Mirror::try_send`](super::Mirror::try_send).
///
/// Until it is answered it counts as if the upstream charged it at this very moment. Dropped unanswered it stays charged,
/// which is the worst case, and is on its way no more.
///
/// ```
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Mirror};
///
/// let mirror = Mirror::builder().limit(Dimension::Requests, quota!("2/hour")).build()?;
/// let (failed_to_connect, lost) = (mirror.try_send(&Cost::requests(1))?, mirror.try_send(&Cost::requests(1))?);
/// failed_to_connect.not_sent();
/// drop(lost);
/// assert_eq!(mirror.level(Dimension::Requests).unwrap().available(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a call that is dropped at once stays charged"]
pub struct Sent<C: Clock = Monotonic> {
    inner: Arc<Inner<C>>,
    /// Its place in the order of sending, until it has landed.
    number: Option<u64>,
}

/// What came of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Heard {
    /// The response is no refusal.
    Fine,
    /// The upstream asks everybody to wait, and the mirror does.
    RetryAfter(Duration),
    /// A limit was passed, and the upstream does not say outright how long to wait; what follows from its figures, if
    /// anything does.
    Limited(Option<Duration>),
    /// The upstream has too much to do, whoever asks.
    Overloaded,
    /// This call is not to be repeated. Others may be sent.
    Final,
    /// A quota is used up and no wait helps: the mirror is closed.
    Terminal(Class),
}

impl<C: Clock> Sent<C> {
    pub(super) fn new(inner: Arc<Inner<C>>, number: u64) -> Self {
        Self { inner, number: Some(number) }
    }

    /// The response has come: it is charged what was expected, and the limits are corrected by what the response says.
    pub fn answered(self, reading: &Reading<'_>) -> Heard {
        let now = self.inner.clock.now();
        self.answered_at(reading, now)
    }

    /// The same, at the reading `now`.
    pub fn answered_at(self, reading: &Reading<'_>, now: Nanos) -> Heard {
        self.answer(reading, None, now)
    }

    /// The same, with the true cost from a usage record.
    pub fn answered_with(self, reading: &Reading<'_>, used: &Cost) -> Heard {
        let now = self.inner.clock.now();
        self.answered_with_at(reading, used, now)
    }

    /// The same, with the true cost and at the reading `now`.
    pub fn answered_with_at(self, reading: &Reading<'_>, used: &Cost, now: Nanos) -> Heard {
        self.answer(reading, Some(used), now)
    }

    /// The head of the response has come, and the body takes its time: the limits are corrected by what the head says, now and
    /// not when the body ends. The call stays on its way in the dimensions that the head does not tell of, until
    /// [`settled`](Self::settled).
    pub fn head(&self, reading: &Reading<'_>) -> Heard {
        self.head_at(reading, self.inner.clock.now())
    }

    /// The same, at the reading `now`.
    pub fn head_at(&self, reading: &Reading<'_>, now: Nanos) -> Heard {
        let Some(number) = self.number else { return Heard::of(reading) };
        let mut state = lock(&self.inner.state);
        let now = state.advance(now);
        state.head(number, reading, now)
    }

    /// The body has ended after [`head`](Self::head), and its usage record tells the true cost.
    ///
    /// What is more than the head counted is charged. What is less is given back only where the head told nothing: whether an
    /// upstream gives back what it has counted, the next response tells.
    pub fn settled(self, used: &Cost) {
        let now = self.inner.clock.now();
        self.settled_at(used, now);
    }

    /// The same, at the reading `now`.
    pub fn settled_at(mut self, used: &Cost, now: Nanos) {
        if let Some(number) = self.number.take() {
            let mut state = lock(&self.inner.state);
            let now = state.advance(now);
            let _flight = state.land(number, Some(used), now);
        }
    }

    /// It never left: everything is as if it had not been let through.
    pub fn not_sent(mut self) {
        if let Some(number) = self.number.take() {
            lock(&self.inner.state).forget(number);
        }
    }

    fn answer(mut self, reading: &Reading<'_>, used: Option<&Cost>, now: Nanos) -> Heard {
        let Some(number) = self.number.take() else { return Heard::of(reading) };
        let mut state = lock(&self.inner.state);
        let now = state.advance(now);
        state.answer(number, reading, used, now)
    }
}

impl<C: Clock> Drop for Sent<C> {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            let now = self.inner.clock.now();
            let mut state = lock(&self.inner.state);
            let now = state.advance(now);
            let _flight = state.land(number, None, now);
        }
    }
}

impl<C: Clock> fmt::Debug for Sent<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent").field("number", &self.number).finish()
    }
}

impl Heard {
    /// Whether a limit was passed.
    pub(super) const fn is_refusal(self) -> bool {
        matches!(self, Self::RetryAfter(_) | Self::Limited(_))
    }

    /// What a response means, before it is applied.
    pub(super) fn of(reading: &Reading<'_>) -> Self {
        let status = reading.status();
        let has_none = reading.windows().iter().any(|window| window.limit == Some(0));
        if reading.class() == Some(Class::QuotaTerminal) || (has_none && !status.is_success()) {
            return Self::Terminal(Class::QuotaTerminal);
        }
        if let Some(asked) = reading.retry_after() {
            return Self::RetryAfter(asked.wait);
        }
        if reading.is_terminal() {
            return Self::Final;
        }
        match reading.class() {
            Some(Class::Overloaded) => Self::Overloaded,
            Some(Class::RateLimit) => Self::Limited(reading.wait()),
            _ if status.as_u16() == 429 => Self::Limited(reading.wait()),
            _ => Self::Fine,
        }
    }
}
