//! What is given out for a request, and what becomes of it.

use std::fmt;

use ::http::{HeaderMap, StatusCode};

use crate::inflight::OwnedPermit;

/// How the answer to a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum End {
    /// The body came to its end: it said so, it had trailers, or all of the length that was told was sent.
    Complete,
    /// The body failed.
    BodyFailed,
    /// The service failed, and there was no response.
    ServiceFailed,
    /// It was dropped before its end, as far as can be told: the client went away, the request was cancelled,
    /// or a server left the body alone (as that of an answer to `HEAD`).
    Dropped,
}

/// What a limit gives out for a request. It is told what becomes of that, and settles when it knows enough.
///
/// In this order: [`answered`](Self::answered) once if there is a response, [`trailers`](Self::trailers) if
/// it has some, and [`ended`](Self::ended) once in any case. What is still held then is dropped with it.
///
/// `()` holds nothing. An [`OwnedPermit`] is held until the end; so is a reservation of a budget, which is
/// then closed by the budget's policy for dropped ones. A pair is two, an option is one or none.
pub trait Grant {
    /// There is a response, with this status and these headers; its body is still to come.
    fn answered(&mut self, _status: StatusCode, _headers: &HeaderMap) {}

    /// The body has these trailers: of gRPC, its status.
    fn trailers(&mut self, _trailers: &HeaderMap) {}

    /// It is over.
    fn ended(self, _end: End)
    where
        Self: Sized,
    {
    }
}

/// Keeps a thing until the body ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held<T>(pub T);

/// The grant of [`on_answer`].
pub struct OnAnswer<T, F>(Option<(T, F)>);

/// The grant of [`on_end`].
pub struct OnEnd<T, F>(T, F);

/// Settles when the status is known, before the body is read: gives back what was for nothing, or charges for
/// what went wrong. If there is never a response, what is held is dropped.
///
/// ```
/// use std::sync::Arc;
///
/// use http::{Request, StatusCode};
/// use tollgate::tower::on_answer;
/// use tollgate::{Denied, quota};
/// # #[cfg(feature = "budget")] {
/// use tollgate::budget::Budget;
///
/// // Five wrong passwords a minute, however many are tried at once; right ones are free.
/// let wrong = Arc::new(Budget::new(quota!("5/min")));
/// let admit = move |_: &mut Request<String>| {
///     let reservation = wrong.reserve_owned(1)?;
///     Ok::<_, Denied>(on_answer(reservation, |reservation, status, _| {
///         let is_wrong = status == StatusCode::UNAUTHORIZED;
///         let _settled = reservation.settle(u64::from(is_wrong));
///     }))
/// };
/// # let _ = admit(&mut Request::new(String::new())).is_ok();
/// # }
/// ```
pub fn on_answer<T, F: FnOnce(T, StatusCode, &HeaderMap)>(held: T, settle: F) -> OnAnswer<T, F> {
    OnAnswer(Some((held, settle)))
}

/// Settles when it is over, however it ended.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use http::Request;
/// use tollgate::quota;
/// use tollgate::tower::{End, on_end};
/// # #[cfg(feature = "budget")] {
/// use tollgate::budget::Budget;
///
/// // 400 tokens are reserved; the handler counts in its extension what it streams.
/// let budget = Arc::new(Budget::new(quota!("1000/min")));
/// let admit = move |request: &mut Request<String>| {
///     let used = Arc::new(AtomicU64::new(0));
///     let reservation = budget.reserve_owned(400)?;
///     request.extensions_mut().insert(Arc::clone(&used));
///     Ok::<_, tollgate::Denied>(on_end(reservation, move |reservation, _: End| {
///         let _settled = reservation.settle(used.load(Ordering::Relaxed));
///     }))
/// };
/// # let _ = admit(&mut Request::new(String::new())).is_ok();
/// # }
/// ```
pub fn on_end<T, F: FnOnce(T, End)>(held: T, settle: F) -> OnEnd<T, F> {
    OnEnd(held, settle)
}

impl Grant for () {}

impl Grant for OwnedPermit {}

#[cfg(feature = "budget")]
impl<A: crate::budget::Account> Grant for crate::budget::Reservation<A> {}

impl<T> Grant for Held<T> {}

impl<T, F: FnOnce(T, StatusCode, &HeaderMap)> Grant for OnAnswer<T, F> {
    fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        if let Some((held, settle)) = self.0.take() {
            settle(held, status, headers);
        }
    }
}

impl<T, F: FnOnce(T, End)> Grant for OnEnd<T, F> {
    fn ended(self, end: End) {
        (self.1)(self.0, end);
    }
}

impl<G: Grant> Grant for Option<G> {
    fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        if let Some(grant) = self {
            grant.answered(status, headers);
        }
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(grant) = self {
            grant.trailers(trailers);
        }
    }

    fn ended(self, end: End) {
        if let Some(grant) = self {
            grant.ended(end);
        }
    }
}

impl<A: Grant, B: Grant> Grant for (A, B) {
    fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.0.answered(status, headers);
        self.1.answered(status, headers);
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        self.0.trailers(trailers);
        self.1.trailers(trailers);
    }

    fn ended(self, end: End) {
        self.0.ended(end);
        self.1.ended(end);
    }
}

impl<T, F> fmt::Debug for OnAnswer<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnAnswer").field("is_settled", &self.0.is_none()).finish()
    }
}

impl<T: fmt::Debug, F> fmt::Debug for OnEnd<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnEnd").field(&self.0).finish_non_exhaustive()
    }
}

/// A grant that has not ended. Dropped, it ends as [`End::Dropped`], unless all has been sent.
pub(super) struct Open<G: Grant> {
    grant: Option<G>,
    if_dropped: End,
}

impl<G: Grant> Open<G> {
    pub(super) fn new(grant: G) -> Self {
        Self { grant: Some(grant), if_dropped: End::Dropped }
    }

    /// One that holds nothing.
    pub(super) fn nothing() -> Self {
        Self { grant: None, if_dropped: End::Dropped }
    }

    /// Moves it on, from the future to the body.
    pub(super) fn take(&mut self) -> Self {
        Self { grant: self.grant.take(), if_dropped: self.if_dropped }
    }

    pub(super) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.grant.answered(status, headers);
    }

    pub(super) fn trailers(&mut self, trailers: &HeaderMap) {
        self.grant.trailers(trailers);
    }

    /// So many bytes are still to be sent, if their number is known. Who drops it after the last has seen the
    /// end.
    pub(super) fn left(&mut self, bytes: Option<u64>) {
        if bytes == Some(0) {
            self.if_dropped = End::Complete;
        }
    }

    pub(super) fn end(&mut self, end: End) {
        self.grant.take().ended(end);
    }
}

impl<G: Grant> Drop for Open<G> {
    fn drop(&mut self) {
        self.end(self.if_dropped);
    }
}

impl<G: Grant> fmt::Debug for Open<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("has_ended", &self.grant.is_none()).finish()
    }
}
