//! Waiting until it is one's turn, async and blocking.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::nanos::Nanos;
use crate::wait::handle::Handle;
use crate::wait::timer::Timer;
#[cfg(feature = "tokio")]
use crate::wait::tokio::TokioTimer;
use crate::wait::waiter::{Patience, Waiter};

/// A future that takes a place when it is first polled and is ready when the place is due.
///
/// It waits as long as it takes, unless [`within`](Self::within) or [`until`](Self::until) says otherwise; a wait that
/// would be longer is refused at the first poll and takes nothing.
///
/// # Cancel safety
///
/// Nothing is taken before the first poll. Dropped before it is ready, it gives the place back by the rule of
/// [`Booking::cancel`](super::Booking::cancel). Once it is ready the tokens are spent.
///
/// # Fairness
///
/// First come, first served, by the order of first polls and whatever the costs. Nobody overtakes, and
/// [`try_acquire`](Bucket::try_acquire) is refused while others wait. If someone gives up, those behind keep their times.
/// A pause that begins meanwhile lets those that come due in it book again at that moment, in their order, but behind
/// those that are due after it; if that is past the deadline, they are refused then.
///
/// # Wake-ups
///
/// One sleep, and one poll at its end; another one if the timer fired early or the limiter was paused. No lock is taken,
/// but for cancelling.
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<L: Handle, T: Timer> {
    /// `None` once it has been ready.
    waiter: Option<Waiter<L>>,
    timer: T,
    sleep: Option<T::Sleep>,
}

impl<C: Clock> Bucket<C> {
    /// Waits for one token, on tokio's timer: [`acquire_n`](Self::acquire_n) of 1.
    #[cfg(feature = "tokio")]
    pub fn acquire(&self) -> Acquire<&Self, TokioTimer> {
        self.acquire_n(1)
    }

    /// Waits for `cost` tokens, on tokio's timer. `.await` it, after [`within`](Acquire::within) if there is a limit to the
    /// caller's patience.
    ///
    /// # Errors
    ///
    /// At once, as [`book`](Self::book).
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken before the first poll; dropped before it is ready, the future gives its place back as
    /// [`Booking::cancel`](super::Booking::cancel) does.
    ///
    /// # Fairness
    ///
    /// First come, first served, in the order of first polls; see [`Acquire`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Bucket, quota};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    /// # runtime.block_on(async {
    /// let limit = Bucket::new(quota!("100/s burst 10"));
    /// limit.acquire_n(10).await?;
    /// limit.acquire_n(2).within(Duration::from_secs(1)).await?;
    /// # Ok::<(), tollgate::Denied>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "tokio")]
    pub fn acquire_n(&self, cost: u64) -> Acquire<&Self, TokioTimer> {
        Acquire::new(self, cost, TokioTimer)
    }

    /// Blocks the thread until there is one token: [`acquire_blocking_n`](Self::acquire_blocking_n) of 1.
    ///
    /// # Errors
    ///
    /// As [`acquire_blocking_n`](Self::acquire_blocking_n).
    pub fn acquire_blocking(&self, longest_wait: Duration) -> Result<(), Denied> {
        self.acquire_blocking_n(1, longest_wait)
    }

    /// Blocks the thread until there are `cost` tokens for it, in the order of calls.
    ///
    /// It sleeps by [`std::thread::sleep`], and again if the limiter's clock says that it is too early. A pause that begins
    /// meanwhile is obeyed as by [`Acquire`].
    ///
    /// # Errors
    ///
    /// At once if the wait would be longer than `longest_wait`, as [`book`](Self::book): nothing was taken.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Bucket, quota};
    ///
    /// let limit = Bucket::new(quota!("1000/s burst 1"));
    /// for _ in 0..3 {
    ///     limit.acquire_blocking(Duration::MAX)?;
    /// }
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    pub fn acquire_blocking_n(&self, cost: u64, longest_wait: Duration) -> Result<(), Denied> {
        block(self, cost, longest_wait, std::thread::sleep)
    }
}

/// Sleeps until it is time.
pub(crate) fn block<L: Handle>(
    limiter: L,
    cost: u64,
    longest_wait: Duration,
    sleep: impl Fn(Duration),
) -> Result<(), Denied> {
    let mut waiter = Waiter::new(limiter, cost, Patience::For(longest_wait));
    while let Some(span) = waiter.wait()? {
        sleep(span);
    }
    Ok(())
}

impl<L: Handle, T: Timer> Acquire<L, T> {
    /// Waits for `cost` tokens of any limiter that takes bookings, borrowed or in an [`Arc`](std::sync::Arc), on any
    /// timer.
    ///
    #[cfg_attr(feature = "tokio", doc = "```")]
    #[cfg_attr(not(feature = "tokio"), doc = "```ignore")]
    /// use std::{sync::Arc, time::Duration};
    /// use tollgate::{Bucket, quota, wait::{Acquire, TokioTimer}};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    /// # runtime.block_on(async {
    /// let limit = Arc::new(Bucket::new(quota!("100/s burst 10")));
    /// let turn = Acquire::new(Arc::clone(&limit), 1, TokioTimer).within(Duration::from_secs(1));
    /// tokio::spawn(turn).await.unwrap()?;
    /// # Ok::<(), tollgate::Denied>(())
    /// # }).unwrap();
    /// ```
    pub fn new(limiter: L, cost: u64, timer: T) -> Self {
        let waiter = Waiter::new(limiter, cost, Patience::Until(Nanos::MAX));
        Self { waiter: Some(waiter), timer, sleep: None }
    }

    /// Refuses a wait of more than `longest`, counted from the first poll.
    pub fn within(self, longest: Duration) -> Self {
        self.patient(Patience::For(longest))
    }

    /// Refuses a wait that would end after the reading `deadline` of the limiter's clock. A deadline that has passed is
    /// refused whatever is there, with [`Denied::NotYet`] and the time at which the cost would fit.
    pub fn until(self, deadline: Nanos) -> Self {
        self.patient(Patience::Until(deadline))
    }

    fn patient(mut self, patience: Patience) -> Self {
        if let Some(waiter) = &mut self.waiter {
            waiter.be_patient(patience);
        }
        self
    }

    /// A poll of the sleep, if there is one.
    fn poll_sleep(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(sleep) = &mut self.sleep {
            ready!(Pin::new(sleep).poll(cx));
            self.sleep = None;
        }
        Poll::Ready(())
    }
}

/// Nothing in it is pinned: a [`Timer::Sleep`] is `Unpin`.
impl<L: Handle, T: Timer> Unpin for Acquire<L, T> {}

impl<L: Handle, T: Timer> Future for Acquire<L, T> {
    type Output = Result<(), Denied>;

    /// # Panics
    ///
    /// It has been ready before.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            ready!(this.poll_sleep(cx));
            let Some(waiter) = &mut this.waiter else { panic!("`Acquire` was polled after it was ready") };
            match waiter.wait() {
                Ok(Some(span)) => this.sleep = Some(this.timer.sleep(span)),
                Ok(None) => return this.finish(Ok(())),
                Err(denied) => return this.finish(Err(denied)),
            }
        }
    }
}

impl<L: Handle, T: Timer> Acquire<L, T> {
    fn finish(&mut self, answer: Result<(), Denied>) -> Poll<Result<(), Denied>> {
        self.waiter = None;
        Poll::Ready(answer)
    }
}

impl<L: Handle, T: Timer> fmt::Debug for Acquire<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match (&self.waiter, &self.sleep) {
            (None, _) => "ready",
            (Some(_), None) => "not polled",
            (Some(_), Some(_)) => "waiting",
        };
        f.debug_tuple("Acquire").field(&format_args!("{state}")).finish()
    }
}
