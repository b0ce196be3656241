//! Limits as layers of [tower](https://docs.rs/tower): around a service over HTTP, of axum, hyper, tonic or
//! anyone.
//!
//! | | |
//! |---|---|
//! | [`LimitLayer`] | asks a limit for each request; who is refused gets a response of your choice at once |
//! | [`WaitLayer`] | lets each request wait for its turn: for its tokens, in a queue, for what Redis says |
//! | [`PermitLayer`] | a permit for work in flight, reserved by readiness, held until the body's end |
//!
//! A layer holds its limit in an [`Arc`](std::sync::Arc): every service that it makes, and every clone of
//! one, asks the same. Two layers are two limits, unless they are made of the same `Arc`.
//!
//! ```
//! use std::convert::Infallible;
//!
//! use http::{Request, Response};
//! use tollgate::tower::LimitLayer;
//! use tollgate::{Bucket, Denied, quota};
//! use tower_layer::Layer;
//! use tower_service::Service;
//!
//! #[derive(Clone)]
//! struct Hello;
//!
//! impl Service<Request<String>> for Hello {
//!     type Response = Response<String>;
//!     type Error = Infallible;
//!     type Future = std::future::Ready<Result<Response<String>, Infallible>>;
//!
//!     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
//!         std::task::Poll::Ready(Ok(()))
//!     }
//!
//!     fn call(&mut self, _: Request<String>) -> Self::Future {
//!         std::future::ready(Ok(Response::new("hello".to_string())))
//!     }
//! }
//!
//! let refuse = |_: &Request<String>, denied: Denied| {
//!     let seconds = denied.retry_after().unwrap_or_default().as_secs();
//!     let response = Response::builder().status(429).header("retry-after", seconds);
//!     response.body(denied.to_string()).unwrap_or_default()
//! };
//! let mut service = LimitLayer::by(Bucket::new(quota!("100/s burst 20")), refuse).layer(Hello);
//! let response = service.call(Request::new(String::new()));
//! ```
//!
//! With the feature `http`, `Refusal::response` makes the response, with all that clients want to know.
//!
//! # In which order
//!
//! A [`PermitLayer`] goes outside of a [`LimitLayer`]: who gets no permit is not charged, and a permit whose
//! request is then refused its tokens is back with the end of that response. A [`WaitLayer`] goes outside of
//! a [`PermitLayer`], for who waits for tokens should not keep others from work that could start: the permit
//! is asked for when it is the request's turn. Its tokens are spent then, whether or not there is a permit,
//! and for that it waits as long as it takes; [`max_waiting`](crate::inflight::InFlight::max_waiting) is a
//! bound.
//!
//! # What is charged
//!
//! What a limit gives out for a request is a [`Grant`]. It is told the status, perhaps trailers, and how the
//! body ended, and may settle at any of these: [`on_answer`] refunds or charges by the status, [`on_end`] by
//! what was used, [`Held`] keeps a thing until the end. A client that goes away drops the body, and the grant
//! learns that too.

mod admit;
mod body;
mod future;
mod grant;
mod layer;
mod permit;
mod service;
mod wait;

pub use self::admit::{Admit, AdmitLater, Awaiting, Costing, Each, Turn};
pub use self::body::Limited;
pub use self::future::{Served, Waited};
pub use self::grant::{End, Grant, Held, OnAnswer, OnEnd, on_answer, on_end};
pub use self::layer::{LimitLayer, PermitLayer, WaitLayer};
pub use self::permit::Permits;
pub use self::service::Limit;
pub use self::wait::Wait;
