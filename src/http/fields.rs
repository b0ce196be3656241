//! Response fields.

use ::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use sfv::{KeyRef, ListSerializer, key_ref};

use super::policy::{MOST, whole_seconds};
use super::refusal::Refusal;
use super::standing::Standing;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

const KEY_QUOTA: &KeyRef = key_ref("q");
const KEY_UNIT: &KeyRef = key_ref("qu");
const KEY_WINDOW: &KeyRef = key_ref("w");
const KEY_LEFT: &KeyRef = key_ref("r");
const KEY_TIME: &KeyRef = key_ref("t");
const KEY_PARTITION: &KeyRef = key_ref("pk");

/// What `t` of `RateLimit` tells while something is left: the time within which no more than that can be
/// used. The draft leaves open which time that is for a limit that is refilled all the time. With nothing
/// left it is the time until there is more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum EffectiveWindow {
    /// The time until all is back, as OpenAI and Anthropic tell it: clients that spread what is left over it
    /// go gently.
    #[default]
    ToFull,
    /// The time until there is more: to the letter of the draft, with a rate `r/t` that is high while much is
    /// left.
    ToNext,
    /// Nothing: `t` is optional, and of a refusal `Retry-After` tells the wait.
    Untold,
}

/// Writes what limits tell into the fields of a response.
///
/// It replaces fields of these names that are there: of an upstream, they speak of other limits. None of them
/// may stand in a trailer.
///
/// * `Retry-After`: of a refusal, in whole seconds, rounded up, never zero, and no earlier than the end of
///   `t`;
/// * `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, of the limit that refused
///   or of all that admitted;
/// * with [`with_x_ratelimit`](Self::with_x_ratelimit) the older trio of one limit: the one that refused, or
///   of those that admitted the one of which the smallest share is left. Its reset is the time until all is
///   back, in seconds.
///
/// ```
/// use http::HeaderMap;
/// use tollgate::http::{Fields, Policy};
/// use tollgate::{Bucket, Manual, quota};
///
/// let quota = quota!("100/min");
/// let (bucket, policy) = (Bucket::with_clock(quota, Manual::new()), Policy::of("default", &quota)?);
/// bucket.try_acquire_n(40)?;
/// let mut headers = HeaderMap::new();
/// Fields::new().with_x_ratelimit().admitted(&[policy.at(&bucket.peek())], &mut headers);
/// assert_eq!(headers["ratelimit"], "\"default\";r=60;t=24");
/// assert_eq!(headers["x-ratelimit-remaining"], "60");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fields {
    has_rate_limit: bool,
    has_trio: bool,
    effective: EffectiveWindow,
}

impl Fields {
    /// `Retry-After` and the fields of the draft.
    pub const fn new() -> Self {
        Self { has_rate_limit: true, has_trio: false, effective: EffectiveWindow::ToFull }
    }

    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset` too.
    #[must_use]
    pub const fn with_x_ratelimit(self) -> Self {
        Self { has_trio: true, ..self }
    }

    /// Not the fields of the draft.
    #[must_use]
    pub const fn without_rate_limit(self) -> Self {
        Self { has_rate_limit: false, ..self }
    }

    /// What `t` tells while something is left.
    #[must_use]
    pub const fn effective_window(self, effective: EffectiveWindow) -> Self {
        Self { effective, ..self }
    }

    /// The fields of a response that was admitted by these limits. None are written for none.
    pub fn admitted(&self, limits: &[Standing<'_>], headers: &mut HeaderMap) {
        if self.has_rate_limit {
            write(headers, POLICY, policies(limits));
            write(headers, RATE_LIMIT, rate_limit(limits, |limit| self.time_seconds(limit)));
        }
        let mut limits = limits.iter();
        let first = limits.next();
        let closest = first.map(|first| {
            limits.fold(first, |closest, limit| if limit.is_closer_than(closest) { limit } else { closest })
        });
        if let Some(closest) = closest.filter(|_| self.has_trio) {
            trio(headers, closest, whole_seconds(closest.reset()));
        }
    }

    /// The fields of a refusal. Of a limit that is only [named](Refusal::named) there is `Retry-After` alone.
    pub fn refused(&self, refusal: &Refusal<'_>, headers: &mut HeaderMap) {
        let wait_seconds = refusal.retry_after().map(whole_seconds);
        let Some(limit) = refusal.standing() else {
            wait_seconds.into_iter().for_each(|seconds| number(headers, RETRY_AFTER, seconds));
            return;
        };
        // With something left the wait is that of a cost above it, so no more can be used before its end.
        let time_seconds = self.time_seconds(&limit).map(|seconds| match wait_seconds {
            Some(wait_seconds) if limit.left() > 0 => wait_seconds,
            _ => seconds,
        });
        let wait_seconds = wait_seconds.map(|seconds| seconds.max(time_seconds.unwrap_or(0)));
        wait_seconds.into_iter().for_each(|seconds| number(headers, RETRY_AFTER, seconds));
        if self.has_rate_limit {
            write(headers, POLICY, policies(&[limit]));
            write(headers, RATE_LIMIT, rate_limit(&[limit], |_| time_seconds));
        }
        if self.has_trio {
            trio(headers, &limit, whole_seconds(limit.reset()).max(wait_seconds.unwrap_or(0)));
        }
    }

    /// `t`.
    fn time_seconds(&self, limit: &Standing<'_>) -> Option<u64> {
        match self.effective {
            EffectiveWindow::Untold => None,
            _ if limit.left() == 0 => Some(whole_seconds(limit.next()).max(1)),
            EffectiveWindow::ToFull => Some(whole_seconds(limit.reset())),
            EffectiveWindow::ToNext => Some(whole_seconds(limit.next())),
        }
    }
}

impl Default for Fields {
    fn default() -> Self {
        Self::new()
    }
}

fn policies(limits: &[Standing<'_>]) -> Option<String> {
    let mut list = ListSerializer::new();
    for limit in limits {
        let policy = limit.policy();
        let mut told = list.bare_item(policy.told_name()).parameter(KEY_QUOTA, integer(policy.quota()));
        if let Some(unit) = policy.unit().told() {
            told = told.parameter(KEY_UNIT, unit);
        }
        if let Some(window) = policy.window() {
            told = told.parameter(KEY_WINDOW, integer(window.as_secs()));
        }
        if let Some(key) = limit.key() {
            told = told.parameter(KEY_PARTITION, key);
        }
        let _written = told.finish();
    }
    list.finish()
}

fn rate_limit(
    limits: &[Standing<'_>],
    time_seconds: impl Fn(&Standing<'_>) -> Option<u64>,
) -> Option<String> {
    let mut list = ListSerializer::new();
    for limit in limits {
        let told = list.bare_item(limit.policy().told_name());
        let mut told = told.parameter(KEY_LEFT, integer(limit.left()));
        if let Some(seconds) = time_seconds(limit) {
            told = told.parameter(KEY_TIME, integer(seconds));
        }
        if let Some(key) = limit.key() {
            told = told.parameter(KEY_PARTITION, key);
        }
        let _written = told.finish();
    }
    list.finish()
}

fn trio(headers: &mut HeaderMap, limit: &Standing<'_>, reset_seconds: u64) {
    number(headers, LIMIT, limit.policy().quota());
    number(headers, REMAINING, limit.left());
    number(headers, RESET, reset_seconds);
}

fn number(headers: &mut HeaderMap, name: HeaderName, number: u64) {
    headers.insert(name, number.into());
}

/// The text of a structured field is ASCII.
fn write(headers: &mut HeaderMap, name: HeaderName, text: Option<String>) {
    if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(name, value);
    }
}

/// At most the largest that a field can hold.
fn integer(number: u64) -> sfv::Integer {
    let most = sfv::Integer::MAX;
    i64::try_from(number.min(MOST)).ok().and_then(|number| number.try_into().ok()).unwrap_or(most)
}
