//! Whether and when to try again.

use core::time::Duration;

use http::StatusCode;

use super::{Backoff, RetryBudget, Tries};
use crate::upstream::{Class, LONGEST, Reading};
use crate::wait::Jitter;

/// Decides in one call whether a failed call is tried again, and when.
///
/// | what failed | answer |
/// |---|---|
/// | no wait helps: a quota is used up, `x-should-retry: false`, a negative pushback | [`Retry::Never`] |
/// | the response says neither that it may be retried nor when | [`Retry::Never`] |
/// | the upstream asks for a longer wait than one is willing to make | [`Retry::TooLong`], with what it asks for |
/// | the call has been retried as often as it may be, or the budget has nothing left | [`Retry::Exhausted`] |
/// | the upstream asks for a wait | [`Retry::After`] that, or up to a fifth and up to 30 s later |
/// | it does not | [`Retry::After`] a [`Backoff`] |
///
/// These may be retried: the statuses 408, 425 and 429, and those from 500 on but for 501 and 505; any failure that comes with
/// a wait (GitHub's 403), that its body tells to be a limit or an overload, or that has `x-should-retry: true`; and gRPC's
/// refusals, whose status is 200, by their pushback. Whether a call may be repeated that was perhaps carried out, only its
/// caller knows.
///
/// # Layers
///
/// Layers that retry the same call pass its [`Tries`] down and have clones of one [`RetryBudget`]. What the inner layer has
/// retried counts in the outer one.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::{HeaderMap, StatusCode};
/// use tollgate::upstream::{Reader, Retry, RetryBudget, RetryPolicy, Tries};
///
/// let budget = RetryBudget::default();
/// let transport = RetryPolicy::new().retries(2).budget(budget.clone());
/// let agent = RetryPolicy::new().retries(3).budget(budget.clone());
///
/// // The upstream refuses everything.
/// let headers = HeaderMap::new();
/// let refused = Reader::new().read(StatusCode::SERVICE_UNAVAILABLE, &headers, SystemTime::now());
/// let (mut tries, mut sent) = (Tries::new(), 0);
/// loop {
///     // The inner layer.
///     loop {
///         sent += 1;
///         if !matches!(transport.decide(&refused, &mut tries), Retry::After(_)) {
///             break;
///         }
///     }
///     // The outer one.
///     if !matches!(agent.decide(&refused, &mut tries), Retry::After(_)) {
///         break;
///     }
/// }
/// assert_eq!((sent, tries.retries()), (4, 3), "not 3 times 4");
/// assert_eq!(budget.available(), 500 - 3 * 5);
/// ```
#[derive(Debug)]
pub struct RetryPolicy {
    retries: u32,
    longest_hint: Duration,
    backoff: Backoff,
    budget: RetryBudget,
    jitter: Jitter,
}

/// What becomes of a call that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Retry {
    /// Try again in so long. The budget has been charged.
    After(Duration),
    /// The upstream asks for this, which is longer than one waits. Coming back sooner is refused again or punished.
    TooLong(Duration),
    /// It has been retried as often as it may be, or nothing may be at the moment.
    Exhausted,
    /// No wait helps.
    Never(Class),
}

impl RetryPolicy {
    /// Two retries, hints up to 60 s, the default [`Backoff`] and a [`RetryBudget`] of its own.
    pub fn new() -> Self {
        Self {
            retries: 2,
            longest_hint: Duration::from_secs(60),
            backoff: Backoff::default(),
            budget: RetryBudget::default(),
            jitter: Jitter::new(),
        }
    }

    /// At most so many retries of one call.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// The longest wait that is made because the upstream asks for it; the jitter comes on top. It asks for [`LONGEST`] where
    /// the number was too large to be told, so that is always too long.
    #[must_use]
    pub fn longest_hint(self, longest_hint: Duration) -> Self {
        Self { longest_hint, ..self }
    }

    /// The waits where the upstream asks for none.
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Draws on this budget, together with all that have clones of it.
    #[must_use]
    pub fn budget(self, budget: RetryBudget) -> Self {
        Self { budget, ..self }
    }

    /// Spreads hints and takes back-offs by this generator.
    #[must_use]
    pub fn jitter(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    /// What becomes of a call that got this response. It is a failure: a success is reported by
    /// [`succeeded`](Self::succeeded), and here it is nothing to try again.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use http::{HeaderMap, HeaderValue, StatusCode};
    /// use tollgate::upstream::{Reader, Retry, RetryPolicy, Tries};
    ///
    /// let policy = RetryPolicy::new().longest_hint(Duration::from_secs(60));
    /// let decide = |retry_after| {
    ///     let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static(retry_after))]);
    ///     let reading = Reader::new().read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::now());
    ///     policy.decide(&reading, &mut Tries::new())
    /// };
    /// let Retry::After(wait) = decide("60") else { panic!() };
    /// assert!((60..=72).contains(&wait.as_secs()), "never sooner");
    /// assert_eq!(decide("3600"), Retry::TooLong(Duration::from_secs(3600)));
    /// ```
    pub fn decide(&self, reading: &Reading<'_>, tries: &mut Tries) -> Retry {
        if reading.is_terminal() || !may_be_retried(reading) {
            return Retry::Never(reading.class().unwrap_or(Class::Unknown));
        }
        match reading.wait() {
            Some(hint) if hint > self.longest_hint || hint >= LONGEST => Retry::TooLong(hint),
            hint => self.allow(hint, tries),
        }
    }

    /// What becomes of a call that got no response: the connection failed, or a time-out was reached.
    pub fn decide_unanswered(&self, tries: &mut Tries) -> Retry {
        self.allow(None, tries)
    }

    /// A call succeeded, after retries or without: the budget is refilled, once for the call.
    pub fn succeeded(&self, tries: &mut Tries) {
        if tries.count_success() {
            self.budget.deposit();
        }
    }

    fn allow(&self, hint: Option<Duration>, tries: &mut Tries) -> Retry {
        if tries.retries() >= self.retries || !self.budget.try_withdraw() {
            return Retry::Exhausted;
        }
        let wait = match hint {
            Some(hint) => self.jitter.spread(hint),
            None => self.backoff.wait(tries.retries(), &self.jitter),
        };
        tries.count_retry();
        Retry::After(wait)
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether it is a failure that another try may mend.
fn may_be_retried(reading: &Reading<'_>) -> bool {
    let is_passing = matches!(reading.class(), Some(Class::RateLimit | Class::Overloaded));
    let is_failure = !reading.status().is_success();
    reading.should_retry() == Some(true)
        || is_passing
        || reading.pushback().is_some()
        || (is_failure && (is_retryable(reading.status()) || reading.retry_after().is_some()))
}

fn is_retryable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429) || is_server_error(status)
}

/// Whether a server is in trouble, and not merely older than the call (501, 505).
pub(in crate::upstream) fn is_server_error(status: StatusCode) -> bool {
    status.as_u16() >= 500 && !matches!(status.as_u16(), 501 | 505)
}
