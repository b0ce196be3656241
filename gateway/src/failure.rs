//! Answers that are no success.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::json;
use tollgate::http::{Fields, Refusal, Verdict};

/// Why a call has no answer of a model's.
pub(crate) enum Failure {
    Unauthorized,
    BadRequest(String),
    /// A limit refuses.
    Refused(Refused),
    /// What an upstream says, which another one would say too.
    Passed {
        status: StatusCode,
        /// When to come back, as the upstream has it.
        after: Option<HeaderValue>,
        body: Bytes,
    },
    /// No upstream has answered.
    Unanswered,
    /// What all upstreams allow is used up, and no wait helps.
    Exhausted,
}

/// A limit that refuses, by its name.
pub(crate) struct Refused {
    by: String,
    verdict: Verdict,
    /// The limit is the upstreams', not the client's.
    is_overload: bool,
}

impl Failure {
    pub(crate) fn bad(why: &str) -> Self {
        Self::BadRequest(why.to_owned())
    }

    /// The status says who can do what about it, `Retry-After` when.
    pub(crate) fn into_response(self) -> Response {
        match self {
            Self::Unauthorized => plain(StatusCode::UNAUTHORIZED, "no tenant has this key"),
            Self::BadRequest(why) => plain(StatusCode::BAD_REQUEST, &why),
            Self::Refused(refused) => refused.response(),
            Self::Passed { status, after, body } => {
                let mut response = response(status, body.into());
                response.headers_mut().extend(after.map(|after| (RETRY_AFTER, after)));
                response
            }
            Self::Unanswered => plain(StatusCode::BAD_GATEWAY, "no upstream has answered"),
            Self::Exhausted => plain(StatusCode::BAD_GATEWAY, "the quota of the upstreams is used up"),
        }
    }
}

impl Refused {
    pub(crate) fn by(name: impl Into<String>, verdict: impl Into<Verdict>) -> Self {
        Self { by: name.into(), verdict: verdict.into(), is_overload: false }
    }

    /// By an upstream, which has no room for anybody.
    pub(crate) fn by_upstream(name: &str, wait: Duration) -> Self {
        Self { is_overload: true, ..Self::by(name, Verdict::Later { wait }) }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How long until the same may fit, zero if nobody knows; `None` if it never does.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let refusal = Refusal::new(self.verdict);
        (!refusal.is_final()).then(|| refusal.wait().unwrap_or_default())
    }

    fn response(&self) -> Response {
        let refusal = Refusal::new(self.verdict).named(&self.by).or_after(Duration::from_secs(1));
        let refusal = if self.is_overload { refusal.as_overload() } else { refusal };
        refusal.response::<Body>(&Fields::new())
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

fn plain(status: StatusCode, message: &str) -> Response {
    response(status, Body::from(json!({ "error": { "message": message } }).to_string()))
}

fn response(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
