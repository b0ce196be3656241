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

use super::body::Limited;
use super::grant::{End, Grant, Open};

pin_project! {
    /// The future of [`Limit`](super::Limit) and [`Permits`](super::Permits): the service's own, or a
    /// refusal.
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
    pub(super) fn admitted(future: F, grant: Open<G>) -> Self {
        Self { state: State::Admitted { future, grant } }
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
                    Poll::Ready(Ok(Limited::response(response, grant.take())))
                }
                Err(error) => {
                    grant.end(End::ServiceFailed);
                    Poll::Ready(Err(error))
                }
            },
            Now::Refused { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.map(Limited::from))),
                None => Poll::Pending,
            },
        }
    }
}

pin_project! {
    /// The future of [`Wait`](super::Wait): the turn, then the service's readiness and its future, or a
    /// refusal.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, it takes nothing; dropped later, what it was granted has ended.
    pub struct Waited<S, T, R, Request, B, G>
    where
        S: Service<Request>,
        G: Grant,
    {
        #[pin]
        step: Step<S, T, R, Request, B, G>,
    }
}

pin_project! {
    #[project = StepNow]
    enum Step<S, T, R, Request, B, G>
    where
        S: Service<Request>,
        G: Grant,
    {
        Waiting { #[pin] turn: T, held: Option<(S, Request, Arc<R>)> },
        // The service is asked whether it is ready.
        Granted { held: Option<(S, Request)>, grant: Open<G> },
        Served { #[pin] served: Served<S::Future, B, G> },
    }
}

impl<S: Service<Request>, T, R, Request, B, G: Grant> Waited<S, T, R, Request, B, G> {
    pub(super) fn new(turn: T, service: S, request: Request, refuse: Arc<R>) -> Self {
        Self { step: Step::Waiting { turn, held: Some((service, request, refuse)) } }
    }
}

impl<S, T, R, Request, B, G, E> Future for Waited<S, T, R, Request, B, G>
where
    S: Service<Request, Response = Response<B>>,
    T: Future<Output = Result<G, E>>,
    R: Fn(&Request, E) -> Response<B>,
    B: Body,
    G: Grant,
{
    type Output = Result<Response<Limited<B, G>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut step = self.project().step;
        loop {
            // What is held was there until now: the step is left with it.
            let next = match step.as_mut().project() {
                StepNow::Waiting { turn, held } => {
                    let answer = ready!(turn.poll(context));
                    let Some((service, request, refuse)) = held.take() else { return Poll::Pending };
                    match answer.map(Open::new) {
                        Ok(grant) => Step::Granted { held: Some((service, request)), grant },
                        Err(no) => Step::Served { served: Served::refused(refuse(&request, no)) },
                    }
                }
                StepNow::Granted { held, grant } => match ready!(until_ready(held, context)) {
                    Ok((mut service, request)) => {
                        // Before the call, which may panic.
                        let grant = grant.take();
                        Step::Served { served: Served::admitted(service.call(request), grant) }
                    }
                    Err(error) => {
                        grant.end(End::ServiceFailed);
                        return Poll::Ready(Err(error));
                    }
                },
                StepNow::Served { served } => return served.poll(context),
            };
            step.set(next);
        }
    }
}

/// The service when it is ready, and its request. One that has failed is not asked again.
fn until_ready<S: Service<Request>, Request>(
    held: &mut Option<(S, Request)>,
    context: &mut Context<'_>,
) -> Poll<Result<(S, Request), S::Error>> {
    let Some((service, _)) = held else { return Poll::Pending };
    let ready = ready!(service.poll_ready(context));
    let Some(held) = held.take() else { return Poll::Pending };
    Poll::Ready(ready.map(|()| held))
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

impl<S: Service<Request>, T, R, Request, B, G: Grant> fmt::Debug for Waited<S, T, R, Request, B, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Step::Waiting { .. } => f.debug_tuple("Waited").field(&format_args!("waiting")).finish(),
            Step::Granted { .. } => f.debug_tuple("Waited").field(&format_args!("granted")).finish(),
            Step::Served { served } => f.debug_tuple("Waited").field(served).finish(),
        }
    }
}
