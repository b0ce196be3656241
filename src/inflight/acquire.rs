//! Waiting in line for a permit.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::line::Waiter;
use super::slot::Answer;
use super::{InFlight, NoPermit, OwnedPermit, Permit};

impl InFlight {
    /// Waits in line for a permit.
    ///
    /// ```
    /// # use tollgate::inflight::InFlight;
    /// # async fn work(limit: &InFlight) -> Result<(), tollgate::inflight::NoPermit> {
    /// let permit = limit.acquire().await?;
    /// // ... the work, as long as the permit lives ...
    /// drop(permit);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoPermit::LineFull`] at once if the line is as long as it may be, or later, if someone of a higher class came and
    /// needed the place of the last.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the line. If a permit had been handed to it by then, the permit goes to the next in line,
    /// or back; none is lost. Asking again is asking from the end of the line.
    ///
    /// # Fairness
    ///
    /// First come, first served within a [class](Acquire::class), by the time of the first poll. Nobody is passed over for
    /// its weight: the first in line waits until its weight fits, and the others behind it.
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_n(1)
    }

    /// Waits in line for a permit of `weight`.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`NoPermit::OverLimit`] for a weight above the limit, at once or, if the limit has
    /// been lowered meanwhile, when its turn comes; [`NoPermit::ZeroWeight`].
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Fairness
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_n(&self, weight: u32) -> Acquire<'_> {
        Acquire(Turn::new(self, weight))
    }

    /// As [`acquire`](Self::acquire), a permit that can be sent anywhere.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Fairness
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_owned(self: &Arc<Self>) -> AcquireOwned {
        self.acquire_n_owned(1)
    }

    /// As [`acquire_n`](Self::acquire_n), a permit that can be sent anywhere.
    ///
    /// # Errors
    ///
    /// As [`acquire_n`](Self::acquire_n).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Fairness
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_n_owned(self: &Arc<Self>, weight: u32) -> AcquireOwned {
        AcquireOwned(Turn::new(Arc::clone(self), weight))
    }

    /// Waits in line for a permit of `weight`, but no longer than `until` takes: a sleep, a signal to stop.
    ///
    /// A permit that is there when both are ready is given.
    ///
    /// # Errors
    ///
    /// As [`acquire_n`](Self::acquire_n); [`NoPermit::TimedOut`] when `until` was ready first.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Fairness
    ///
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_until(
        &self,
        weight: u32,
        until: impl Future<Output = ()>,
    ) -> Result<Permit<'_>, NoPermit> {
        let (mut turn, mut until) = (self.acquire_n(weight), pin!(until));
        poll_fn(|context| match Pin::new(&mut turn).poll(context) {
            Poll::Pending => until.as_mut().poll(context).map(|()| Err(NoPermit::TimedOut)),
            ready => ready,
        })
        .await
    }
}

/// The future of [`InFlight::acquire`].
#[derive(Debug)]
#[must_use = "it waits only while it is polled"]
pub struct Acquire<'a>(Turn<&'a InFlight>);

/// The future of [`InFlight::acquire_owned`].
#[derive(Debug)]
#[must_use = "it waits only while it is polled"]
pub struct AcquireOwned(Turn<Arc<InFlight>>);

impl Acquire<'_> {
    /// Stands in line in this class: 0 is the highest and where everyone stands unless told otherwise, above 7 counts as 7.
    ///
    /// While several classes wait, class `k` is served in proportion to `2^-k`, so the higher come sooner and none
    /// starves.
    pub fn class(mut self, class: u8) -> Self {
        self.0.class = class;
        self
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = Result<Permit<'a>, NoPermit>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let turn = &mut self.0;
        turn.poll(context).map(|taken| taken.map(|()| Permit::taken(turn.limit, turn.weight)))
    }
}

impl AcquireOwned {
    /// Stands in line in this class: 0 is the highest and where everyone stands unless told otherwise, above 7 counts as 7.
    ///
    /// While several classes wait, class `k` is served in proportion to `2^-k`, so the higher come sooner and none
    /// starves.
    pub fn class(mut self, class: u8) -> Self {
        self.0.class = class;
        self
    }
}

impl Future for AcquireOwned {
    type Output = Result<OwnedPermit, NoPermit>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let turn = &mut self.0;
        turn.poll(context)
            .map(|taken| taken.map(|()| OwnedPermit::taken(Arc::clone(&turn.limit), turn.weight)))
    }
}

/// One caller's way through the line.
struct Turn<L: Deref<Target = InFlight>> {
    limit: L,
    weight: u32,
    class: u8,
    /// From the first poll that found no permit until the answer.
    waiter: Option<Waiter>,
}

impl<L: Deref<Target = InFlight>> Turn<L> {
    fn new(limit: L, weight: u32) -> Self {
        Self { limit, weight, class: 0, waiter: None }
    }

    fn poll(&mut self, context: &Context<'_>) -> Poll<Answer> {
        if self.waiter.is_none() {
            match self.limit.take(self.weight) {
                Err(NoPermit::InUse { .. } | NoPermit::OthersFirst { .. }) => {}
                settled => return Poll::Ready(settled),
            }
            let (waiter, displaced) = self.limit.enter(self.weight, self.class)?;
            // Kept before anyone is woken: should that panic, the place is given up with this.
            self.waiter = Some(waiter);
            if let Some(displaced) = displaced {
                displaced.wake();
            }
            self.limit.hand_over();
        }
        let polled = self.waiter.as_ref().map_or(Poll::Pending, |waiter| waiter.slot.poll(context));
        if polled.is_ready() {
            self.waiter = None;
        }
        polled
    }
}

impl<L: Deref<Target = InFlight>> Drop for Turn<L> {
    fn drop(&mut self) {
        if let Some(waiter) = &self.waiter {
            self.limit.leave(waiter, self.weight);
        }
    }
}

impl<L: Deref<Target = InFlight>> fmt::Debug for Turn<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("weight", &self.weight)
            .field("class", &self.class)
            .field("is_in_line", &self.waiter.is_some())
            .finish_non_exhaustive()
    }
}
