//! Requests on their way.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::decision::Denied;
use crate::wait::{Acquire, Handle, Timer};

use super::body::Limited;
use super::grant::{End, Grant, Open};
use super::layer::Terms;

pin_project! {
    /// The future of [`Limit`](super::Limit) and [`Permits`](super::Permits): the service's own, or a refusal.
    pub struct Served<F, B, G: Grant> {
        #[pin]
        state: State<F, B, G>,
    }
}

pin_project! {
    #[project = Now]
    enum State<F, B, G: Grant> {
        Admitted { #[pin] future: F, grant: Open<G> },
        Refused { response: Option<Response<B>> },
    }
}

impl<F, B, G: Grant> Served<F, B, G> {
    #[inline]
    pub(super) fn admitted(future: F, grant: G) -> Self {
        Self { state: State::Admitted { future, grant: Open::new(grant) } }
    }

    #[cold]
    pub(super) fn refused(response: Response<B>) -> Self {
        Self { state: State::Refused { response: Some(response) } }
    }
}

impl<F, E, B: Body, G: Grant> Future for Served<F, B, G>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Limited<B, G>>, E>;

    /// A refusal is ready once; polled again, it stays pending, as nobody should.
    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            Now::Admitted { future, grant } => match ready!(future.poll(context)) {
                Ok(response) => {
                    grant.answered(response.status(), response.headers());
                    let grant = grant.take();
                    Poll::Ready(Ok(response.map(|body| Limited::new(body, grant))))
                }
                Err(error) => {
                    grant.end(End::ServiceFailed);
                    Poll::Ready(Err(error))
                }
            },
            Now::Refused { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.map(|body| Limited::new(body, Open::nothing())))),
                None => Poll::Pending,
            },
        }
    }
}

pin_project! {
    /// The future of [`Wait`](super::Wait). It takes its place when it is first polled.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, it gives its place back; dropped later, its tokens are spent.
    pub struct Waited<S, L, T, C, R, Request>
    where
        S: Service<Request>,
        L: Handle,
        T: Timer,
    {
        #[pin]
        state: Step<S, L, T, C, R, Request>,
    }
}

pin_project! {
    #[project = StepNow]
    enum Step<S, L, T, C, R, Request>
    where
        S: Service<Request>,
        L: Handle,
        T: Timer,
    {
        Waiting { turn: Acquire<L, T>, held: Option<(S, Request, Arc<Terms<T, C, R>>)> },
        Serving { #[pin] future: S::Future },
    }
}

impl<S, L, T, C, R, Request> Waited<S, L, T, C, R, Request>
where
    S: Service<Request>,
    L: Handle,
    T: Timer,
{
    pub(super) fn free(future: S::Future) -> Self {
        Self { state: Step::Serving { future } }
    }

    pub(super) fn waiting(
        turn: Acquire<L, T>,
        service: S,
        request: Request,
        terms: Arc<Terms<T, C, R>>,
    ) -> Self {
        Self { state: Step::Waiting { turn, held: Some((service, request, terms)) } }
    }
}

impl<S, L, T, C, R, Request> Future for Waited<S, L, T, C, R, Request>
where
    S: Service<Request>,
    L: Handle,
    T: Timer,
    R: Fn(&Request, Denied) -> S::Response,
{
    type Output = Result<S::Response, S::Error>;

    /// Polled again after a refusal, it stays pending, as nobody should.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let future = match state.as_mut().project() {
                StepNow::Serving { future } => return future.poll(context),
                StepNow::Waiting { held: None, .. } => return Poll::Pending,
                StepNow::Waiting { turn, held } => {
                    let answer = ready!(Pin::new(turn).poll(context));
                    let Some((mut service, request, terms)) = held.take() else { continue };
                    match answer {
                        Ok(()) => service.call(request),
                        Err(denied) => return Poll::Ready(Ok((terms.refuse)(&request, denied))),
                    }
                }
            };
            state.set(Step::Serving { future });
        }
    }
}

impl<F, B, G: Grant> fmt::Debug for Served<F, B, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Admitted { .. } => "admitted",
            State::Refused { .. } => "refused",
        };
        f.debug_tuple("Served").field(&format_args!("{state}")).finish()
    }
}

impl<S: Service<Request>, L: Handle, T: Timer, C, R, Request> fmt::Debug for Waited<S, L, T, C, R, Request> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            Step::Waiting { .. } => "waiting",
            Step::Serving { .. } => "serving",
        };
        f.debug_tuple("Waited").field(&format_args!("{state}")).finish()
    }
}
