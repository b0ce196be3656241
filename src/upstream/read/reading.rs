//! What one response says.

use core::time::Duration;
use std::time::SystemTime;

use http::{HeaderName, StatusCode};
use smallvec::SmallVec;

use super::LONGEST;
use super::ietf::Policy;
use super::moment::Moment;
use super::provider::Provider;
use super::retry::{Pushback, RetryAfter};
use super::window::{Dimension, Window};

/// What a failed response means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Class {
    /// A limit was passed; it will be there again.
    RateLimit,
    /// A quota is used up, and no wait that a client would make helps.
    QuotaTerminal,
    /// The upstream has too much to do, whoever asks.
    Overloaded,
    /// It does not say.
    Unknown,
}

/// Whose limit was passed (Discord).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Scope {
    /// That of this client for one route.
    User,
    /// That of this client for all of it.
    Global,
    /// One that others share, so it is not this client's fault.
    Shared,
}

/// What one response says about the limits of who sent it; made by [`Reader::read`](super::Reader::read).
#[derive(Clone, Debug)]
pub struct Reading<'h> {
    pub(super) status: StatusCode,
    pub(super) base: Moment,
    pub(super) date: Option<Moment>,
    pub(super) provider: Option<Provider>,
    pub(super) windows: SmallVec<[Window; 6]>,
    pub(super) policies: Vec<Policy>,
    pub(super) malformed: SmallVec<[HeaderName; 1]>,
    pub(super) retry_after: Option<RetryAfter>,
    /// Whether it asks for a wait in a number that is too long to be read.
    pub(super) is_endless: bool,
    pub(super) pushback: Option<Pushback>,
    pub(super) should_retry: Option<bool>,
    pub(super) class: Option<Class>,
    pub(super) scope: Option<Scope>,
    pub(super) is_global: Option<bool>,
    pub(super) bucket: Option<&'h str>,
    pub(super) resource: Option<&'h str>,
    pub(super) query_cost: Option<u64>,
    pub(super) age: Option<Duration>,
}

impl<'h> Reading<'h> {
    pub(super) fn new(status: StatusCode, base: Moment, provider: Option<Provider>) -> Self {
        Self {
            status,
            base,
            date: None,
            provider,
            windows: SmallVec::new(),
            policies: Vec::new(),
            malformed: SmallVec::new(),
            retry_after: None,
            is_endless: false,
            pushback: None,
            should_retry: None,
            class: None,
            scope: None,
            is_global: None,
            bucket: None,
            resource: None,
            query_cost: None,
            age: None,
        }
    }

    /// The status of the response.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Its `Date`: when it was made, by the upstream's clock.
    pub fn date(&self) -> Option<SystemTime> {
        self.date.map(SystemTime::from)
    }

    /// Who sent it: as stated, or as the headers tell.
    pub const fn provider(&self) -> Option<Provider> {
        self.provider
    }

    /// What it says of each limit.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The first window of a dimension.
    pub fn window(&self, dimension: Dimension) -> Option<&Window> {
        self.windows.iter().find(|window| window.dimension == dimension)
    }

    /// The rules that it announces (IETF, Envoy).
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// The names of fields that could not be read. Each was left out, and nothing else.
    pub fn malformed(&self) -> &[HeaderName] {
        &self.malformed
    }

    /// How long it asks to wait. On success, where some upstreams send the field without meaning it, only gRPC's pushback
    /// counts: its refusals have the status 200.
    pub const fn retry_after(&self) -> Option<RetryAfter> {
        self.retry_after
    }

    /// gRPC's word on retrying.
    pub const fn pushback(&self) -> Option<Pushback> {
        self.pushback
    }

    /// What `x-should-retry` says, which outranks the status.
    pub const fn should_retry(&self) -> Option<bool> {
        self.should_retry
    }

    /// What the failure means, once the body was read.
    pub const fn class(&self) -> Option<Class> {
        self.class
    }

    /// Whose limit was passed (Discord).
    pub const fn scope(&self) -> Option<Scope> {
        self.scope
    }

    /// Whether the limit holds for all routes, if it says so (Discord).
    pub const fn is_global(&self) -> Option<bool> {
        self.is_global
    }

    /// The bucket that the limit belongs to (Discord).
    pub const fn bucket(&self) -> Option<&'h str> {
        self.bucket
    }

    /// The resource that the limit belongs to (GitHub).
    pub const fn resource(&self) -> Option<&'h str> {
        self.resource
    }

    /// What this call cost (Mistral in tokens, Shopify's GraphQL in points).
    pub const fn query_cost(&self) -> Option<u64> {
        self.query_cost
    }

    /// How long it lay in a cache. What is older than nothing says little about limits.
    pub const fn age(&self) -> Option<Duration> {
        self.age
    }

    /// Whether no wait helps: the quota is used up, the model is not part of the plan, or the upstream says not to retry.
    pub fn is_terminal(&self) -> bool {
        let closed = self.windows.iter().any(|window| window.limit == Some(0));
        self.class == Some(Class::QuotaTerminal)
            || self.pushback == Some(Pushback::Never)
            || self.should_retry == Some(false)
            || (closed && !self.status.is_success())
    }

    /// How long until a call may be let through: what is asked for, or else the longest wait for one unit of what is
    /// exhausted. `None` if it says neither. Terminal refusals are for [`Reading::is_terminal`].
    ///
    /// A wait of more than 18 digits is malformed, so [`retry_after`](Self::retry_after) does not tell it; here it is
    /// [`LONGEST`], for it must not become a short one.
    pub fn wait(&self) -> Option<Duration> {
        let exhausted = self.windows.iter().filter(|window| window.remaining == Some(0));
        let longest = || exhausted.filter_map(|window| window.wait_for(1)).max();
        let asked = self.retry_after.map(|asked| asked.wait);
        asked.or(self.is_endless.then_some(LONGEST)).or_else(longest)
    }

    /// Notes a field that could not be read, once.
    pub(super) fn spoil(&mut self, name: &HeaderName) {
        if !self.malformed.contains(name) {
            self.malformed.push(name.clone());
        }
    }
}
