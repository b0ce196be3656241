//! Reads a response.

use std::time::SystemTime;

use core::time::Duration;

use http::header::AGE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::fields::Fields;
use super::grpc;
use super::ietf::{self, IetfDraft, POLICY, RATE_LIMIT};
use super::moment::Moment;
use super::names::Place;
use super::number::{count, is_beyond_reading};
use super::provider::Provider;
use super::reading::{Reading, Scope};
use super::retry::{Pushback, RetryAfter, RetrySource, retry_after, text};
use crate::rpc;

/// Reads what responses say about limits.
///
/// A field that is malformed is left out, and nothing else is. Reading allocates nothing where the fields are a provider's
/// own; structured fields of the IETF drafts are parsed into memory. It costs one walk over the fields.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use tollgate::upstream::{Dimension, Reader, Reset};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-ratelimit-limit-tokens", HeaderValue::from_static("150000"));
/// headers.insert("x-ratelimit-remaining-tokens", HeaderValue::from_static("149984"));
/// headers.insert("x-ratelimit-reset-tokens", HeaderValue::from_static("7ms"));
///
/// let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::now());
/// let tokens = reading.window(Dimension::Tokens).unwrap();
/// assert_eq!((tokens.limit, tokens.remaining), (Some(150_000), Some(149_984)));
/// assert_eq!(tokens.reset, Some(Reset::TimeToFull(Duration::from_millis(7))));
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct Reader {
    provider: Option<Provider>,
    draft: IetfDraft,
}

impl Reader {
    /// A reader that finds out whose conventions a response follows.
    pub const fn new() -> Self {
        Self { provider: None, draft: IetfDraft::From11 }
    }

    /// A reader of one provider's responses.
    pub const fn of(provider: Provider) -> Self {
        Self { provider: Some(provider), ..Self::new() }
    }

    /// Reads the IETF fields as this draft means them.
    #[must_use]
    pub const fn with_draft(self, draft: IetfDraft) -> Self {
        Self { draft, ..self }
    }

    /// What the header fields say. `now` is the wall time of arrival, for resets that are points in time; the response's
    /// `Date` outranks it.
    pub fn read<'h>(self, status: StatusCode, headers: &'h HeaderMap, now: SystemTime) -> Reading<'h> {
        let provider = self.provider.or_else(|| Provider::detect(headers));
        // By its own date, so that a clock that is wrong on either side does not matter, or else by the caller's.
        let date = Moment::of(headers);
        let mut reading = Reading::new(status, date.unwrap_or_else(|| now.into()), provider);
        reading.date = date;
        let mut fields = Fields::new(self.provider, provider);
        let mut last = None;
        for (name, value) in headers {
            // Of a field that is repeated the first counts.
            if last.replace(name) == Some(name) || own(&mut reading, name, value) {
                continue;
            }
            let Some(place) = Place::of(name.as_str()) else { continue };
            if text(value).and_then(|text| fields.read(&mut reading, place, text)).is_none() {
                reading.spoil(name);
            }
        }
        fields.finish(&mut reading);
        self.read_ietf(&mut reading, headers);
        read_waits(&mut reading, headers);
        reading
    }

    fn read_ietf(self, reading: &mut Reading<'_>, headers: &HeaderMap) {
        if headers.contains_key(POLICY) {
            match ietf::policies(headers, self.draft, headers.contains_key("ratelimit-limit")) {
                Ok(policies) => reading.policies.extend(policies),
                Err(()) => reading.spoil(&POLICY),
            }
        }
        if headers.contains_key(RATE_LIMIT) {
            match ietf::windows(headers, self.draft, &reading.policies) {
                Ok(windows) => reading.windows.extend(windows),
                Err(()) => reading.spoil(&RATE_LIMIT),
            }
        }
    }
}

const DETAILS: HeaderName = HeaderName::from_static(rpc::DETAILS);

fn read_waits(reading: &mut Reading<'_>, headers: &HeaderMap) {
    let mut is_endless = false;
    let asked = retry_after(reading.status, headers, reading.base, &mut |name| {
        is_endless |= headers.get(name).and_then(text).is_some_and(is_beyond_reading);
        reading.spoil(name);
    });
    let pushed = reading.pushback.and_then(|pushback| match pushback {
        Pushback::After(wait) => Some(RetryAfter { wait, source: RetrySource::Pushback }),
        Pushback::Never => None,
    });
    reading.retry_after = asked.or(pushed).or_else(|| told_in_details(reading, headers));
    reading.is_endless = is_endless && reading.retry_after.is_none();
}

fn told_in_details(reading: &mut Reading<'_>, headers: &HeaderMap) -> Option<RetryAfter> {
    let details = headers.get(DETAILS)?;
    let delay = grpc::retry_delay(details.as_bytes()).unwrap_or_else(|()| {
        reading.spoil(&DETAILS);
        None
    });
    delay.map(|wait| RetryAfter { wait, source: RetrySource::StatusDetails })
}

/// Reads a field that speaks of the response as a whole. Whether it was one.
fn own<'h>(reading: &mut Reading<'h>, name: &HeaderName, value: &'h HeaderValue) -> bool {
    let text = || text(value).unwrap_or_default();
    let truth = || match text() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    match name.as_str() {
        "x-should-retry" | "stripe-should-retry" => reading.should_retry = truth(),
        rpc::STATUS => reading.class = grpc::class(text()),
        rpc::PUSHBACK => reading.pushback = Some(Pushback::parse(text())),
        "x-ratelimit-bucket" => reading.bucket = Some(text()),
        "x-ratelimit-resource" => reading.resource = Some(text()),
        "x-ratelimit-global" => reading.is_global = truth(),
        "x-ratelimit-scope" => reading.scope = scope(text()),
        "x-ratelimit-tokens-query-cost" | "ratelimitbysize-query-cost" => {
            reading.query_cost = count(text());
            if reading.query_cost.is_none() {
                reading.spoil(name);
            }
        }
        _ if name == AGE => reading.age = count(text()).map(Duration::from_secs),
        _ => return false,
    }
    true
}

fn scope(text: &str) -> Option<Scope> {
    match text {
        "user" => Some(Scope::User),
        "global" => Some(Scope::Global),
        "shared" => Some(Scope::Shared),
        _ => None,
    }
}
