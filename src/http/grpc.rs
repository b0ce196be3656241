//! Refusals as gRPC tells them.

use std::time::Duration;

use ::http::Response;
use ::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use base64::Engine;
use prost::Message;

use crate::rpc::{self, Any, BINARY, QuotaFailure, RetryInfo, Span, Status, Violation};

use super::refusal::{Refusal, Verdict};

const STATUS: HeaderName = HeaderName::from_static(rpc::STATUS);
const MESSAGE: HeaderName = HeaderName::from_static(rpc::MESSAGE);
const DETAILS: HeaderName = HeaderName::from_static(rpc::DETAILS);
const PUSHBACK: HeaderName = HeaderName::from_static(rpc::PUSHBACK);

const RESOURCE_EXHAUSTED: i32 = 8;
const INTERNAL: i32 = 13;
const UNAVAILABLE: i32 = 14;

/// `google.protobuf.Duration` ends at 10 000 years.
const LONGEST_SECONDS: u64 = 315_576_000_000;

/// A refusal as a status of gRPC: `RESOURCE_EXHAUSTED`, with `google.rpc.RetryInfo` where there is a wait to
/// tell and `google.rpc.QuotaFailure` where the limit has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrpcStatus {
    code: i32,
    message: String,
    limit: Option<String>,
    retry_delay: Option<Duration>,
    is_final: bool,
}

impl Refusal<'_> {
    /// As a status of gRPC.
    ///
    /// ```
    /// use tollgate::http::Refusal;
    /// use tollgate::{Bucket, Manual, quota};
    ///
    /// let bucket = Bucket::with_clock(quota!("2/s burst 1"), Manual::new());
    /// bucket.try_acquire()?;
    /// let status = Refusal::from(bucket.try_acquire().unwrap_err()).grpc();
    /// assert_eq!(status.code(), 8);
    ///
    /// let mut headers = http::HeaderMap::new();
    /// status.write(&mut headers);
    /// assert_eq!(headers["grpc-status"], "8");
    /// assert_eq!(headers["grpc-retry-pushback-ms"], "500");
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    pub fn grpc(&self) -> GrpcStatus {
        let code = match self.verdict() {
            Verdict::Invalid => INTERNAL,
            _ if self.is_overload() => UNAVAILABLE,
            _ => RESOURCE_EXHAUSTED,
        };
        // Told to wait for nothing, a client would come back at once.
        let retry_delay = self.wait().map(|wait| wait.max(Duration::from_millis(1)));
        let limit = self.name().map(str::to_string);
        GrpcStatus { code, message: self.to_string(), limit, retry_delay, is_final: self.is_final() }
    }
}

impl GrpcStatus {
    /// The code: 8 is `RESOURCE_EXHAUSTED`, 14 `UNAVAILABLE` (an overload), 13 `INTERNAL` (an invalid cost).
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// `google.rpc.Status` with its details, encoded: what `tonic::Status::with_details` takes.
    pub fn details(&self) -> Vec<u8> {
        let retry = self.retry_delay.map(|delay| RetryInfo { retry_delay: Some(span(delay)) }.into());
        let failure = self.limit.as_ref().map(|limit| {
            let violation = Violation { subject: limit.clone(), description: self.message.clone() };
            QuotaFailure { violations: vec![violation] }.into()
        });
        let details: Vec<Any> = retry.into_iter().chain(failure).collect();
        Status { code: self.code, message: self.message.clone().into_bytes(), details }.encode_to_vec()
    }

    /// Writes `grpc-status`, `grpc-message`, `grpc-status-details-bin` and `grpc-retry-pushback-ms`: into
    /// trailers, or into the headers of a response that has nothing else. A pushback that is negative tells
    /// that no retry helps (gRFC A6).
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(STATUS, self.code.into());
        let texts = [(MESSAGE, percent_encoded(&self.message)), (DETAILS, BINARY.encode(self.details()))];
        for (name, text) in texts {
            // Both are ASCII.
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        }
        if let Some(pushback) = self.pushback_millis() {
            headers.insert(PUSHBACK, pushback.into());
        }
    }

    /// A response with [these](Self::write) headers and nothing else, as gRPC has it.
    pub fn response<B: Default>(&self) -> Response<B> {
        let mut response = Response::new(B::default());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        self.write(response.headers_mut());
        response
    }

    fn pushback_millis(&self) -> Option<i32> {
        if self.is_final {
            return Some(-1);
        }
        let millis = self.retry_delay?.as_nanos().div_ceil(1_000_000);
        Some(i32::try_from(millis).unwrap_or(i32::MAX))
    }
}

fn span(delay: Duration) -> Span {
    let seconds = i64::try_from(delay.as_secs().min(LONGEST_SECONDS)).unwrap_or(i64::MAX);
    // A billion at most.
    Span { seconds, nanos: i32::try_from(delay.subsec_nanos()).unwrap_or(0) }
}

/// As gRPC writes its messages: all but printable ASCII, and the percent sign.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
        encoded
    })
}
