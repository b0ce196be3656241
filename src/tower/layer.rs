//! The layers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

use crate::inflight::InFlight;
use crate::limiter::Limiter;

use super::admit::{Awaiting, Costing, Each};
use super::permit::Permits;
use super::service::Limit;
use super::wait::Wait;

/// Asks a limit for each request, and answers at once for the service where that refuses.
///
/// Readiness is the service's own, and nothing else is promised by it: a limit that depends on the request is
/// asked when there is one. A refused request does not reach the service.
pub struct LimitLayer<A, R> {
    limit: Arc<A>,
    refuse: Arc<R>,
}

/// Lets each request wait for its turn: for its tokens, in a queue, for the answer of a server.
///
/// It is always ready. Each request has a clone of the service, which is asked for readiness when it is the
/// request's turn, and not before: one that is ready may hold a permit, as that of [`PermitLayer`] does. If
/// its readiness is an error, that is what the call comes to.
pub struct WaitLayer<A, R> {
    limit: Arc<A>,
    refuse: Arc<R>,
}

/// Lets no more requests run at once than there are permits, until the bodies of their responses end.
///
/// A service is ready when it has a permit, and keeps it for the call that follows; dropped before that, it
/// gives the permit back. So what is ready can be served, and no clone takes what another has been promised.
/// One who waits for readiness stands in the line of the [`InFlight`], first come, first served, and is woken
/// when it is its turn, not before. A service that is ready and neither called nor dropped keeps a permit
/// from others.
pub struct PermitLayer<R> {
    limit: Arc<InFlight>,
    refuse: Arc<R>,
    is_shedding: bool,
}

impl<A, R> LimitLayer<A, R> {
    /// `admit` decides (see [`Admit`](super::Admit)), and who is refused gets what `refuse` makes of the
    /// request and the refusal.
    pub fn new(admit: A, refuse: R) -> Self {
        Self { limit: Arc::new(admit), refuse: Arc::new(refuse) }
    }
}

impl<L: Limiter, R> LimitLayer<Each<L>, R> {
    /// One token of the limiter for each request.
    pub fn by(limiter: L, refuse: R) -> Self {
        Self::new(Each::new(limiter), refuse)
    }
}

impl<L: Limiter, C, R> LimitLayer<Costing<L, C>, R> {
    /// So many tokens of the limiter as `cost` says for the request; 0 is free.
    pub fn by_cost(limiter: L, cost: C, refuse: R) -> Self {
        Self::new(Costing::new(limiter, cost), refuse)
    }
}

impl<A, R> WaitLayer<A, R> {
    /// `admit` decides (see [`AdmitLater`](super::AdmitLater)), and who is refused gets what `refuse` makes
    /// of the request and the refusal.
    pub fn new(admit: A, refuse: R) -> Self {
        Self { limit: Arc::new(admit), refuse: Arc::new(refuse) }
    }
}

impl<L, T, C, R> WaitLayer<Awaiting<L, T, C>, R> {
    /// `cost` tokens for each request, 0 is free, for which it waits on the timer at most `longest`; a longer
    /// wait is refused at once. The limiter is one that takes bookings, in an [`Arc`]. The order is that of
    /// the first polls.
    pub fn by(limiter: L, timer: T, longest: Duration, cost: C, refuse: R) -> Self {
        Self::new(Awaiting::new(limiter, timer, longest, cost), refuse)
    }
}

impl<R> PermitLayer<R> {
    /// Waits for a permit to be ready. If the line is full, the service is ready to refuse.
    pub fn new(limit: Arc<InFlight>, refuse: R) -> Self {
        Self { limit, refuse: Arc::new(refuse), is_shedding: false }
    }

    /// Does not wait: readiness promises nothing, and a call without a permit is refused.
    pub fn shedding(limit: Arc<InFlight>, refuse: R) -> Self {
        Self { limit, refuse: Arc::new(refuse), is_shedding: true }
    }
}

impl<S, A, R> Layer<S> for LimitLayer<A, R> {
    type Service = Limit<S, A, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Limit::new(inner, Arc::clone(&self.limit), Arc::clone(&self.refuse))
    }
}

impl<S, A, R> Layer<S> for WaitLayer<A, R> {
    type Service = Wait<S, A, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Wait::new(inner, Arc::clone(&self.limit), Arc::clone(&self.refuse))
    }
}

impl<S, R> Layer<S> for PermitLayer<R> {
    type Service = Permits<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Permits::new(inner, Arc::clone(&self.limit), Arc::clone(&self.refuse), self.is_shedding)
    }
}

impl<A, R> Clone for LimitLayer<A, R> {
    fn clone(&self) -> Self {
        Self { limit: Arc::clone(&self.limit), refuse: Arc::clone(&self.refuse) }
    }
}

impl<A, R> Clone for WaitLayer<A, R> {
    fn clone(&self) -> Self {
        Self { limit: Arc::clone(&self.limit), refuse: Arc::clone(&self.refuse) }
    }
}

impl<R> Clone for PermitLayer<R> {
    fn clone(&self) -> Self {
        let (limit, refuse) = (Arc::clone(&self.limit), Arc::clone(&self.refuse));
        Self { limit, refuse, is_shedding: self.is_shedding }
    }
}

impl<A, R> fmt::Debug for LimitLayer<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitLayer").finish_non_exhaustive()
    }
}

impl<A, R> fmt::Debug for WaitLayer<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitLayer").finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for PermitLayer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitLayer").field("limit", &self.limit).finish_non_exhaustive()
    }
}
