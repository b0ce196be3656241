//! gRPC's trailers: the status code, and the details of the error in `grpc-status-details-bin`.

use core::time::Duration;

use base64::Engine;
use prost::Message;

use super::number::capped;
use super::reading::Class;
use crate::rpc::{BINARY, RetryInfo, Span, Status};

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
    for detail in status.details.iter().filter(|detail| detail.is_retry_info()) {
        let info = RetryInfo::decode(detail.value.as_slice()).map_err(drop)?;
        longest = longest.max(info.retry_delay.and_then(positive));
    }
    Ok(longest)
}

fn positive(span: Span) -> Option<Duration> {
    let nanos = i128::from(span.seconds) * 1_000_000_000 + i128::from(span.nanos);
    u128::try_from(nanos).ok().map(capped)
}
