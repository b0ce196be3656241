//! A future polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future, and how often it was woken. Dropping it cancels it.
pub(crate) struct Task<F: Future> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<F: Future> Task<F> {
    /// Not polled yet.
    pub(crate) fn new(future: F) -> Self {
        Self { future: Box::pin(future), woken: Arc::default() }
    }

    /// Polled once, and not ready.
    pub(crate) fn pending(future: F) -> Self {
        let mut task = Self::new(future);
        assert!(task.poll().is_none(), "ready at once");
        task
    }

    pub(crate) fn poll(&mut self) -> Option<F::Output> {
        polled(self.future.as_mut(), &self.woken)
    }

    /// Polls another future as this task.
    pub(crate) fn polls<G: Future>(&self, future: Pin<&mut G>) -> Option<G::Output> {
        polled(future, &self.woken)
    }

    /// How often it was woken.
    pub(crate) fn wakes(&self) -> u64 {
        self.woken.0.load(Ordering::SeqCst)
    }
}

fn polled<F: Future>(future: Pin<&mut F>, woken: &Arc<Woken>) -> Option<F::Output> {
    let waker = Waker::from(Arc::clone(woken));
    match future.poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
