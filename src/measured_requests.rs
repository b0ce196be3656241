//! Requests through a layer of `tower` whose latency and outcome are measured.

use ::http::{HeaderMap, StatusCode};

use crate::clock::Clock;
use crate::metrics::{Call, Outcome};
use crate::tower::{End, Grant};

/// A call is a grant: it ends with the body of the response, or without one, and is told by the status how.
///
/// A status of 429 is a refusal, of 500 and above a failure; of gRPC, which tells it in the trailers or where there is no body in the
/// headers, `RESOURCE_EXHAUSTED` is a refusal, and `UNKNOWN`, `DEADLINE_EXCEEDED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE` and
/// `DATA_LOSS` are failures (as OpenTelemetry's conventions for servers have it). A body that fails is a failure whatever the status
/// was, and a body that is dropped before its end was dropped, unless the status had told of a failure or a refusal.
impl<T, C: Clock> Grant for Call<T, C> {
    fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.tell(by_grpc(headers).unwrap_or(by_status(status)));
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(outcome) = by_grpc(trailers) {
            self.tell(outcome);
        }
    }

    fn ended(mut self, end: End) {
        match (end, self.told()) {
            (End::BodyFailed | End::ServiceFailed, _) => self.tell(Outcome::Failed),
            (End::Dropped, None | Some(Outcome::Succeeded)) => self.tell(dropped()),
            _ => {}
        }
    }
}

fn dropped() -> Outcome {
    if std::thread::panicking() { Outcome::Panicked } else { Outcome::Dropped }
}

fn by_status(status: StatusCode) -> Outcome {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Outcome::Refused,
        status if status.is_server_error() => Outcome::Failed,
        _ => Outcome::Succeeded,
    }
}

fn by_grpc(headers: &HeaderMap) -> Option<Outcome> {
    Some(match headers.get("grpc-status")?.as_bytes() {
        b"8" => Outcome::Refused,
        b"2" | b"4" | b"12" | b"13" | b"14" | b"15" => Outcome::Failed,
        _ => Outcome::Succeeded,
    })
}
