//! The rule of a limit, as `RateLimit-Policy` tells it.

use std::fmt;
use std::time::Duration;

use crate::level::Level;
use crate::quota::Quota;

use super::standing::Standing;

/// The largest integer of a structured field: 15 digits (RFC 9651 section 3.3.1).
pub(super) const MOST: u64 = 999_999_999_999_999;
const LONGEST_NAME_BYTES: usize = 64;

/// A limit's name, how much it allows and in how long: what `RateLimit-Policy` tells of it. It is made once,
/// beside the limiter.
///
/// ```
/// use std::time::Duration;
/// use tollgate::http::{Policy, Unit};
/// use tollgate::quota;
///
/// let policy = Policy::of("per-user", &quota!("10/s burst 100"))?;
/// assert_eq!((policy.quota(), policy.window()), (100, Some(Duration::from_secs(10))));
///
/// let uploads = Policy::new("uploads", 1 << 30)?.counting(Unit::ContentBytes);
/// let uploads = uploads.within(Duration::from_secs(3600));
/// assert!(Policy::new("größe", 1).is_err());
/// # Ok::<(), tollgate::http::PolicyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    name: sfv::String,
    quota: u64,
    /// At least one.
    window_seconds: Option<u64>,
    unit: Unit,
}

/// What a limit counts (`qu`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum Unit {
    /// Requests; told by saying nothing.
    #[default]
    Requests,
    /// Bytes of content.
    ContentBytes,
    /// Requests at one time.
    ConcurrentRequests,
    /// Tokens of a language model, as `"tokens"`. The draft has no such unit and no registry has one yet: a
    /// client that does not know it may take it for requests.
    Tokens,
}

/// A policy that cannot be told.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// A name is 1 to 64 bytes of printable ASCII.
    Name {
        /// The name asked for.
        name: String,
    },
    /// A quota of zero allows nothing.
    ZeroQuota,
}

impl Policy {
    /// A limit of `quota`, which says nothing of time; [`within`](Self::within) does.
    ///
    /// # Errors
    ///
    /// A name that is not 1 to 64 bytes of printable ASCII; a quota of zero.
    pub fn new(name: &str, quota: u64) -> Result<Self, PolicyError> {
        let told = sfv::String::from_string(name.to_string()).ok();
        let told = told.filter(|told| (1..=LONGEST_NAME_BYTES).contains(&told.as_str().len()));
        let name = told.ok_or_else(|| PolicyError::Name { name: name.to_string() })?;
        if quota == 0 {
            return Err(PolicyError::ZeroQuota);
        }
        Ok(Self { name, quota: quota.min(MOST), window_seconds: None, unit: Unit::Requests })
    }

    /// The rule of a bucket: its capacity, in the time in which an empty bucket is full.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn of(name: &str, quota: &Quota) -> Result<Self, PolicyError> {
        let nanos = quota.period().as_nanos().saturating_mul(quota.capacity().into());
        let seconds = nanos.div_ceil(u128::from(quota.tokens()).saturating_mul(1_000_000_000).max(1));
        let policy = Self::new(name, quota.capacity())?;
        Ok(policy.within(Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX))))
    }

    /// The same in so much time; it is told in whole seconds, rounded up and at least one.
    #[must_use]
    pub fn within(self, window: Duration) -> Self {
        Self { window_seconds: Some(whole_seconds(window).max(1)), ..self }
    }

    /// The same, counting something else than requests.
    #[must_use]
    pub fn counting(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// How the limit stands, by a look into its bucket.
    pub fn at(&self, level: &Level) -> Standing<'_> {
        let paused = level.paused_for();
        let left = if paused.is_zero() { level.available() } else { 0 };
        // A full bucket has no next token.
        let next = level.wait_for(left.saturating_add(1)).unwrap_or_default();
        Standing::new(self, left, level.time_to_full().max(paused)).with_next(next)
    }

    /// How the limit stands, by a look at a limit by windows.
    #[cfg(feature = "window")]
    pub fn by(&self, usage: &crate::window::Usage) -> Standing<'_> {
        let paused = usage.paused_for();
        let left = if paused.is_zero() { usage.remaining() } else { 0 };
        Standing::new(self, left, usage.time_to_reset().max(paused))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// How much it allows, at most 10^15 - 1, which is all that a field can hold.
    pub fn quota(&self) -> u64 {
        self.quota
    }

    /// In how long, in whole seconds.
    pub fn window(&self) -> Option<Duration> {
        self.window_seconds.map(Duration::from_secs)
    }

    /// What it counts.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    pub(super) fn told_name(&self) -> &sfv::StringRef {
        &self.name
    }
}

impl Unit {
    /// As it is told, if it is.
    pub(super) fn told(self) -> Option<&'static sfv::StringRef> {
        match self {
            Self::Requests => None,
            Self::ContentBytes => Some(sfv::string_ref("content-bytes")),
            Self::ConcurrentRequests => Some(sfv::string_ref("concurrent-requests")),
            Self::Tokens => Some(sfv::string_ref("tokens")),
        }
    }
}

/// Rounded up, and what a field can hold.
pub(super) fn whole_seconds(span: Duration) -> u64 {
    span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0)).min(MOST)
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name } => {
                write!(f, "the name {name:?}: it must be 1 to {LONGEST_NAME_BYTES} bytes of printable ASCII")
            }
            Self::ZeroQuota => write!(f, "a quota of 0: it must be at least 1"),
        }
    }
}

impl std::error::Error for PolicyError {}
