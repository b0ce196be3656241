//! The future of one entry.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::wait::queue::desk::Number;
use crate::wait::queue::shared::Shared;
use crate::wait::queue::{Entry, Refused};
use crate::wait::timer::Timer;

/// A future that is ready when its entry is served or refused; see [`Queue::acquire`](super::Queue::acquire). Polled
/// again after that, it stays pending.
#[must_use = "futures do nothing unless polled"]
pub struct Queued<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    shared: Arc<Shared<C, T>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    New(Entry, Nanos),
    Inside(Number),
    Over,
}

impl<C, T> Queued<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    pub(super) fn new(shared: Arc<Shared<C, T>>, entry: Entry) -> Self {
        let deadline = entry.deadline(shared.now());
        Self { shared, stage: Stage::New(entry, deadline) }
    }

    /// Its place, taken now if it has none yet; `None` once it is over.
    fn number(&mut self) -> Result<Option<Number>, Refused> {
        if let Stage::New(entry, deadline) = self.stage {
            self.stage = Stage::Inside(self.shared.enter(&entry, deadline)?);
        }
        match self.stage {
            Stage::Inside(number) => Ok(Some(number)),
            _ => Ok(None),
        }
    }
}

impl<C, T> Future for Queued<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    type Output = Result<(), Refused>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let answer = match this.number() {
            Ok(Some(number)) => this.shared.ask(number, context.waker()),
            Ok(None) => Poll::Pending,
            Err(refused) => Poll::Ready(Err(refused)),
        };
        if answer.is_ready() {
            this.stage = Stage::Over;
        }
        answer
    }
}

impl<C, T> Drop for Queued<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    fn drop(&mut self) {
        if let Stage::Inside(number) = self.stage {
            drop(self.shared.change(|desk| desk.leave(number)));
        }
    }
}

impl<C, T> fmt::Debug for Queued<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Queued").field(&self.stage).finish()
    }
}
