//! How gRPC tells of a limit: the names of its fields, and the messages in them.

#[cfg(any(feature = "http", feature = "upstream"))]
mod messages;

#[cfg(any(feature = "http", feature = "upstream"))]
pub(crate) use self::messages::*;

/// The code.
pub(crate) const STATUS: &str = "grpc-status";
/// A text for people, percent-encoded.
#[cfg(feature = "http")]
pub(crate) const MESSAGE: &str = "grpc-message";
/// `google.rpc.Status`.
#[cfg(any(feature = "http", feature = "upstream"))]
pub(crate) const DETAILS: &str = "grpc-status-details-bin";
/// When to retry, or not to (gRFC A6).
#[cfg(any(feature = "http", feature = "upstream"))]
pub(crate) const PUSHBACK: &str = "grpc-retry-pushback-ms";
