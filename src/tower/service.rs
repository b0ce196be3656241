//! A limit around a service.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::Response;
use http_body::Body;
use tower_service::Service;

use super::admit::Admit;
use super::body::Limited;
use super::future::Served;
use super::grant::{Grant, Open};

/// A service whose requests are admitted or refused; made by [`LimitLayer`](super::LimitLayer). Clones share
/// the limit.
pub struct Limit<S, A, R> {
    inner: S,
    limit: Arc<A>,
    refuse: Arc<R>,
}

impl<S, A, R> Limit<S, A, R> {
    pub(super) fn new(inner: S, limit: Arc<A>, refuse: Arc<R>) -> Self {
        Self { inner, limit, refuse }
    }
}

impl<S, A, R, Request, B> Service<Request> for Limit<S, A, R>
where
    S: Service<Request, Response = Response<B>>,
    A: Admit<Request>,
    A::Granted: Grant,
    R: Fn(&Request, A::Refused) -> Response<B>,
    B: Body,
{
    type Response = Response<Limited<B, A::Granted>>;
    type Error = S::Error;
    type Future = Served<S::Future, B, A::Granted>;

    #[inline]
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    #[inline]
    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.limit.admit(&mut request) {
            Ok(granted) => {
                // Before the call, which may panic.
                let grant = Open::new(granted);
                Served::admitted(self.inner.call(request), grant)
            }
            Err(refused) => Served::refused((self.refuse)(&request, refused)),
        }
    }
}

impl<S: Clone, A, R> Clone for Limit<S, A, R> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.limit), Arc::clone(&self.refuse))
    }
}

impl<S: fmt::Debug, A, R> fmt::Debug for Limit<S, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit").field("inner", &self.inner).finish_non_exhaustive()
    }
}
