//! What is said about one limit.

use core::time::Duration;

use super::LONGEST;

/// What a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Dimension {
    /// Calls.
    Requests,
    /// Tokens of input and output together, or the tightest of several limits of tokens (Anthropic).
    Tokens,
    /// Tokens of input.
    InputTokens,
    /// Tokens of output.
    OutputTokens,
    /// Tokens of one project (OpenAI).
    ProjectTokens,
    /// Images of input (OpenAI).
    InputImages,
    /// Tokens of input in Anthropic's priority tier.
    PriorityInputTokens,
    /// Tokens of output in Anthropic's priority tier.
    PriorityOutputTokens,
    /// Tokens of input in Anthropic's fast mode.
    FastInputTokens,
    /// Tokens of output in Anthropic's fast mode.
    FastOutputTokens,
    /// A subscription's use of five hours (Anthropic, undocumented).
    Unified5h,
    /// A subscription's use of seven days (Anthropic, undocumented).
    Unified7d,
    /// Use beyond a subscription (Anthropic, undocumented).
    UnifiedOverage,
    /// Calls with a trial key (Cohere).
    TrialCalls,
    /// Points of cost (Shopify's GraphQL).
    Points,
    /// Bytes of content (IETF `qu="content-bytes"`).
    ContentBytes,
    /// Calls at one time (IETF `qu="concurrent-requests"`).
    ConcurrentRequests,
    /// A unit that is not known here; the policy has its name.
    Other,
}

/// When a limit has something to give again. All spans count from the response, are rounded up, and stop at [`LONGEST`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reset {
    /// In so long the allowance is full again; part of it comes sooner, evenly.
    TimeToFull(Duration),
    /// In so long a window ends, and all of the allowance is there at once.
    WindowEnd(Duration),
    /// In so long there is a little more than now.
    NextUnit(Duration),
    /// What remains is meant to last so long (IETF draft -11). It does not say when there will be more.
    EffectiveWindow(Duration),
}

impl Reset {
    /// The span, whatever it means.
    pub const fn span(self) -> Duration {
        match self {
            Self::TimeToFull(span)
            | Self::WindowEnd(span)
            | Self::NextUnit(span)
            | Self::EffectiveWindow(span) => span,
        }
    }
}

/// How long a limit's window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Period {
    /// So long.
    Span(Duration),
    /// A month, of 28 to 31 days.
    Month,
}

impl Period {
    /// The longest that it can be.
    pub const fn longest(self) -> Duration {
        match self {
            Self::Span(span) => span,
            Self::Month => Duration::from_secs(31 * 86_400),
        }
    }
}

/// Whether work is let through, in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Status {
    /// It is.
    Allowed,
    /// It is, but not for much longer.
    AllowedWarning,
    /// It is not.
    Rejected,
}

/// What an upstream says about one of its limits. What it did not say, or what could not be read, is `None`.
///
/// `remaining` may be above `limit`, and `limit` may be zero: upstreams send both.
///
/// ```
/// use std::time::Duration;
/// use tollgate::upstream::{Dimension, Reset, Window};
///
/// let mut window = Window::new(Dimension::Tokens);
/// (window.limit, window.remaining) = (Some(60_000), Some(0));
/// window.reset = Some(Reset::TimeToFull(Duration::from_secs(60)));
/// // A thousand tokens are there long before the bucket is full.
/// assert_eq!(window.wait_for(1_000), Some(Duration::from_secs(1)));
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Window {
    /// What it counts.
    pub dimension: Dimension,
    /// What it counts up to: the allowance of a window, or the capacity of a bucket.
    pub limit: Option<u64>,
    /// What is left of it.
    pub remaining: Option<u64>,
    /// When there is more.
    pub reset: Option<Reset>,
    /// How long its window is.
    pub period: Option<Period>,
    /// `remaining` is a multiple of this, to the nearest, so it may be too high by half of it.
    pub granularity: u64,
    /// The share that is used, 0 to 1, where that is said instead of a count (Anthropic's subscriptions).
    pub utilization: Option<f64>,
    /// Whether work is let through, where that is said in words (Anthropic's subscriptions).
    pub status: Option<Status>,
    /// The name of the policy (IETF).
    pub name: Option<Box<str>>,
    /// Whose share of the policy it is (IETF). Windows of different keys are different limits.
    pub partition_key: Option<Box<[u8]>>,
}

impl Window {
    /// A window of which nothing is known.
    pub const fn new(dimension: Dimension) -> Self {
        Self {
            dimension,
            limit: None,
            remaining: None,
            reset: None,
            period: None,
            granularity: 1,
            utilization: None,
            status: None,
            name: None,
            partition_key: None,
        }
    }

    /// How long until `cost` fits, as far as the upstream says: `None` if it does not, or if the cost is above the limit.
    ///
    /// A bucket that fills evenly is waited for as long as the cost needs, a window until it ends. Where the reset says
    /// neither, it is taken for the end of a window, which is the longer.
    pub fn wait_for(&self, cost: u64) -> Option<Duration> {
        if self.limit.is_some_and(|limit| cost > limit) {
            return None;
        }
        let remaining = self.remaining?.saturating_sub(self.granularity / 2);
        let missing = cost.saturating_sub(remaining);
        if missing == 0 {
            return Some(Duration::ZERO);
        }
        match (self.reset?, self.limit) {
            (Reset::TimeToFull(span), Some(limit)) if limit > remaining => {
                Some(share(span, missing, limit - remaining))
            }
            (reset, _) => Some(reset.span()),
        }
    }
}

/// `span * part / whole`, rounded up.
pub(in crate::upstream) fn share(span: Duration, part: u64, whole: u64) -> Duration {
    let nanos = span.min(LONGEST).as_nanos().saturating_mul(part.into()).div_ceil(u128::from(whole.max(1)));
    super::number::capped(nanos)
}
