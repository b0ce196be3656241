//! Which of several limits refused, and when to ask again.

use std::fmt;
use std::time::Duration;

use crate::budget::run::{Ended, NoCall, Reserved};
use crate::decision::Denied;
#[cfg(feature = "inflight")]
use crate::inflight::NoPermit;

/// Why one limit refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
#[non_exhaustive]
pub enum Reason {
    /// A rate or a budget refuses.
    Denied(Denied),
    /// Too much is in flight.
    #[cfg(feature = "inflight")]
    NoPermit(NoPermit),
    /// A run is over. That is no refusal to come back from: nothing of it is ever refilled.
    Ended(Ended),
    /// A run's open calls have reserved what is left.
    Reserved(Reserved),
}

/// The refusal of several limits that were asked as one. Nothing was taken from any of them.
///
/// If more than one refuses, it names the one that stands in the way longest: a run that is over, or else one
/// that refuses for ever, or else the one with the largest wait; of equal ones the first. A limit on work in
/// flight, or a run whose own calls stand in the way, has no wait to tell. It is named only if no other
/// refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
pub struct Refused<'n> {
    name: &'n str,
    place: usize,
    reason: Reason,
}

/// The refusal that stands in the way longest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worst(Option<(usize, Reason)>);

impl Reason {
    /// How long until the same cost would fit; zero where that depends on work in flight or calls that are
    /// open, `None` if it never will.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Denied(denied) => denied.wait(),
            #[cfg(feature = "inflight")]
            Self::NoPermit(no) => no.is_for_now().then_some(Duration::ZERO),
            Self::Ended(_) => None,
            Self::Reserved(_) => Some(Duration::ZERO),
        }
    }

    /// The end of the run, if that is why: no cost of it will be admitted again, while a reason without a
    /// wait may be gone with a smaller one.
    pub fn ended(&self) -> Option<Ended> {
        match *self {
            Self::Ended(ended) => Some(ended),
            _ => None,
        }
    }
}

impl<'n> Refused<'n> {
    /// The name of the limit that refused.
    pub fn name(&self) -> &'n str {
        self.name
    }

    /// Its place among the limits, from 0.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Why it refused.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The largest wait of all limits that refused, after which all would admit if nobody else takes the
    /// tokens first; zero where only work in flight or calls that are open stand in the way, `None` if one of
    /// them never will admit.
    pub fn wait(&self) -> Option<Duration> {
        self.reason.wait()
    }

    /// The end of the run, if one of the limits is a run that is over. To be told apart from all that a
    /// caller may come back from.
    pub fn ended(&self) -> Option<Ended> {
        self.reason.ended()
    }

    /// The wait in whole seconds, rounded up and never zero, for a `Retry-After` field; `None` if it never
    /// will fit.
    pub fn retry_after(&self) -> Option<Duration> {
        let wait = self.wait()?;
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Some(Duration::from_secs(seconds.max(1)))
    }
}

impl Worst {
    pub(super) fn add(&mut self, place: usize, reason: Reason) {
        let stands_longer = |than: Reason| match (reason.wait(), than.wait()) {
            (None, None) => reason.ended().is_some() && than.ended().is_none(),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(wait), Some(than)) => wait > than,
        };
        if self.0.is_none_or(|(_, worst)| stands_longer(worst)) {
            self.0 = Some((place, reason));
        }
    }

    pub(super) fn is_refusal(&self) -> bool {
        self.0.is_some()
    }

    #[cold]
    pub(in crate::budget) fn named<'n>(self, name: impl FnOnce(usize) -> &'n str) -> Refused<'n> {
        let (place, reason) = self.0.unwrap_or((0, Reason::Denied(Denied::ZeroCost)));
        Refused { name: name(place), place, reason }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            #[cfg(feature = "inflight")]
            Self::NoPermit(no) => no.fmt(f),
            Self::Ended(ended) => ended.fmt(f),
            Self::Reserved(reserved) => reserved.fmt(f),
        }
    }
}

impl From<NoCall> for Reason {
    fn from(no: NoCall) -> Self {
        match no {
            NoCall::Ended(ended) => Self::Ended(ended),
            NoCall::Reserved(reserved) => Self::Reserved(reserved),
        }
    }
}

impl fmt::Display for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by `{}`: {}", self.name, self.reason)
    }
}

impl std::error::Error for Reason {}

impl std::error::Error for Refused<'_> {}
