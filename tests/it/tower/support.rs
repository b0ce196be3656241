//! Services and bodies to be limited.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;

pub(crate) type Asked = Request<String>;

/// An error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Down;

pub(crate) type Answer = Result<Response<Frames>, Down>;

/// A body of these frames, in order; an error is one of them.
pub(crate) struct Frames {
    rest: VecDeque<Result<Frame<&'static [u8]>, Down>>,
    /// Whether it tells its end before it is asked once more.
    tells_its_end: bool,
    tells_its_size: bool,
}

impl Frames {
    pub(crate) fn of(chunks: &[&'static str]) -> Self {
        let rest = chunks.iter().map(|chunk| Ok(Frame::data(chunk.as_bytes()))).collect();
        Self { rest, tells_its_end: true, tells_its_size: true }
    }

    pub(crate) fn of_unknown_size(self) -> Self {
        Self { tells_its_size: false, ..self }
    }

    pub(crate) fn without_telling(self) -> Self {
        Self { tells_its_end: false, ..self }
    }

    pub(crate) fn then_fail(mut self) -> Self {
        self.rest.push_back(Err(Down));
        self
    }

    pub(crate) fn then_trailers(mut self, trailers: HeaderMap) -> Self {
        self.rest.push_back(Ok(Frame::trailers(trailers)));
        self
    }
}

impl Body for Frames {
    type Data = &'static [u8];
    type Error = Down;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.rest.pop_front())
    }

    fn is_end_stream(&self) -> bool {
        self.tells_its_end && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let data = self.rest.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        let bytes = data.map(|data| data.len() as u64).sum();
        if self.tells_its_size { SizeHint::with_exact(bytes) } else { SizeHint::new() }
    }
}

/// Answers what a function says, and counts how often it was called. A clone must be asked for readiness of
/// its own.
pub(crate) struct Serve<F> {
    answer: Arc<F>,
    calls: Arc<AtomicUsize>,
    is_ready: bool,
}

impl<F> Serve<F> {
    pub(crate) fn new(answer: F) -> Self {
        Self { answer: Arc::new(answer), calls: Arc::default(), is_ready: false }
    }

    pub(crate) fn calls(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.calls)
    }
}

impl<F> Clone for Serve<F> {
    fn clone(&self) -> Self {
        Self { answer: Arc::clone(&self.answer), calls: Arc::clone(&self.calls), is_ready: false }
    }
}

impl<F: Fn(Asked) -> Answer> Service<Asked> for Serve<F> {
    type Response = Response<Frames>;
    type Error = Down;
    type Future = Ready<Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Down>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Asked) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "it was called without being ready");
        self.calls.fetch_add(1, Ordering::Relaxed);
        ready((self.answer)(request))
    }
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Wakes {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) fn poll_ready<S: Service<Asked>>(
    service: &mut S,
    wakes: &Arc<Wakes>,
) -> Poll<Result<(), S::Error>> {
    service.poll_ready(&mut Context::from_waker(&Waker::from(Arc::clone(wakes))))
}

pub(crate) fn is_ready<S: Service<Asked>>(service: &mut S) -> bool {
    poll_ready(service, &Arc::default()).is_ready()
}

/// What comes at once.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ready) => ready,
        Poll::Pending => panic!("it is not there at once"),
    }
}

/// Readiness and a call, both at once.
pub(crate) fn call<S: Service<Asked>>(service: &mut S, text: &str) -> Result<S::Response, S::Error> {
    assert!(is_ready(service));
    now(service.call(Request::new(text.to_string())))
}

/// The next frame, at once.
pub(crate) fn frame<B: Body + Unpin>(body: &mut B) -> Option<Result<Frame<B::Data>, B::Error>> {
    match Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(frame) => frame,
        Poll::Pending => panic!("it is not there at once"),
    }
}

pub(crate) fn refusal() -> Response<Frames> {
    Response::builder().status(429).body(Frames::of(&["no"])).unwrap()
}
