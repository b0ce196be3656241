//! `wait`: bookings, waiting in async and blocking form, even spacing, jitter.

pub(crate) mod acquire;
mod booking;
mod jitter;
mod pace;
pub(crate) mod queue;
mod races;
mod schedules;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tollgate::wait::Timer;
use tollgate::{Bucket, Clock, Nanos, Quota};

/// Tokio's time, which the tests pause.
#[derive(Clone, Copy)]
pub(crate) struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

/// Runs a test in tokio's paused time, with a limiter whose clock that is.
pub(crate) fn in_paused_time<T>(quota: Quota, test: impl AsyncFnOnce(Bucket<Paused>) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let local = tokio::task::LocalSet::new();
    runtime.unwrap().block_on(
        local.run_until(async move { test(Bucket::with_clock(quota, Paused(Instant::now()))).await }),
    )
}

/// Tokio's timer, which counts how many sleeps there are now, were at most at once, and were made.
#[derive(Default)]
pub(crate) struct Counting {
    now: Cell<usize>,
    most: Cell<usize>,
    made: Cell<usize>,
}

impl Counting {
    pub(crate) fn most(&self) -> usize {
        self.most.get()
    }

    pub(crate) fn made(&self) -> usize {
        self.made.get()
    }

    pub(crate) fn now(&self) -> usize {
        self.now.get()
    }
}

impl<'a> Timer for &'a Counting {
    type Sleep = Counted<'a>;

    fn sleep(&self, span: Duration) -> Counted<'a> {
        self.made.set(self.made.get() + 1);
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        Counted { sleep: Box::pin(tokio::time::sleep(span)), counts: self }
    }
}

pub(crate) struct Counted<'a> {
    sleep: Pin<Box<Sleep>>,
    counts: &'a Counting,
}

impl Future for Counted<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.counts.now.set(self.counts.now.get() - 1);
    }
}

/// Counts the polls of a future.
pub(crate) struct Polled<F> {
    future: F,
    polls: usize,
}

impl<F> Polled<F> {
    pub(crate) fn new(future: F) -> Self {
        Polled { future, polls: 0 }
    }
}

impl<F: Future + Unpin> Future for Polled<F> {
    type Output = (F::Output, usize);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.polls += 1;
        Pin::new(&mut self.future).poll(cx).map(|output| (output, self.polls))
    }
}
