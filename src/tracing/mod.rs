//! Events of [`tracing`](https://docs.rs/tracing) for refusals at the edges.
//!
//! One event for each refusal, of the level `DEBUG` and the target `tollgate`, with the name of the limit and the refusal as text. It
//! is told where a refusal becomes a response, and nowhere below: limits themselves say nothing. Nothing is told of what is admitted.
//!
//! A flood of refused calls is a flood of events, to whoever listens at that level. Where nobody does, a refusal costs a load and a
//! comparison more.

use std::fmt;

use ::tracing::debug;

/// Tells of each refusal, and refuses as before: for the function that a layer is given, or any of its form.
///
/// ```
/// use tollgate::tracing::told;
/// use tollgate::{Bucket, Denied, quota};
///
/// let refuse = told("api", |_request: &str, denied: Denied| (429, denied.to_string()));
/// let bucket = Bucket::new(quota!("1/h"));
/// bucket.try_acquire()?;
/// let denied = bucket.try_acquire().unwrap_err();
/// assert_eq!(refuse("GET /", denied).0, 429); // and an event: refused limit="api" reason=not yet: try again in ..
/// # Ok::<(), Denied>(())
/// ```
pub fn told<Request: ?Sized, Refused: fmt::Display, Response>(
    limit: &'static str,
    refuse: impl Fn(&Request, Refused) -> Response,
) -> impl Fn(&Request, Refused) -> Response {
    move |request, refused| {
        debug!(target: "tollgate", limit, reason = %refused, "refused");
        refuse(request, refused)
    }
}

/// [`told`], with a field `key` that tells whom it concerns. The key is worked out only where somebody listens.
///
/// A key can be personal data. Choose one that your logs may have.
pub fn told_with_key<Request: ?Sized, Refused: fmt::Display, Response, Key: fmt::Display>(
    limit: &'static str,
    key: impl Fn(&Request) -> Key,
    refuse: impl Fn(&Request, Refused) -> Response,
) -> impl Fn(&Request, Refused) -> Response {
    move |request, refused| {
        debug!(target: "tollgate", limit, key = %key(request), reason = %refused, "refused");
        refuse(request, refused)
    }
}
