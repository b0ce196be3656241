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
    /// The future of [`Wait`](super::Wait): the turn, then the service's own, or a refusal.
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
            let served = match step.as_mut().project() {
                StepNow::Served { served } => return served.poll(context),
                StepNow::Waiting { turn, held } => {
                    let answer = ready!(turn.poll(context));
                    // It was there until now: the step is left with it.
                    let Some((mut service, request, refuse)) = held.take() else { return Poll::Pending };
                    match answer {
                        Ok(granted) => {
                            let grant = Open::new(granted);
                            Served::admitted(service.call(request), grant)
                        }
                        Err(refused) => Served::refused(refuse(&request, refused)),
                    }
                }
            };
            step.set(Step::Served { served });
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

impl<S: Service<Request>, T, R, Request, B, G: Grant> fmt::Debug for Waited<S, T, R, Request, B, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Step::Waiting { .. } => f.debug_tuple("Waited").field(&format_args!("waiting")).finish(),
            Step::Served { served } => f.debug_tuple("Waited").field(served).finish(),
        }
    }
}
