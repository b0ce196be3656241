//! The fields of one response, put together to windows.

use core::time::Duration;

use smallvec::SmallVec;

use super::ietf::limit_with_tail;
use super::moment::rfc3339;
use super::names::{Field, Form, Place};
use super::number::{capped, count, decimal, go_duration, seconds};
use super::provider::Provider;
use super::reading::Reading;
use super::window::{Dimension, Period, Reset, Status, Window};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// What is known of each window beside what it says.
pub(super) struct Fields {
    /// Whose conventions are stated.
    stated: Option<Provider>,
    /// Whose they are, stated or found.
    provider: Option<Provider>,
    /// One for each window that has been read.
    notes: SmallVec<[Note; 6]>,
}

#[derive(Clone, Copy)]
struct Note {
    /// The period in the window's name.
    period: Option<Period>,
    /// A reset without a unit.
    bare: Option<u64>,
    /// The length of the window, in seconds.
    renewal: Option<u64>,
    /// A reset that outranks others was read.
    is_after: bool,
    /// A figure was said to be unknown.
    is_unknown: bool,
}

impl Fields {
    pub(super) fn new(stated: Option<Provider>, provider: Option<Provider>) -> Self {
        Self { stated, provider, notes: SmallVec::new() }
    }

    /// Reads one field; `None` if it is malformed.
    pub(super) fn read(&mut self, reading: &mut Reading<'_>, place: Place, text: &str) -> Option<()> {
        let said = match place.field {
            Field::Limit | Field::Remaining if text == "-1" => Said::Unknown,
            Field::Limit if place.form == Form::Any => limit(text, &mut reading.policies)?,
            Field::Limit => Said::Limit(count(text)?),
            Field::Remaining => Said::Remaining(count(text)?),
            Field::Reset => self.reset(reading, place, text)?,
            Field::ResetAfter => Said::After(seconds(text)?),
            Field::Renewal => Said::Renewal(count(text).filter(|seconds| *seconds > 0)?),
            Field::Utilization => decimal(text).and_then(|_| text.parse().ok()).map(Said::Utilization)?,
            Field::Status => Said::Status(status(text)?),
            Field::UsedOfLimit => used_of_limit(text)?,
        };
        let (window, note) = self.entry(reading, place)?;
        apply(said, window, note);
        Some(())
    }

    /// What only all fields together tell.
    pub(super) fn finish(&self, reading: &mut Reading<'_>) {
        for (window, note) in reading.windows.iter_mut().zip(&self.notes) {
            if let Some(seconds) = note.renewal {
                window.period = Some(Period::Span(capped(u128::from(seconds) * 1_000_000_000)));
            }
            if let Some(bare) = note.bare {
                window.reset = Some(Reset::TimeToFull(bare_reset(bare, window, note.renewal)));
            }
            if self.provider == Some(Provider::Groq) {
                window.period = window.period.or(match window.dimension {
                    Dimension::Requests => Some(Period::Span(DAY)),
                    Dimension::Tokens => Some(Period::Span(MINUTE)),
                    _ => None,
                });
            }
        }
        let unknown = |at: usize| self.notes.get(at).is_some_and(|note| note.is_unknown);
        let mut at = 0;
        reading.windows.retain(|window| {
            at += 1;
            !(unknown(at - 1) && window.limit.is_none() && window.remaining.is_none())
        });
    }

    fn reset(&self, reading: &Reading<'_>, place: Place, text: &str) -> Option<Said> {
        match place.form {
            Form::Anthropic => Some(Said::Reset(Reset::TimeToFull(reading.base.until(rfc3339(text)?)))),
            Form::Any => reading.base.until_any(text).map(|span| Said::Reset(Reset::WindowEnd(span))),
            Form::OpenAi => {
                match count(text).filter(|bare| *bare > 0 && self.may_be_bare() || self.is_azure()) {
                    Some(bare) => Some(Said::Bare(bare)),
                    None => go_duration(text).map(|span| Said::Reset(Reset::TimeToFull(span))),
                }
            }
        }
    }

    /// Those who are known to write Go's durations do not write bare numbers.
    fn may_be_bare(&self) -> bool {
        !matches!(self.stated, Some(Provider::OpenAi | Provider::Groq))
    }

    fn is_azure(&self) -> bool {
        self.provider == Some(Provider::Azure)
    }

    /// The window that a field belongs to, a new one if it is the first of it.
    fn entry<'r>(
        &mut self,
        reading: &'r mut Reading<'_>,
        place: Place,
    ) -> Option<(&'r mut Window, &mut Note)> {
        let mut known = reading.windows.iter().zip(&self.notes);
        let at = known
            .position(|(window, note)| window.dimension == place.dimension && note.period == place.period);
        let at = at.unwrap_or_else(|| {
            let (period, granularity) = (place.period, place.granularity());
            reading.windows.push(Window { period, granularity, ..Window::new(place.dimension) });
            self.notes.push(Note { period, bare: None, renewal: None, is_after: false, is_unknown: false });
            self.notes.len() - 1
        });
        Some((reading.windows.get_mut(at)?, self.notes.get_mut(at)?))
    }
}

/// What one field said.
enum Said {
    Unknown,
    Limit(u64),
    Remaining(u64),
    Both { limit: u64, remaining: u64 },
    Reset(Reset),
    After(Duration),
    Bare(u64),
    Renewal(u64),
    Utilization(f64),
    Status(Status),
}

fn apply(said: Said, window: &mut Window, note: &mut Note) {
    match said {
        Said::Unknown => note.is_unknown = true,
        Said::Limit(limit) => window.limit = Some(limit),
        Said::Remaining(remaining) => window.remaining = Some(remaining),
        Said::Both { limit, remaining } => {
            (window.limit, window.remaining) = (Some(limit), Some(remaining));
        }
        Said::Reset(_) if note.is_after => {}
        Said::Reset(reset) => window.reset = Some(reset),
        Said::After(span) => (window.reset, note.is_after) = (Some(Reset::WindowEnd(span)), true),
        Said::Bare(bare) => note.bare = Some(bare),
        Said::Renewal(seconds) => note.renewal = Some(seconds),
        Said::Utilization(share) => window.utilization = Some(share),
        Said::Status(status) => window.status = Some(status),
    }
}

/// A limit, maybe with the policies of draft -03 behind it.
fn limit(text: &str, policies: &mut Vec<super::ietf::Policy>) -> Option<Said> {
    if let Some(limit) = count(text) {
        return Some(Said::Limit(limit));
    }
    let (limit, tail) = limit_with_tail(text)?;
    policies.extend(tail);
    Some(Said::Limit(limit))
}

fn status(text: &str) -> Option<Status> {
    match text {
        "allowed" => Some(Status::Allowed),
        "allowed_warning" => Some(Status::AllowedWarning),
        "rejected" => Some(Status::Rejected),
        _ => None,
    }
}

/// `32/40`: 32 of 40 are used.
fn used_of_limit(text: &str) -> Option<Said> {
    let (used, limit) = text.split_once('/')?;
    let (used, limit) = (count(used)?, count(limit)?);
    Some(Said::Both { limit, remaining: limit.saturating_sub(used) })
}

/// A reset without a unit is in seconds or in milliseconds, whichever is nearer to the time that what is missing takes at
/// the published rate. A reset at once of what is exhausted contradicts itself; then the renewal is the bound.
fn bare_reset(bare: u64, window: &Window, renewal: Option<u64>) -> Duration {
    let as_seconds = capped(u128::from(bare) * 1_000_000_000);
    let (Some(limit), Some(remaining), Some(renewal)) = (window.limit, window.remaining, renewal) else {
        return as_seconds;
    };
    if remaining == 0 && bare == 0 {
        return capped(u128::from(renewal) * 1_000_000_000);
    }
    // Both distances from the expected time, times the limit, in milliseconds.
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let expected = product(limit.saturating_sub(remaining), renewal).saturating_mul(1_000);
    let in_seconds = product(bare, limit).saturating_mul(1_000);
    let in_millis = product(bare, limit);
    if in_seconds.abs_diff(expected) <= in_millis.abs_diff(expected) {
        as_seconds
    } else {
        capped(u128::from(bare) * 1_000_000)
    }
}
