//! Work behind a limit, from its permit to its end.

use std::fmt;
use std::sync::Arc;

use super::timing::{Span, Timing};
use crate::clock::{Clock, Monotonic};

const OUTCOMES: usize = Outcome::ALL.len();

/// How work behind a limit ended: the values of the label `outcome`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// It did what was asked, or told the caller that the request was at fault.
    Succeeded,
    /// It failed.
    Failed,
    /// It was refused further on: a status 429 of an upstream.
    Refused,
    /// It was dropped before its end: a client that went away, a future that was cancelled.
    Dropped,
    /// It was dropped by a panic.
    Panicked,
}

/// Measures calls behind a limit: how long they take, how they end, how many there are; made by
/// [`Meters::calls`](super::Meters::calls). Clones are the same.
///
/// ```
/// use tollgate::metrics::{Meters, Outcome};
///
/// let calls = Meters::new().calls("upstream");
/// let call = calls.start("a permit, a reservation, or nothing");
/// // ... the work ...
/// let held = call.end(Outcome::Succeeded);
/// # let _ = held;
/// ```
///
/// In a service of `tower`, a [`Call`] is what the layer gives out (a `Grant`, with the feature `tower`): it
/// ends with the body of the response, and its outcome is that of the status.
///
/// # Cost
///
/// Two readings of the clock, two read-modify-writes that all threads share, and a value for the recorder:
/// for calls over a network.
pub struct Calls<C = Monotonic> {
    timing: Arc<Timing<C, OUTCOMES>>,
}

/// A call that has begun, and what it holds until its end.
///
/// Dropped, its outcome is [`Dropped`](Outcome::Dropped), or [`Panicked`](Outcome::Panicked) while the thread
/// panics, unless it [was told](Self::tell) another. What it holds is dropped after its end was recorded.
#[must_use = "a call that is dropped at once has ended"]
pub struct Call<T, C: Clock = Monotonic> {
    span: Ending<C>,
    held: T,
}

/// The time of a call, with the outcome that it has if nothing more is told.
struct Ending<C: Clock> {
    span: Span<C, OUTCOMES>,
    outcome: Option<Outcome>,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Succeeded, Self::Failed, Self::Refused, Self::Dropped, Self::Panicked];

    /// The value of the label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
            Self::Panicked => "panicked",
        }
    }
}

impl<C: Clock> Calls<C> {
    pub(super) fn new(timing: Arc<Timing<C, OUTCOMES>>) -> Self {
        Self { timing }
    }

    /// A call begins that holds so much until its end.
    pub fn start<T>(&self, held: T) -> Call<T, C> {
        let span = self.timing.start(Outcome::Dropped as usize);
        Call { span: Ending { span, outcome: None }, held }
    }

    /// How many have begun and have not ended.
    pub fn in_flight(&self) -> u64 {
        self.timing.open()
    }
}

impl<T, C: Clock> Call<T, C> {
    /// It ends so. What it held is handed back.
    pub fn end(mut self, outcome: Outcome) -> T {
        self.tell(outcome);
        let Self { span, held } = self;
        drop(span);
        held
    }

    /// It will have ended so when it is dropped, unless it is told otherwise until then.
    pub fn tell(&mut self, outcome: Outcome) {
        self.span.outcome = Some(outcome);
    }

    /// What it was told last.
    #[cfg(feature = "tower")]
    pub(crate) fn told(&self) -> Option<Outcome> {
        self.span.outcome
    }

    /// It was told nothing.
    #[cfg(feature = "tower")]
    pub(crate) fn untell(&mut self) {
        self.span.outcome = None;
    }

    /// What it holds.
    pub fn held(&mut self) -> &mut T {
        &mut self.held
    }
}

impl<C: Clock> Drop for Ending<C> {
    fn drop(&mut self) {
        let by_itself = if std::thread::panicking() { Outcome::Panicked } else { Outcome::Dropped };
        self.span.outcome = self.outcome.unwrap_or(by_itself) as usize;
    }
}

impl<C> Clone for Calls<C> {
    fn clone(&self) -> Self {
        Self { timing: Arc::clone(&self.timing) }
    }
}

impl<C: Clock> fmt::Debug for Calls<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

impl<T: fmt::Debug, C: Clock> fmt::Debug for Call<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("held", &self.held)
            .field("outcome", &self.span.outcome)
            .finish_non_exhaustive()
    }
}
