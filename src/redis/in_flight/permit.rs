//! Permits: what is in use, until they are given back or their leases end.

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::time::Instant;

use redis::aio::ConnectionLike;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::RedisInFlight;
use super::name::Name;
use super::refused::{LeaseLost, NotRenewed};
use crate::redis::error::StoreError;

/// Leave to be in flight, until its lease ends.
///
/// [Released](Self::release), it comes back at once, and the caller knows. Dropped, it is given back by a
/// task of its own if the thread has a runtime of tokio's, and nobody waits for that; without one, or if the
/// server cannot be reached, it comes back when its lease ends.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct RedisPermit<C: ConnectionLike + Clone + Send + Sync + 'static> {
    of: RedisInFlight<C>,
    name: Name,
    /// By this process's clock, before which the lease does not end.
    ends: Instant,
    /// Whether the server may know it.
    held: bool,
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisPermit<C> {
    /// A lease begins when the server decides, so not before it was asked.
    pub(super) fn new(of: RedisInFlight<C>, name: Name, asked: Instant) -> Self {
        let ends = asked + of.lease();
        Self { of, name, ends, held: true }
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Leaves nothing to give back.
    pub(super) fn forget(mut self) {
        self.held = false;
    }

    /// The permits it stands for.
    pub fn weight(&self) -> u32 {
        self.name.weight
    }

    /// For at least so long it is still held, if the server's clock does not step; zero if the lease may be
    /// over, or [is lost](NotRenewed::Lost).
    pub fn remaining(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Begins its lease anew.
    ///
    /// # Errors
    ///
    /// [`NotRenewed::Lost`]: the lease is over, and somebody else may have the permits.
    /// [`NotRenewed::Store`]: it is not known whether it was renewed; it is held for what
    /// [remained](Self::remaining).
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have been renewed.
    pub async fn renew(&mut self) -> Result<(), NotRenewed> {
        let asked = Instant::now();
        match self.of.ask("renew", self.name(), &[self.of.lease_micros()]).await? {
            (1, _) => {
                self.ends = self.ends.max(asked + self.of.lease());
                Ok(())
            }
            _ => {
                (self.held, self.ends) = (false, asked);
                Err(LeaseLost.into())
            }
        }
    }

    /// Renews it every third of the lease while the work runs. An answer is waited for no longer than the
    /// lease lasts, whatever the deadline is.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`]: it could not be renewed before the lease ended. The work is dropped where it stands.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the work is dropped, and the permit is held for what [remains](Self::remaining).
    pub async fn renew_during<W: Future>(&mut self, work: W) -> Result<W::Output, LeaseLost> {
        let (mut work, mut lost) = (pin!(work), pin!(self.renew_until_lost()));
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => lost.as_mut().poll(context).map(Err),
        })
        .await
    }

    /// Gives it back, and tells whether it was still held.
    ///
    /// # Errors
    ///
    /// The server gave no answer. It is tried once more, as if the permit was dropped: to give back twice is
    /// to give back once.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it is as if the permit was.
    pub async fn release(mut self) -> Result<bool, StoreError> {
        let (done, _) = self.of.ask("release", self.name(), &[]).await?;
        self.held = false;
        Ok(done == 1)
    }

    async fn renew_until_lost(&mut self) -> LeaseLost {
        loop {
            sleep((self.of.lease() / 3).min(self.remaining())).await;
            match timeout(self.remaining(), self.renew()).await {
                Ok(Err(NotRenewed::Lost(lost))) => return lost,
                Err(_) => return LeaseLost,
                Ok(Err(NotRenewed::Store(_))) if self.remaining().is_zero() => return LeaseLost,
                Ok(_) => {}
            }
        }
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Drop for RedisPermit<C> {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let (of, name) = (self.of.clone(), self.name.clone());
            // If it fails, the lease ends.
            runtime.spawn(async move { of.ask("release", name.as_str(), &[]).await.map(drop) });
        }
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> fmt::Debug for RedisPermit<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisPermit")
            .field("of", &self.of)
            .field("weight", &self.weight())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
