//! The names of header fields: which limit a field speaks of, and how it says it.

use core::time::Duration;

use super::window::{Dimension, Period};

const DAY: u64 = 86_400;

/// What a field tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Limit,
    Remaining,
    Reset,
    /// A span that outranks `Reset` (Discord).
    ResetAfter,
    /// The length of the window in seconds (Azure).
    Renewal,
    Utilization,
    Status,
    /// `used/size` (Shopify).
    UsedOfLimit,
}

/// How a reset is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Go's durations, or a bare number that is seconds or milliseconds: time to full.
    OpenAi,
    /// RFC 3339: time to full.
    Anthropic,
    /// Seconds from the epoch, or a span, or a date: the end of a window.
    Any,
}

/// Which limit a field speaks of, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) dimension: Dimension,
    /// The period, if the name has it.
    pub(super) period: Option<Period>,
    pub(super) field: Field,
    pub(super) form: Form,
}

impl Place {
    const fn new(dimension: Dimension, field: Field, form: Form) -> Self {
        Self { dimension, period: None, field, form }
    }

    /// The place of a field by its name in lower case; none if it does not speak of a limit.
    pub(super) fn of(name: &str) -> Option<Self> {
        let requests = |field| Self::new(Dimension::Requests, field, Form::Any);
        if let Some(rest) = name.strip_prefix("x-ratelimit-") {
            return Self::of_rate_limit(rest);
        }
        if let Some(rest) = name.strip_prefix("anthropic-") {
            return Self::of_anthropic(rest);
        }
        match name {
            "x-shopify-shop-api-call-limit" => return Some(requests(Field::UsedOfLimit)),
            "x-endpoint-monthly-call-limit" => {
                return Some(Self { period: Some(Period::Month), ..requests(Field::Limit) });
            }
            _ => {}
        }
        const PREFIXES: [(&str, Dimension); 5] = [
            ("x-rate-limit-", Dimension::Requests),
            ("ratelimit-", Dimension::Requests),
            ("x-tokenlimit-", Dimension::Tokens),
            ("x-trial-endpoint-call-", Dimension::TrialCalls),
            ("ratelimitbysize-", Dimension::Tokens),
        ];
        let plain = PREFIXES.iter().find_map(|(prefix, dimension)| {
            Some(Self::new(*dimension, whole_field(name.strip_prefix(prefix)?)?, Form::Any))
        });
        plain.or_else(|| Self::of_period(Dimension::Tokens, name.strip_prefix("x-ratelimitbysize-")?))
    }

    /// What follows `x-ratelimit-`: a field alone, or a field and what it counts.
    fn of_rate_limit(rest: &str) -> Option<Self> {
        if rest == "reset-after" {
            return Some(Self::new(Dimension::Requests, Field::ResetAfter, Form::Any));
        }
        if let Some(field) = whole_field(rest) {
            return Some(Self::new(Dimension::Requests, field, Form::Any));
        }
        let (field, counted) = rest.split_once('-')?;
        let field = if field == "renewalperiod" { Field::Renewal } else { whole_field(field)? };
        if let Some(dimension) = counted_by_name(counted) {
            return Some(Self::new(dimension, field, Form::OpenAi));
        }
        let (counted, period) = counted.split_once('-')?;
        let dimension = match counted {
            "req" | "requests" => Dimension::Requests,
            "tokens" => Dimension::Tokens,
            _ => return None,
        };
        Some(Self { period: Some(period_by_name(period)?), ..Self::new(dimension, field, Form::Any) })
    }

    /// A field and the name of a period.
    fn of_period(dimension: Dimension, rest: &str) -> Option<Self> {
        let (field, period) = rest.split_once('-')?;
        let period = Some(period_by_name(period)?);
        Some(Self { period, ..Self::new(dimension, whole_field(field)?, Form::Any) })
    }

    fn of_anthropic(rest: &str) -> Option<Self> {
        if let Some(rest) = rest.strip_prefix("ratelimit-unified-") {
            return Self::of_unified(rest);
        }
        let (counted, field) = rest.rsplit_once('-')?;
        let dimension = match counted {
            "ratelimit-requests" => Dimension::Requests,
            "ratelimit-tokens" => Dimension::Tokens,
            "ratelimit-input-tokens" => Dimension::InputTokens,
            "ratelimit-output-tokens" => Dimension::OutputTokens,
            "priority-input-tokens" => Dimension::PriorityInputTokens,
            "priority-output-tokens" => Dimension::PriorityOutputTokens,
            "fast-input-tokens" => Dimension::FastInputTokens,
            "fast-output-tokens" => Dimension::FastOutputTokens,
            _ => return None,
        };
        Some(Self::new(dimension, whole_field(field)?, Form::Anthropic))
    }

    fn of_unified(rest: &str) -> Option<Self> {
        let (window, field) = rest.split_once('-')?;
        let dimension = match window {
            "5h" => Dimension::Unified5h,
            "7d" => Dimension::Unified7d,
            "overage" => Dimension::UnifiedOverage,
            _ => return None,
        };
        let field = match field {
            "utilization" => Field::Utilization,
            "status" => Field::Status,
            "reset" => Field::Reset,
            _ => return None,
        };
        Some(Self::new(dimension, field, Form::Any))
    }

    /// To what the figures of this dimension are rounded.
    pub(super) fn granularity(self) -> u64 {
        if self.form == Form::Anthropic && self.dimension != Dimension::Requests { 1_000 } else { 1 }
    }
}

fn whole_field(name: &str) -> Option<Field> {
    match name {
        "limit" => Some(Field::Limit),
        "remaining" => Some(Field::Remaining),
        "reset" => Some(Field::Reset),
        _ => None,
    }
}

fn counted_by_name(name: &str) -> Option<Dimension> {
    match name {
        "requests" => Some(Dimension::Requests),
        "tokens" => Some(Dimension::Tokens),
        "project-tokens" => Some(Dimension::ProjectTokens),
        "input-images" => Some(Dimension::InputImages),
        "input-tokens" => Some(Dimension::InputTokens),
        "output-tokens" => Some(Dimension::OutputTokens),
        _ => None,
    }
}

/// `minute`, `5-minute`, `month`.
fn period_by_name(name: &str) -> Option<Period> {
    let (number, unit) = name.split_once('-').unwrap_or(("1", name));
    let seconds = match unit {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => DAY,
        "week" => 7 * DAY,
        "month" if number == "1" => return Some(Period::Month),
        _ => return None,
    };
    let seconds = super::number::count(number)?.checked_mul(seconds).filter(|seconds| *seconds > 0)?;
    Some(Period::Span(Duration::from_secs(seconds)))
}
