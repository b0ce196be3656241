//! A body that holds a grant until its end.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::Response;
use ::http::header::CONTENT_LENGTH;
use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::grant::{End, Grant, Open};

pin_project! {
    /// The body of a response, with what the limit gave out for it: held until the last frame has been taken,
    /// the body fails, or it is dropped. A body that is empty from the start holds nothing.
    ///
    /// Servers do not ask for more than trailers, or than the length that the response tells. Dropped then,
    /// the body was complete.
    pub struct Limited<B, G: Grant> {
        #[pin]
        body: B,
        grant: Open<G>,
        // Bytes that are still to be sent, if their number is known.
        left: Option<u64>,
    }
}

impl<B: Body, G: Grant> Limited<B, G> {
    /// The response, with its body.
    pub(super) fn response(response: Response<B>, grant: Open<G>) -> Response<Self> {
        let length = response.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        response.map(|body| Self::new(body, length, grant))
    }

    /// Without a length from the response servers go by that of the body.
    fn new(body: B, length: Option<u64>, mut grant: Open<G>) -> Self {
        if body.is_end_stream() {
            grant.end(End::Complete);
        }
        let left = length.or_else(|| body.size_hint().exact());
        grant.left(left);
        Self { body, grant, left }
    }
}

impl<B: Body, G: Grant> Body for Limited<B, G> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(context));
        match &frame {
            None => this.grant.end(End::Complete),
            Some(Err(_)) => this.grant.end(End::BodyFailed),
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_ref() {
                    this.grant.trailers(trailers);
                }
                // A server need not ask again.
                if frame.is_trailers() || this.body.is_end_stream() {
                    this.grant.end(End::Complete);
                }
                if let (Some(left), Some(data)) = (this.left.as_mut(), frame.data_ref()) {
                    *left = left.saturating_sub(u64::try_from(data.remaining()).unwrap_or(u64::MAX));
                }
                this.grant.left(*this.left);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body for which nothing is held: that of a refusal by a layer outside of this one.
impl<B: Body, G: Grant> From<B> for Limited<B, G> {
    fn from(body: B) -> Self {
        Self::new(body, None, Open::nothing())
    }
}

impl<B: Default + Body, G: Grant> Default for Limited<B, G> {
    fn default() -> Self {
        B::default().into()
    }
}

impl<B: fmt::Debug, G: Grant> fmt::Debug for Limited<B, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited").field("body", &self.body).field("grant", &self.grant).finish()
    }
}
