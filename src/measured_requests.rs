//! Requests through a layer of `tower` whose latency and outcome are measured.

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, StatusCode};

use crate::clock::Clock;
use crate::metrics::{Call, Outcome};
use crate::rpc;
use crate::tower::{End, Grant};

/// The media type of gRPC. That of gRPC-Web is another, whose trailers stand in the body.
const GRPC: &[u8] = b"application/grpc";

/// A call is a grant: it ends with the body of the response, or without one, and is told by the status how.
///
/// A status of 429 is a refusal, of 500 and above a failure. gRPC tells its own in the trailers, or in the
/// headers where there is no body: `RESOURCE_EXHAUSTED` is a refusal, and `UNKNOWN`, `DEADLINE_EXCEEDED`,
/// `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE` and `DATA_LOSS` are failures (as OpenTelemetry's conventions
/// for servers have it). A code that there is not, or none where there must be one, is `UNKNOWN`.
///
/// A body that fails is a failure whatever the status was, and a body that is dropped before its end was
/// dropped, unless the status had told of a failure or a refusal.
impl<T, C: Clock> Grant for Call<T, C> {
    fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        if let Some(outcome) = by_grpc(headers).or_else(|| by_status(status, headers)) {
            self.tell(outcome);
        }
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(outcome) = by_grpc(trailers) {
            self.tell(outcome);
        }
    }

    fn ended(mut self, end: End) {
        match (end, self.told()) {
            (End::BodyFailed | End::ServiceFailed, _) | (End::Complete, None) => self.tell(Outcome::Failed),
            (End::Dropped, Some(Outcome::Succeeded)) => self.untell(),
            _ => {}
        }
    }
}

/// Of gRPC 200 says nothing: its own status is still to come.
fn by_status(status: StatusCode, headers: &HeaderMap) -> Option<Outcome> {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Some(Outcome::Refused),
        status if status.is_server_error() => Some(Outcome::Failed),
        StatusCode::OK if is_grpc(headers) => None,
        _ => Some(Outcome::Succeeded),
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|text| text.as_bytes().split_at_checked(GRPC.len()));
    media.is_some_and(|(start, rest)| {
        start.eq_ignore_ascii_case(GRPC) && matches!(rest.first(), None | Some(b'+' | b';' | b' '))
    })
}

fn by_grpc(headers: &HeaderMap) -> Option<Outcome> {
    Some(match headers.get(rpc::STATUS)?.as_bytes() {
        b"0" | b"1" | b"3" | b"5" | b"6" | b"7" | b"9" | b"10" | b"11" | b"16" => Outcome::Succeeded,
        b"8" => Outcome::Refused,
        _ => Outcome::Failed,
    })
}
