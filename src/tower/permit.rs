//! Permits around a service.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::http::Response;
use http_body::Body;
use tower_service::Service;

use crate::inflight::{AcquireOwned, InFlight, NoPermit, OwnedPermit};

use super::body::Limited;
use super::future::Served;
use super::grant::Open;

/// A service whose requests hold permits; made by [`PermitLayer`](super::PermitLayer). Clones share the
/// limit, and each waits for a permit of its own.
pub struct Permits<S, R> {
    inner: S,
    limit: Arc<InFlight>,
    refuse: Arc<R>,
    is_shedding: bool,
    promise: Promise,
}

/// What readiness has come to.
#[derive(Debug)]
enum Promise {
    /// Nobody has asked.
    None,
    /// In line.
    Waiting(AcquireOwned),
    /// For the next call.
    Permit(OwnedPermit),
    /// The next call is refused.
    Refusal(NoPermit),
}

impl<S, R> Permits<S, R> {
    pub(super) fn new(inner: S, limit: Arc<InFlight>, refuse: Arc<R>, is_shedding: bool) -> Self {
        Self { inner, limit, refuse, is_shedding, promise: Promise::None }
    }

    /// Waits until there is something to promise.
    fn poll_promise(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if matches!(self.promise, Promise::None) {
            self.promise = Promise::Waiting(self.limit.acquire_owned());
        }
        if let Promise::Waiting(turn) = &mut self.promise {
            self.promise = match ready!(Pin::new(turn).poll(context)) {
                Ok(permit) => Promise::Permit(permit),
                Err(no) => Promise::Refusal(no),
            };
        }
        Poll::Ready(())
    }

    /// What was promised; without a promise, what is there now.
    fn redeem(&mut self) -> Result<OwnedPermit, NoPermit> {
        match mem::replace(&mut self.promise, Promise::None) {
            Promise::Permit(permit) => Ok(permit),
            Promise::Refusal(no) => Err(no),
            Promise::None => self.limit.try_acquire_owned(),
            Promise::Waiting(turn) => {
                drop(turn);
                self.limit.try_acquire_owned()
            }
        }
    }
}

impl<S, R, Request, B> Service<Request> for Permits<S, R>
where
    S: Service<Request, Response = Response<B>>,
    R: Fn(&Request, NoPermit) -> Response<B>,
    B: Body,
{
    type Response = Response<Limited<B, OwnedPermit>>;
    type Error = S::Error;
    type Future = Served<S::Future, B, OwnedPermit>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if !self.is_shedding {
            ready!(self.poll_promise(context));
            if matches!(self.promise, Promise::Refusal(_)) {
                return Poll::Ready(Ok(()));
            }
        }
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.redeem() {
            Ok(permit) => {
                let grant = Open::new(permit);
                Served::admitted(self.inner.call(request), grant)
            }
            Err(no) => Served::refused((self.refuse)(&request, no)),
        }
    }
}

/// What has been promised to one is not promised to its clone.
impl<S: Clone, R> Clone for Permits<S, R> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.limit), Arc::clone(&self.refuse), self.is_shedding)
    }
}

impl<S: fmt::Debug, R> fmt::Debug for Permits<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits")
            .field("inner", &self.inner)
            .field("promise", &self.promise)
            .finish_non_exhaustive()
    }
}
