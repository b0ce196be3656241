//! Waiting before a service.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::Response;
use http_body::Body;
use tower_service::Service;

use super::admit::AdmitLater;
use super::body::Limited;
use super::future::Waited;
use super::grant::Grant;

/// A service whose requests wait for their turn, or are refused; made by [`WaitLayer`](super::WaitLayer).
/// Clones share the limit.
pub struct Wait<S, A, R> {
    inner: S,
    limit: Arc<A>,
    refuse: Arc<R>,
}

impl<S, A, R> Wait<S, A, R> {
    pub(super) fn new(inner: S, limit: Arc<A>, refuse: Arc<R>) -> Self {
        Self { inner, limit, refuse }
    }
}

impl<S, A, R, Request, B> Service<Request> for Wait<S, A, R>
where
    S: Service<Request, Response = Response<B>> + Clone,
    A: AdmitLater<Request>,
    A::Granted: Grant,
    R: Fn(&Request, A::Refused) -> Response<B>,
    B: Body,
{
    type Response = Response<Limited<B, A::Granted>>;
    type Error = S::Error;
    type Future = Waited<S, A::Turn, R, Request, B, A::Granted>;

    /// Always: a service that is ready may hold what others need, and this would hold it while it waits.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    /// A clone of the service goes along with the request, and is asked for readiness when it is its turn.
    fn call(&mut self, mut request: Request) -> Self::Future {
        let turn = self.limit.admit(&mut request);
        Waited::new(turn, self.inner.clone(), request, Arc::clone(&self.refuse))
    }
}

impl<S: Clone, A, R> Clone for Wait<S, A, R> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.limit), Arc::clone(&self.refuse))
    }
}

impl<S: fmt::Debug, A, R> fmt::Debug for Wait<S, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("inner", &self.inner).finish_non_exhaustive()
    }
}
