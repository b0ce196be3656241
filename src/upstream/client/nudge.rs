//! Wakes the first in line before its time when the mirror has learnt something.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::sync::{Mutex, lock};

/// A count of what was learnt, and who wants to know. Only the first in line rests on it, so one waker is enough.
#[derive(Debug)]
pub(super) struct Nudge(Mutex<Learnt>);

#[derive(Debug)]
struct Learnt {
    times: u64,
    waker: Option<Waker>,
}

impl Nudge {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Learnt { times: 0, waker: None }))
    }

    /// How often something was learnt; to be read before the mirror is asked, so that nothing is missed in between.
    pub(super) fn times(&self) -> u64 {
        lock(&self.0).times
    }

    /// Something was learnt.
    pub(super) fn ring(&self) {
        let waker = {
            let mut learnt = lock(&self.0);
            learnt.times = learnt.times.wrapping_add(1);
            learnt.waker.take()
        };
        // Not under the lock: a waker may run the task at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll_since(&self, times: u64, context: &Context<'_>) -> Poll<()> {
        let mut learnt = lock(&self.0);
        if learnt.times != times {
            return Poll::Ready(());
        }
        if !learnt.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            learnt.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

/// Rests until a sleep is over or something was learnt since.
pub(super) struct Rest<'n, S> {
    pub(super) sleep: S,
    pub(super) nudge: &'n Nudge,
    pub(super) since: u64,
}

impl<S: Future<Output = ()> + Unpin> Future for Rest<'_, S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.nudge.poll_since(self.since, context) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Pin::new(&mut self.sleep).poll(context),
        }
    }
}
