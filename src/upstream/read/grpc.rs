//! gRPC's trailers: the status code, and the details of the error in `grpc-status-details-bin`.

use core::time::Duration;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost::Message;

use super::number::capped;
use super::reading::Class;

/// Binary metadata is base64; receivers accept it with padding and without (gRPC over HTTP/2, "Custom-Metadata").
const BINARY: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// `google.rpc.Status`, as far as it matters here.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Span>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// What `grpc-status` means: `RESOURCE_EXHAUSTED` and `UNAVAILABLE` tell of a limit, other codes do not.
pub(super) fn class(code: &str) -> Option<Class> {
    match code {
        "8" => Some(Class::RateLimit),
        "14" => Some(Class::Overloaded),
        _ => None,
    }
}

/// The longest `RetryInfo` of the details; `Err` if they cannot be read. A negative delay says nothing.
pub(super) fn retry_delay(details: &[u8]) -> Result<Option<Duration>, ()> {
    let bytes = BINARY.decode(details).map_err(drop)?;
    let status = Status::decode(bytes.as_slice()).map_err(drop)?;
    let mut longest = None;
    for detail in status.details.iter().filter(|detail| detail.type_url.ends_with("/google.rpc.RetryInfo")) {
        let info = RetryInfo::decode(detail.value.as_slice()).map_err(drop)?;
        longest = longest.max(info.retry_delay.and_then(Span::positive));
    }
    Ok(longest)
}

impl Span {
    fn positive(self) -> Option<Duration> {
        let nanos = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos);
        u128::try_from(nanos).ok().map(capped)
    }
}
