//! What decides about a request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::decision::Denied;
use crate::limiter::Limiter;
use crate::wait::{Acquire, Handle, Timer};

/// Decides at once whether a request is served, and what is given out for it.
///
/// Any function of that form is one, so any limit of the crate is asked by a closure: by key, several at
/// once, a reservation. It may change the request, as to put something into its extensions for the handler.
///
/// ```
/// use http::Request;
/// use tollgate::{Bucket, Denied, quota, tower::Admit};
///
/// let bucket = Bucket::new(quota!("1M/min"));
/// let by_length = move |request: &mut Request<String>| bucket.try_acquire_n(request.body().len() as u64);
/// let decide = |limit: &dyn Admit<Request<String>, Granted = (), Refused = Denied>, body: &str| {
///     limit.admit(&mut Request::new(body.to_string()))
/// };
/// assert!(decide(&by_length, "hello").is_ok());
/// ```
pub trait Admit<Request> {
    /// What is given out for a request that is served.
    type Granted;
    /// Why a request is not.
    type Refused;

    /// Decides.
    ///
    /// # Errors
    ///
    /// The refusal. Nothing was taken.
    fn admit(&self, request: &mut Request) -> Result<Self::Granted, Self::Refused>;
}

impl<Request, F, Granted, Refused> Admit<Request> for F
where
    F: Fn(&mut Request) -> Result<Granted, Refused>,
{
    type Granted = Granted;
    type Refused = Refused;

    #[inline]
    fn admit(&self, request: &mut Request) -> Result<Granted, Refused> {
        self(request)
    }
}

/// Decides about a request later: when there are tokens for it, or when a server has answered.
///
/// Any function that returns a future is one, so that whatever is awaited can be asked: a bucket in Redis, a
/// queue with classes, a permit of a weight that depends on the request.
///
#[cfg_attr(feature = "tokio", doc = "```")]
#[cfg_attr(not(feature = "tokio"), doc = "```ignore")]
/// use std::time::Duration;
///
/// use http::{Request, Response};
/// use tollgate::tower::WaitLayer;
/// use tollgate::wait::{Entry, Queue, Refused, TokioTimer};
/// use tollgate::{Bucket, quota};
///
/// // Interactive requests go before those that say that they are a batch's.
/// let queue = Queue::new(Bucket::new(quota!("100/s burst 10")), Duration::from_secs(5), TokioTimer);
/// let admit = move |request: &mut Request<String>| {
///     let class = if request.headers().contains_key("x-batch") { 3 } else { 0 };
///     queue.acquire(Entry::new(1).class(class))
/// };
/// let refuse = |_: &Request<String>, refused: Refused| Response::new(refused.to_string());
/// let layer = WaitLayer::new(admit, refuse);
/// ```
pub trait AdmitLater<Request> {
    /// What is given out for a request that is served.
    type Granted;
    /// Why a request is not.
    type Refused;
    /// Decides. Dropped before it is ready, it takes nothing.
    type Turn: Future<Output = Result<Self::Granted, Self::Refused>>;

    /// Begins to decide.
    fn admit(&self, request: &mut Request) -> Self::Turn;
}

impl<Request, F, Turn, Granted, Refused> AdmitLater<Request> for F
where
    F: Fn(&mut Request) -> Turn,
    Turn: Future<Output = Result<Granted, Refused>>,
{
    type Granted = Granted;
    type Refused = Refused;
    type Turn = Turn;

    fn admit(&self, request: &mut Request) -> Turn {
        self(request)
    }
}

/// A limiter of which each request costs one token.
#[derive(Clone, Copy, Debug)]
pub struct Each<L>(L);

impl<L> Each<L> {
    /// Asks the limiter for one token.
    pub fn new(limiter: L) -> Self {
        Self(limiter)
    }
}

impl<Request, L: Limiter> Admit<Request> for Each<L> {
    type Granted = ();
    type Refused = Denied;

    #[inline]
    fn admit(&self, _: &mut Request) -> Result<(), Denied> {
        self.0.try_acquire()
    }
}

/// A limiter with a cost for each request. A cost of 0 is free: the limiter is not asked.
#[derive(Clone, Copy, Debug)]
pub struct Costing<L, C> {
    limiter: L,
    cost: C,
}

impl<L, C> Costing<L, C> {
    /// Asks the limiter for `cost` of the request.
    pub fn new(limiter: L, cost: C) -> Self {
        Self { limiter, cost }
    }
}

impl<Request, L: Limiter, C: Fn(&Request) -> u64> Admit<Request> for Costing<L, C> {
    type Granted = ();
    type Refused = Denied;

    #[inline]
    fn admit(&self, request: &mut Request) -> Result<(), Denied> {
        match (self.cost)(request) {
            0 => Ok(()),
            1 => self.limiter.try_acquire(),
            cost => self.limiter.try_acquire_n(cost),
        }
    }
}

/// Tokens that a request waits for. A cost of 0 is free and waits for nothing.
#[derive(Clone, Copy, Debug)]
pub struct Awaiting<L, T, C> {
    limiter: L,
    timer: T,
    longest: Duration,
    cost: C,
}

/// The turn of a request that waits for tokens.
pub struct Turn<L: Handle, T: Timer>(Option<Acquire<L, T>>);

impl<L, T, C> Awaiting<L, T, C> {
    /// Waits on the timer for `cost` of the request, at most `longest`. The limiter is one that takes
    /// bookings, in an [`Arc`](std::sync::Arc).
    pub fn new(limiter: L, timer: T, longest: Duration, cost: C) -> Self {
        Self { limiter, timer, longest, cost }
    }
}

impl<Request, L, T, C> AdmitLater<Request> for Awaiting<L, T, C>
where
    L: Handle + Clone,
    T: Timer + Clone,
    C: Fn(&Request) -> u64,
{
    type Granted = ();
    type Refused = Denied;
    type Turn = Turn<L, T>;

    fn admit(&self, request: &mut Request) -> Turn<L, T> {
        let cost = (self.cost)(request);
        let acquire = || Acquire::new(self.limiter.clone(), cost, self.timer.clone()).within(self.longest);
        Turn((cost > 0).then(acquire))
    }
}

impl<L: Handle, T: Timer> Future for Turn<L, T> {
    type Output = Result<(), Denied>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(acquire) => Pin::new(acquire).poll(context),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl<L: Handle, T: Timer> fmt::Debug for Turn<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&self.0).finish()
    }
}
