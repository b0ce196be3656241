//! The fields of draft-ietf-httpapi-ratelimit-headers, by a parser of structured fields (RFC 9651).

use core::time::Duration;

use http::{HeaderMap, HeaderName};
use sfv::{BareItem, Item, List, ListEntry, Parameters, Parser};

use super::number::capped;
use super::window::{Dimension, Period, Reset, Window};

const NANOS_PER_SEC: u128 = 1_000_000_000;

pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Which draft of draft-ietf-httpapi-ratelimit-headers an upstream follows. The syntax is one, the meaning of `t` is not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum IetfDraft {
    /// -08 to -10: names may be tokens, as their examples are, and `t` is when there is more: [`Reset::NextUnit`].
    UpTo10,
    /// -11: names are strings, and `t` is how long what remains is to last: [`Reset::EffectiveWindow`].
    #[default]
    From11,
}

/// A rule that an upstream announces.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Policy {
    /// Its name.
    pub name: Option<Box<str>>,
    /// How much it allows (`q`).
    pub quota: u64,
    /// What it counts (`qu`), requests if it does not say.
    pub unit: Option<Box<str>>,
    /// In how long (`w`).
    pub window: Option<Duration>,
    /// Whose share it is (`pk`).
    pub partition_key: Option<Box<[u8]>>,
}

impl Policy {
    fn dimension(&self) -> Dimension {
        match self.unit.as_deref() {
            None | Some("requests" | "request") => Dimension::Requests,
            Some("content-bytes") => Dimension::ContentBytes,
            Some("concurrent-requests") => Dimension::ConcurrentRequests,
            Some("tokens") => Dimension::Tokens,
            Some(_) => Dimension::Other,
        }
    }
}

/// The members of `RateLimit-Policy`; an error if any of it is malformed. `counts` are members of draft -03: `100;w=60`.
pub(super) fn policies(headers: &HeaderMap, draft: IetfDraft, counts: bool) -> Result<Vec<Policy>, ()> {
    let items = items(headers, &POLICY)?;
    let policy = |item: &Item| policy(item, draft, counts);
    let policies = items.iter().map(policy).collect::<Option<Vec<_>>>().ok_or(())?;
    if policies.is_empty() { Err(()) } else { Ok(policies) }
}

/// The members of `RateLimit`, with what the policies of the same name say.
pub(super) fn windows(headers: &HeaderMap, draft: IetfDraft, policies: &[Policy]) -> Result<Vec<Window>, ()> {
    let items = items(headers, &RATE_LIMIT)?;
    items.iter().map(|item| window(item, draft, policies)).collect::<Option<_>>().ok_or(())
}

/// The first number of `10, 10;w=1;name="per-ip"` (draft -03), and the policies behind it.
pub(super) fn limit_with_tail(text: &str) -> Option<(u64, Vec<Policy>)> {
    let items = members(text.as_bytes()).ok()?;
    let (first, tail) = items.split_first()?;
    let policies =
        tail.iter().map(|item| policy(item, IetfDraft::From11, true).filter(|it| it.window.is_some()));
    Some((whole(&first.bare_item)?, policies.collect::<Option<_>>()?))
}

fn policy(item: &Item, draft: IetfDraft, counts: bool) -> Option<Policy> {
    let (name, quota) = match whole(&item.bare_item) {
        Some(count) if counts => (text(item.params.get("name")).ok()?, count),
        _ => (Some(name(&item.bare_item, draft)?), whole(item.params.get("q")?)?),
    };
    let window = match item.params.get("w") {
        Some(seconds) => Some(whole(seconds).filter(|seconds| *seconds > 0).map(span)?),
        None => None,
    };
    let unit = text(item.params.get("qu")).ok()?;
    Some(Policy { name, quota, unit, window, partition_key: partition_key(&item.params).ok()? })
}

fn window(item: &Item, draft: IetfDraft, policies: &[Policy]) -> Option<Window> {
    let name = name(&item.bare_item, draft)?;
    let partition_key = partition_key(&item.params).ok()?;
    let reset = match item.params.get("t") {
        Some(seconds) => Some(span(whole(seconds)?)),
        None => None,
    };
    let meaning = match draft {
        IetfDraft::UpTo10 => Reset::NextUnit,
        IetfDraft::From11 => Reset::EffectiveWindow,
    };
    let named = || policies.iter().filter(|policy| policy.name.as_deref() == Some(&*name));
    let policy = named().find(|policy| policy.partition_key == partition_key).or_else(|| named().next());
    Some(Window {
        remaining: Some(whole(item.params.get("r")?)?),
        reset: reset.map(meaning),
        limit: policy.map(|policy| policy.quota),
        period: policy.and_then(|policy| policy.window).map(Period::Span),
        name: Some(name),
        partition_key,
        ..Window::new(policy.map_or(Dimension::Other, Policy::dimension))
    })
}

/// The members of all lines of a field. A list may be split over lines, but no member of it.
fn items(headers: &HeaderMap, name: &HeaderName) -> Result<Vec<Item>, ()> {
    let mut items = Vec::new();
    for line in headers.get_all(name) {
        items.extend(members(line.as_bytes())?);
    }
    Ok(items)
}

fn members(line: &[u8]) -> Result<Vec<Item>, ()> {
    let list: List = Parser::new(line).parse().map_err(drop)?;
    let item = |entry| match entry {
        ListEntry::Item(item) => Ok(item),
        ListEntry::InnerList(_) => Err(()),
    };
    list.into_iter().map(item).collect()
}

fn name(item: &BareItem, draft: IetfDraft) -> Option<Box<str>> {
    match item {
        BareItem::String(name) => Some(name.as_str().into()),
        BareItem::Token(name) if draft == IetfDraft::UpTo10 => Some(name.as_str().into()),
        _ => None,
    }
}

fn whole(item: &BareItem) -> Option<u64> {
    let BareItem::Integer(number) = item else { return None };
    u64::try_from(i64::from(*number)).ok()
}

fn text(item: Option<&BareItem>) -> Result<Option<Box<str>>, ()> {
    match item {
        None => Ok(None),
        Some(BareItem::String(text)) => Ok(Some(text.as_str().into())),
        Some(_) => Err(()),
    }
}

fn partition_key(params: &Parameters) -> Result<Option<Box<[u8]>>, ()> {
    match params.get("pk") {
        None => Ok(None),
        Some(BareItem::ByteSequence(key)) => Ok(Some(key.as_slice().into())),
        Some(_) => Err(()),
    }
}

fn span(seconds: u64) -> Duration {
    capped(u128::from(seconds) * NANOS_PER_SEC)
}
