//! The throttle.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::Response;

use super::call::{Call, Ears};
use super::nudge::{Nudge, Rest};
use super::refusal::{NotSent, RunError};
use crate::clock::{Clock, Monotonic};
use crate::inflight::{InFlight, NoPermit};
use crate::sync::{AtomicU64, Ordering};
use crate::upstream::adapt::AdaptiveRate;
use crate::upstream::mirror::{Cost, Heard, Mirror};
use crate::upstream::read::{Dimension, Reader};
use crate::upstream::retry::{Retry, RetryPolicy, Tries};
use crate::wait::Timer;

/// How many may wait, unless it is said.
const DEPTH: usize = 1024;

/// What a program wraps around its own HTTP client: it waits until a call may be sent, and learns from what is answered.
///
/// It holds a [`Mirror`], reads responses with a [`Reader`], and lets callers wait in line on a [`Timer`]. It sends nothing
/// itself and knows no client: it takes status, headers and body as the `http` crate has them. Clones share all of it.
///
/// | | |
/// |---|---|
/// | [`run`](Self::run) | waits, sends by the closure, reads the response |
/// | [`run_retrying`](Self::run_retrying) | the same, and again as a [`RetryPolicy`] allows |
/// | [`admit`](Self::admit), [`admit_within`](Self::admit_within) | waits; then [`Call::answered`], or for a stream [`Call::head`] and [`Call::settled`] |
/// | [`try_admit`](Self::try_admit) | now, or not |
///
/// ```
/// use http::{Response, StatusCode};
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Heard, Mirror, Throttle};
/// # use std::{future::{Ready, ready}, time::Duration};
/// # struct Timer;
/// # impl tollgate::wait::Timer for Timer {
/// #     type Sleep = Ready<()>;
/// #     fn sleep(&self, _: Duration) -> Ready<()> { ready(()) }
/// # }
///
/// # let done = async {
/// let mirror = Mirror::builder().limit(Dimension::Requests, quota!("600/min")).build()?;
/// let throttle = Throttle::new(mirror, Timer);
///
/// // The client of the program goes here.
/// let send = || async { Response::builder().header("x-ratelimit-remaining-requests", "3").body("{}") };
/// let (response, heard) = throttle.run(&Cost::requests(1), send).await?;
///
/// assert_eq!((response.status(), heard), (StatusCode::OK, Heard::Fine));
/// let left = throttle.mirror().level(Dimension::Requests).unwrap();
/// assert_eq!(left.available(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # };
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(matches!(std::pin::pin!(done).poll(&mut context), std::task::Poll::Ready(Ok(()))));
/// # use std::future::Future;
/// ```
///
/// # Fairness
///
/// First come, first served, whatever the costs: the first in line waits until its cost fits, and the others behind it.
/// While anyone waits, [`try_admit`](Self::try_admit) is refused. Only the first in line sleeps for its turn, and every answer
/// lets it look again; so a call that waits is woken once to come first, and once or more when it is.
///
/// # Several programs with one credential
///
/// Each has its own throttle, and a mirror that is built as [`MirrorBuilder::shared`]: it learns from the answers which part of
/// the limit is its own. `docs/upstream.md` has what three processes make of one key, with it and without.
///
/// [`MirrorBuilder::shared`]: crate::upstream::MirrorBuilder::shared
pub struct Throttle<T, C: Clock = Monotonic> {
    shared: Arc<Shared<C>>,
    timer: T,
}

struct Shared<C: Clock> {
    setup: Setup<C>,
    /// One permit: whoever has it is first, and asks the mirror.
    line: InFlight,
    waiting: AtomicU64,
    nudge: Arc<Nudge>,
}

/// What it was made with.
struct Setup<C: Clock> {
    mirror: Mirror<C>,
    rate: Option<AdaptiveRate<C>>,
    reader: Reader,
    depth: usize,
}

impl<T: Timer, C: Clock> Throttle<T, C> {
    /// A throttle with that mirror, whose waits are slept on that timer. The provider is found from the headers, and up to
    /// 1024 callers may wait.
    pub fn new(mirror: Mirror<C>, timer: T) -> Self {
        Self::of(Setup { mirror, rate: None, reader: Reader::new(), depth: DEPTH }, timer)
    }

    /// The same with a reader of its own: of a stated provider.
    #[must_use]
    pub fn with_reader(self, reader: Reader) -> Self {
        Self::of(Setup { reader, ..self.shared.setup.clone() }, self.timer)
    }

    /// The same, where each call needs a token of `rate` too, and `rate` hears how it went: for an upstream that tells no limit.
    /// A mirror without limits goes with it, or one with those that are known.
    #[must_use]
    pub fn with_rate(self, rate: AdaptiveRate<C>) -> Self {
        Self::of(Setup { rate: Some(rate), ..self.shared.setup.clone() }, self.timer)
    }

    /// The same, where at most `depth` callers wait behind the first. It is to be said before it is shared: who waits
    /// already stays in the line that was.
    #[must_use]
    pub fn max_waiting(self, depth: usize) -> Self {
        Self::of(Setup { depth, ..self.shared.setup.clone() }, self.timer)
    }

    fn of(setup: Setup<C>, timer: T) -> Self {
        let line = InFlight::clamped(1).max_waiting(setup.depth);
        let shared = Shared { setup, line, waiting: AtomicU64::new(0), nudge: Arc::new(Nudge::new()) };
        Self { shared: Arc::new(shared), timer }
    }

    /// The mirror: to look at what is left, to pause it, to reopen it.
    pub fn mirror(&self) -> &Mirror<C> {
        &self.shared.setup.mirror
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        // A number to look at: it orders nothing. Who comes at the same moment as the first who waits may go before or after.
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Lets a call through now, or refuses it and charges nothing.
    ///
    /// # Errors
    ///
    /// [`NotSent::Refused`] with the mirror's word, [`NotSent::HeldBack`] with the rate's, or [`NotSent::OthersFirst`].
    pub fn try_admit(&self, cost: &Cost) -> Result<Call<C>, NotSent> {
        if self.waiting() > 0 {
            return Err(NotSent::OthersFirst);
        }
        self.shared.ask(cost)
    }

    /// Waits until a call may be sent, as long as it takes.
    ///
    /// # Errors
    ///
    /// [`NotSent::Refused`] or [`NotSent::HeldBack`] if no wait helps, also when that turns out while it waits;
    /// [`NotSent::LineFull`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the line; nothing is charged before it is ready.
    ///
    /// # Fairness
    ///
    /// First come, first served, by the time of the first poll.
    pub async fn admit(&self, cost: &Cost) -> Result<Call<C>, NotSent> {
        self.admit_within(cost, Duration::MAX).await
    }

    /// Waits until a call may be sent, for at most `longest`.
    ///
    /// # Errors
    ///
    /// [`NotSent::Refused`] or [`NotSent::HeldBack`] as soon as the wait is longer than `longest` or helps nothing, so a long `Retry-After`
    /// refuses at once; [`NotSent::TimedOut`] when the time is up; [`NotSent::LineFull`].
    ///
    /// # Cancel safety
    ///
    /// As [`admit`](Self::admit).
    ///
    /// # Fairness
    ///
    /// As [`admit`](Self::admit).
    pub async fn admit_within(&self, cost: &Cost, longest: Duration) -> Result<Call<C>, NotSent> {
        match self.try_admit(cost) {
            Err(refused @ (NotSent::Refused(_) | NotSent::HeldBack(_))) => {
                within(refused, longest)?;
            }
            Err(_) => {}
            admitted => return admitted,
        }
        let _waits = Waits::new(&self.shared.waiting);
        let mut time = (longest < Duration::MAX).then(|| self.timer.sleep(longest));
        let mut turn = pin!(self.turn(cost, longest));
        poll_fn(|context| match (turn.as_mut().poll(context), &mut time) {
            (Poll::Pending, Some(time)) => Pin::new(time).poll(context).map(|()| Err(NotSent::TimedOut)),
            (polled, _) => polled,
        })
        .await
    }

    /// Stands in line, and when it is first, asks the mirror until it agrees.
    async fn turn(&self, cost: &Cost, longest: Duration) -> Result<Call<C>, NotSent> {
        let shared = &*self.shared;
        let _first = shared.line.acquire().await.map_err(|why| match why {
            NoPermit::LineFull { depth } => NotSent::LineFull { depth },
            _ => NotSent::OthersFirst,
        })?;
        loop {
            let since = shared.nudge.times();
            let refused = match shared.ask(cost) {
                Err(refused) => refused,
                admitted => return admitted,
            };
            let span = within(refused, longest)?;
            Rest { sleep: self.timer.sleep(span), nudge: &shared.nudge, since }.await;
        }
    }

    /// Waits until a call may be sent, sends it by the closure, reads the response and tells what came of it.
    ///
    /// It does not send again; the response is the caller's, whatever it says.
    ///
    /// # Errors
    ///
    /// [`RunError::NotSent`] as [`admit`](Self::admit); [`RunError::Client`] with the client's error: the call stays charged.
    ///
    /// # Cancel safety
    ///
    /// Before the closure is called nothing is charged. Afterwards the call stays charged, for nobody knows whether the
    /// upstream counted it.
    ///
    /// # Fairness
    ///
    /// As [`admit`](Self::admit).
    pub async fn run<B, E, F>(
        &self,
        cost: &Cost,
        send: impl FnOnce() -> F,
    ) -> Result<(Response<B>, Heard), RunError<E>>
    where
        B: AsRef<[u8]>,
        F: Future<Output = Result<Response<B>, E>>,
    {
        let call = self.admit(cost).await.map_err(RunError::NotSent)?;
        let response = send().await.map_err(RunError::Client)?;
        let heard = call.answered(response.status(), response.headers(), response.body().as_ref());
        Ok((response, heard))
    }

    /// [`run`](Self::run), and again whenever it fails and the policy allows; the last response is the answer.
    ///
    /// Each try is charged, and stands in line again at its end. A layer above that retries the same call hands down its
    /// `tries`, and takes part in the policy's budget by a clone of it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), of the last try.
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run); what the tries took of the budget stays taken.
    ///
    /// # Fairness
    ///
    /// As [`admit`](Self::admit), for each try.
    pub async fn run_retrying<B, E, F>(
        &self,
        cost: &Cost,
        policy: &RetryPolicy,
        tries: &mut Tries,
        mut send: impl FnMut() -> F,
    ) -> Result<(Response<B>, Heard), RunError<E>>
    where
        B: AsRef<[u8]>,
        F: Future<Output = Result<Response<B>, E>>,
    {
        loop {
            let call = self.admit(cost).await.map_err(RunError::NotSent)?;
            let (done, retry) = match send().await {
                Ok(response) => {
                    let (heard, retry) = decided(call, &response, policy, tries);
                    (Ok((response, heard)), retry)
                }
                Err(error) => {
                    drop(call);
                    (Err(RunError::Client(error)), Some(policy.decide_unanswered(tries)))
                }
            };
            let Some(Retry::After(wait)) = retry else { return done };
            self.timer.sleep(wait).await;
        }
    }
}

impl<C: Clock> Shared<C> {
    /// Asks the mirror, and the rate if there is one: both or none.
    fn ask(&self, cost: &Cost) -> Result<Call<C>, NotSent> {
        let Setup { mirror, rate, reader, .. } = &self.setup;
        let sent = mirror.try_send(cost)?;
        let calls = cost.amount(Dimension::Requests).max(1);
        let trial = match rate.as_ref().map(|rate| rate.try_send_n(calls)) {
            Some(Err(held)) => {
                sent.not_sent();
                return Err(held.into());
            }
            Some(Ok(trial)) => Some(trial),
            None => None,
        };
        Ok(Call::new(sent, trial, Ears { reader: *reader, nudge: Arc::clone(&self.nudge) }))
    }
}

impl<C: Clock> Clone for Setup<C> {
    fn clone(&self) -> Self {
        let Self { mirror, rate, reader, depth } = self;
        Self { mirror: mirror.clone(), rate: rate.clone(), reader: *reader, depth: *depth }
    }
}

impl<T: Clone, C: Clock> Clone for Throttle<T, C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), timer: self.timer.clone() }
    }
}

impl<T, C: Clock> fmt::Debug for Throttle<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttle")
            .field("mirror", &self.shared.setup.mirror)
            .field("rate", &self.shared.setup.rate)
            .field("reader", &self.shared.setup.reader)
            .field("waiting", &self.shared.waiting.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// Someone who waits, until it is dropped.
struct Waits<'w>(&'w AtomicU64);

impl<'w> Waits<'w> {
    fn new(waiting: &'w AtomicU64) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells what came of a call, and whether it is tried again.
fn decided<C: Clock, B: AsRef<[u8]>>(
    call: Call<C>,
    response: &Response<B>,
    policy: &RetryPolicy,
    tries: &mut Tries,
) -> (Heard, Option<Retry>) {
    let (status, body) = (response.status(), response.body().as_ref());
    let (heard, reading) = call.hear(status, response.headers(), body, None);
    if heard == Heard::Fine && status.is_success() {
        policy.succeeded(tries);
        return (heard, None);
    }
    (heard, Some(policy.decide(&reading, tries)))
}

/// The wait of a refusal, if there is one that the caller would wait.
fn within(refused: NotSent, longest: Duration) -> Result<Duration, NotSent> {
    refused.wait().filter(|wait| *wait <= longest).ok_or(refused)
}
