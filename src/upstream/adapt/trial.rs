//! A call on its way, as a guard.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::Shared;
use super::state::Outcome;
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::upstream::{Class, Reading};

/// A call that an [`AdaptiveRate`](super::AdaptiveRate) has let out. Tell it how the call ended.
///
/// Dropped without a word it counts as nothing, neither success nor congestion: a panic, a cancelled future or an answer that
/// says nothing of the load (a wrong request) leaves the rate alone. Its tokens stay charged; if it was the probe after a
/// pause, the next call is. It owns its part of the limiter, so it can go into a task or a body.
///
/// A *stream* tells of each part with [`progress`](Self::progress). Its latency is then the time to the first part, and
/// it is [stalled](Self::is_stalled) when it has been silent for too long; whoever reads it should cancel it then, and say
/// so.
///
/// ```
/// use std::time::Duration;
/// use tollgate::upstream::AdaptiveRate;
/// use tollgate::{Manual, quota};
///
/// let rate = AdaptiveRate::builder(quota!("100/s burst 5")).build_with_clock(Manual::new())?;
/// let mut stream = rate.try_send()?;
/// assert_eq!(stream.stalls_at(), None, "not before it has begun");
/// stream.progress();
/// rate.clock().advance(Duration::from_secs(9));
/// stream.progress();
/// rate.clock().advance(Duration::from_secs(10));
/// assert!(stream.is_stalled());
/// stream.stalled();
/// assert_eq!(rate.permille(), 800);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a call that is dropped at once counts as nothing"]
pub struct Trial<C: Clock = Monotonic> {
    shared: Arc<Shared<C>>,
    number: u64,
    cost: u64,
    sent: Nanos,
    stream: Option<Stream>,
    is_open: bool,
}

/// When a stream spoke.
#[derive(Clone, Copy, Debug)]
struct Stream {
    first: Nanos,
    last: Nanos,
}

impl<C: Clock> Trial<C> {
    pub(super) fn sent(shared: Arc<Shared<C>>, number: u64, cost: u64, now: Nanos) -> Self {
        Self { shared, number, cost, sent: now, stream: None, is_open: true }
    }

    /// It was answered so: tells [`succeeded`](Self::succeeded), [`refused`](Self::refused) or
    /// [`timed_out`](Self::timed_out), or drops it, by status and [`Reading`].
    ///
    /// | answer | counts as |
    /// |---|---|
    /// | no wait helps: a quota is used up | nothing |
    /// | 429, 503, 529, or a limit that was passed by the body, or gRPC's pushback | refused, with the wait it asks for |
    /// | 408, 504 | timed out |
    /// | 2xx | succeeded |
    /// | any other | nothing |
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use http::{HeaderMap, StatusCode};
    /// use tollgate::upstream::{AdaptiveRate, Reader};
    /// use tollgate::{Manual, quota};
    ///
    /// let rate = AdaptiveRate::builder(quota!("100/s burst 5")).build_with_clock(Manual::new())?;
    /// let call = rate.try_send()?;
    /// let (status, mut headers) = (StatusCode::TOO_MANY_REQUESTS, HeaderMap::new());
    /// headers.insert("retry-after", "2".parse()?);
    /// call.answered(status, &Reader::new().read(status, &headers, SystemTime::now()));
    /// assert_eq!(rate.try_send().unwrap_err().wait(), Some(Duration::from_secs(2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answered(self, status: StatusCode, reading: &Reading<'_>) {
        let now = self.shared.clock.now();
        self.answered_at(status, reading, now);
    }

    /// [`answered`](Self::answered) at a reading of the limiter's clock.
    pub fn answered_at(self, status: StatusCode, reading: &Reading<'_>, now: Nanos) {
        let retry_after = reading.retry_after().map(|asked| asked.wait);
        let is_refused = matches!(reading.class(), Some(Class::RateLimit | Class::Overloaded));
        // gRPC and GraphQL refuse with the status 200.
        let is_success = status.is_success() && reading.pushback().is_none() && !is_refused;
        match status.as_u16() {
            _ if is_success => self.succeeded_at(now),
            _ if reading.is_terminal() => drop(self),
            200..300 | 429 | 503 | 529 => self.refused_at(retry_after, now),
            _ if is_refused => self.refused_at(retry_after, now),
            408 | 504 => self.timed_out_at(now),
            _ => drop(self),
        }
    }

    /// It was accepted and done.
    pub fn succeeded(self) {
        let now = self.shared.clock.now();
        self.succeeded_at(now);
    }

    /// [`succeeded`](Self::succeeded) at a reading of the limiter's clock.
    pub fn succeeded_at(self, now: Nanos) {
        let latency = self.latency(now);
        self.end(Outcome::Succeeded { latency }, now);
    }

    /// The upstream had too much: 429, or 503 and its kin, with the wait that it asked for. A wait pauses all callers, also
    /// when the call is of an event that the rate has answered already.
    pub fn refused(self, retry_after: Option<Duration>) {
        let now = self.shared.clock.now();
        self.refused_at(retry_after, now);
    }

    /// [`refused`](Self::refused) at a reading of the limiter's clock.
    pub fn refused_at(self, retry_after: Option<Duration>, now: Nanos) {
        self.end(Outcome::Refused { retry_after }, now);
    }

    /// No answer came in the caller's time. What it was charged stays charged: it may have been done.
    pub fn timed_out(self) {
        let now = self.shared.clock.now();
        self.timed_out_at(now);
    }

    /// [`timed_out`](Self::timed_out) at a reading of the limiter's clock.
    pub fn timed_out_at(self, now: Nanos) {
        self.end(Outcome::Hung, now);
    }

    /// It was cancelled because it stalled.
    pub fn stalled(self) {
        let now = self.shared.clock.now();
        self.stalled_at(now);
    }

    /// [`stalled`](Self::stalled) at a reading of the limiter's clock.
    pub fn stalled_at(self, now: Nanos) {
        self.end(Outcome::Hung, now);
    }

    /// A part of the stream has come: the headers, some bytes, a token.
    pub fn progress(&mut self) {
        let now = self.shared.clock.now();
        self.progress_at(now);
    }

    /// [`progress`](Self::progress) at a reading of the limiter's clock.
    pub fn progress_at(&mut self, now: Nanos) {
        let stream = self.stream.get_or_insert(Stream { first: now, last: now });
        stream.last = stream.last.max(now);
    }

    /// Whether it is a stream that has been silent for so long that it should be cancelled.
    pub fn is_stalled(&self) -> bool {
        self.is_stalled_at(self.shared.clock.now())
    }

    /// [`is_stalled`](Self::is_stalled) at a reading of the limiter's clock.
    pub fn is_stalled_at(&self, now: Nanos) -> bool {
        self.stalls_at().is_some_and(|due| now >= due)
    }

    /// The reading at which it is stalled if it stays silent, to set a timer by; `None` before its first
    /// [`progress`](Self::progress), for until then it is no stream.
    pub fn stalls_at(&self) -> Option<Nanos> {
        let silence = Nanos::from_duration(self.shared.settings.silence);
        self.stream.map(|stream| stream.last.saturating_add(silence))
    }

    /// The tokens it was charged.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The reading at which it was sent.
    pub fn sent_at(&self) -> Nanos {
        self.sent
    }

    fn latency(&self, now: Nanos) -> Duration {
        let answered = self.stream.map_or(now, |stream| stream.first);
        answered.saturating_sub(self.sent).as_duration()
    }

    fn end(mut self, outcome: Outcome, now: Nanos) {
        self.is_open = false;
        self.shared.answered(self.number, self.cost, outcome, now);
    }
}

impl<C: Clock> Drop for Trial<C> {
    fn drop(&mut self) {
        if self.is_open {
            self.shared.answered(self.number, self.cost, Outcome::Unknown, self.shared.clock.now());
        }
    }
}

impl<C: Clock> fmt::Debug for Trial<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial")
            .field("number", &self.number)
            .field("cost", &self.cost)
            .field("sent", &self.sent)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
