//! Problem details, and whole responses.

use std::fmt;

use ::http::Response;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::refusal::{Refusal, Verdict};

/// The types of the draft; registered by it with IANA.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

impl<'p> Refusal<'p> {
    /// The body of a refusal as `application/problem+json` (RFC 9457): a type of the draft where one fits,
    /// the violated policy, and a sentence.
    ///
    /// ```
    /// use tollgate::http::Refusal;
    /// use tollgate::{Bucket, Manual, quota};
    ///
    /// let bucket = Bucket::with_clock(quota!("1/min"), Manual::new());
    /// bucket.try_acquire()?;
    /// let problem = Refusal::from(bucket.try_acquire().unwrap_err()).named("per-user").problem();
    /// assert_eq!(problem["status"], 429);
    /// assert_eq!(problem["violated-policies"][0], "per-user");
    /// assert_eq!(problem["detail"], "The limit `per-user` is used up: try again in 60 seconds.");
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    pub fn problem(&self) -> Value {
        let status = self.status();
        let (kind, title) = match self.verdict() {
            _ if self.is_overload() => {
                (REDUCED_CAPACITY, "Request cannot be satisfied due to temporary reduced capacity")
            }
            Verdict::Later { .. } | Verdict::Busy | Verdict::Closed => {
                (QUOTA_EXCEEDED, "Request cannot be satisfied as assigned quota has been exceeded")
            }
            // No more than what the status says: its own title.
            _ => ("about:blank", status.canonical_reason().unwrap_or_default()),
        };
        let mut problem = Map::new();
        problem.insert("type".into(), kind.into());
        problem.insert("title".into(), title.into());
        problem.insert("status".into(), status.as_u16().into());
        problem.insert("detail".into(), self.to_string().into());
        if let Some(name) = self.name() {
            problem.insert("violated-policies".into(), json!([name]));
        }
        Value::Object(problem)
    }

    /// A response that refuses: [status](Self::status), [fields](Fields), a [problem](Self::problem) as its
    /// body, and nothing for caches, which must not store a 429 (RFC 6585 section 4).
    pub fn response<B: From<String>>(&self, fields: &Fields) -> Response<B> {
        let mut response = Response::new(B::from(self.problem().to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        fields.refused(self, headers);
        response
    }
}

/// One sentence for a person.
impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit_in_words("The", "A");
        match self.verdict() {
            Verdict::Later { .. } | Verdict::Busy | Verdict::Closed => {
                let when = self.wait_in_words().map_or("later".to_string(), |wait| format!("in {wait}"));
                write!(f, "{limit} {}: try again {when}.", self.obstacle())
            }
            Verdict::Never { cost, most } => {
                write!(f, "{limit} never admits a cost of {cost}: at most {most} at once.")
            }
            Verdict::Invalid => f.write_str("A cost of 0 is invalid: a cost is at least 1."),
            #[cfg(feature = "budget")]
            Verdict::Ended(ended) => write!(f, "{ended}."),
        }
    }
}

impl Refusal<'_> {
    /// "the limit `search`".
    pub(super) fn limit_in_words(&self, the: &str, a: &str) -> String {
        self.name().map_or(format!("{a} limit"), |name| format!("{the} limit `{name}`"))
    }

    /// What is the matter with the limit for now: "is used up".
    pub(super) fn obstacle(&self) -> &'static str {
        match self.verdict() {
            Verdict::Busy => "has too much in flight",
            Verdict::Closed => "is closed",
            _ => "is used up",
        }
    }

    /// "3 seconds".
    pub(super) fn wait_in_words(&self) -> Option<String> {
        self.retry_after().map(|wait| match wait.as_secs() {
            1 => "1 second".to_string(),
            seconds => format!("{seconds} seconds"),
        })
    }
}
