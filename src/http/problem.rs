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
            Verdict::Later { .. } | Verdict::Busy if self.is_overload() => {
                (REDUCED_CAPACITY, "Request cannot be satisfied due to temporary reduced capacity")
            }
            Verdict::Later { .. } | Verdict::Busy => {
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
        match self.verdict() {
            Verdict::Later { .. } => self.write_limit("is used up: ", f)?,
            Verdict::Busy => self.write_limit("has too much in flight: ", f)?,
            Verdict::Never { cost, most } => {
                self.write_limit("", f)?;
                return write!(f, "never admits a cost of {cost}: at most {most} at once.");
            }
            Verdict::Invalid => return f.write_str("A cost of 0 is invalid: a cost is at least 1."),
            #[cfg(feature = "budget")]
            Verdict::Ended(ended) => return write!(f, "{ended}."),
        }
        write!(f, "try again {}.", self.when())
    }
}

impl Refusal<'_> {
    fn write_limit(&self, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "The limit `{name}` {what}"),
            None => write!(f, "A limit {what}"),
        }
    }

    /// When to come back, in words: "in 3 seconds".
    pub(super) fn when(&self) -> String {
        match self.retry_after().map(|wait| wait.as_secs()) {
            None => "later".to_string(),
            Some(1) => "in 1 second".to_string(),
            Some(seconds) => format!("in {seconds} seconds"),
        }
    }
}
