//! What a server tells its clients about limits, and whom a limit counts.
//!
//! | | |
//! |---|---|
//! | [`Policy`], [`Standing`] | a limit as response fields tell it: its rule, and what is left of it |
//! | [`Refusal`] | a refusal, with what a client should do about it |
//! | [`Fields`] | `Retry-After`, `RateLimit`, `RateLimit-Policy`, `X-RateLimit-*` |
//! | [`Refusal::problem`] | a problem details body (RFC 9457) |
//! | [`Refusal::grpc`] | `RESOURCE_EXHAUSTED` with `RetryInfo` |
//! | [`Refusal::tool_result`] | the refusal of a tool's call, as an agent understands it |
//! | [`ClientKeys`] | the key of a client: its address, as trusted proxies tell it, or a header |
//!
//! ```
//! use http::HeaderMap;
//! use tollgate::http::{Fields, Policy, Refusal};
//! use tollgate::{Bucket, Manual, quota};
//!
//! let quota = quota!("3600/h burst 6");
//! let (bucket, policy) = (Bucket::with_clock(quota, Manual::new()), Policy::of("per-user", &quota)?);
//! bucket.try_acquire_n(6)?;
//!
//! let denied = bucket.try_acquire().unwrap_err();
//! let refusal = Refusal::from(denied).by(policy.at(&bucket.peek()));
//! let mut headers = HeaderMap::new();
//! Fields::new().refused(&refusal, &mut headers);
//! assert_eq!(refusal.status(), 429);
//! assert_eq!(headers["retry-after"], "1");
//! assert_eq!(headers["ratelimit-policy"], "\"per-user\";q=6;w=6");
//! assert_eq!(headers["ratelimit"], "\"per-user\";r=0;t=1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is told
//!
//! A refusal tells the limit that refused, and no other. What is left is rounded down and a debt is 0; times
//! are whole seconds, rounded up, and the wait of a refusal is never 0. A client that waits as long as it is
//! told and asks alone is admitted.
//!
//! Sources: RFC 9110 section 10.2.3, RFC 6585, RFC 9457, RFC 9651, RFC 7239,
//! draft-ietf-httpapi-ratelimit-headers-11, gRPC over HTTP/2, gRFC A6, `google/rpc/error_details.proto`.

mod client;
mod fields;
mod grpc;
mod policy;
mod problem;
mod refusal;
mod standing;
mod tool;

pub use self::client::{ClientKey, ClientKeys, ClientKeysError};
pub use self::fields::{EffectiveWindow, Fields};
pub use self::grpc::GrpcStatus;
pub use self::policy::{Policy, PolicyError, Unit};
pub use self::refusal::{Refusal, Verdict};
pub use self::standing::Standing;
pub use self::tool::ToolResult;
