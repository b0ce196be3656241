//! `google.rpc.Status`, as gRPC carries it in `grpc-status-details-bin`: as far as it matters to limits.

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost::Message;

/// Binary metadata is base64. Receivers accept it with padding and without, and senders should leave it out
/// (gRPC over HTTP/2, "Custom-Metadata").
pub(crate) const BINARY: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
#[cfg(feature = "http")]
const QUOTA_FAILURE: &str = "type.googleapis.com/google.rpc.QuotaFailure";

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    /// A text; read as bytes, for one that is no UTF-8 says nothing about the details.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) message: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Any {
    #[prost(string, tag = "1")]
    pub(crate) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) retry_delay: Option<Span>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

/// `google.rpc.QuotaFailure`.
#[cfg(feature = "http")]
#[derive(Clone, PartialEq, Message)]
pub(crate) struct QuotaFailure {
    #[prost(message, repeated, tag = "1")]
    pub(crate) violations: Vec<Violation>,
}

/// `google.rpc.QuotaFailure.Violation`.
#[cfg(feature = "http")]
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Violation {
    #[prost(string, tag = "1")]
    pub(crate) subject: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
}

impl Any {
    #[cfg(feature = "upstream")]
    pub(crate) fn is_retry_info(&self) -> bool {
        // Whoever it is that serves the type.
        RETRY_INFO.split_once('/').is_some_and(|(_, name)| self.type_url.rsplit('/').next() == Some(name))
    }
}

#[cfg(feature = "http")]
impl From<RetryInfo> for Any {
    fn from(info: RetryInfo) -> Self {
        Self { type_url: RETRY_INFO.to_string(), value: info.encode_to_vec() }
    }
}

#[cfg(feature = "http")]
impl From<QuotaFailure> for Any {
    fn from(failure: QuotaFailure) -> Self {
        Self { type_url: QUOTA_FAILURE.to_string(), value: failure.encode_to_vec() }
    }
}
