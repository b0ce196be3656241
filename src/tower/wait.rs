//! Waiting before a service.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use crate::decision::Denied;
use crate::wait::{Acquire, Handle, Timer};

use super::future::Waited;
use super::layer::Terms;

/// A service whose requests wait for their tokens; made by [`WaitLayer`](super::WaitLayer). Clones share the limit.
///
/// Requests and responses may be of any kind.
pub struct Wait<S, L, T, C, R> {
    inner: S,
    limit: L,
    terms: Arc<Terms<T, C, R>>,
}

impl<S, L, T, C, R> Wait<S, L, T, C, R> {
    pub(super) fn new(inner: S, limit: L, terms: Arc<Terms<T, C, R>>) -> Self {
        Self { inner, limit, terms }
    }
}

impl<S, L, T, C, R, Request> Service<Request> for Wait<S, L, T, C, R>
where
    S: Service<Request> + Clone,
    L: Handle + Clone,
    T: Timer + Clone,
    C: Fn(&Request) -> u64,
    R: Fn(&Request, Denied) -> S::Response,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Waited<S, L, T, C, R, Request>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    /// The service that is ready goes along with the request, and a clone of it takes its place.
    fn call(&mut self, request: Request) -> Self::Future {
        let clone = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, clone);
        let cost = (self.terms.cost)(&request);
        if cost == 0 {
            return Waited::free(ready.call(request));
        }
        let turn = Acquire::new(self.limit.clone(), cost, self.terms.timer.clone());
        Waited::waiting(turn.within(self.terms.longest), ready, request, Arc::clone(&self.terms))
    }
}

impl<S: Clone, L: Clone, T, C, R> Clone for Wait<S, L, T, C, R> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.limit.clone(), Arc::clone(&self.terms))
    }
}

impl<S: fmt::Debug, L, T, C, R> fmt::Debug for Wait<S, L, T, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("inner", &self.inner).finish_non_exhaustive()
    }
}
