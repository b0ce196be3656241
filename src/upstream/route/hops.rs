//! The way of one call through the upstreams.

use core::fmt;
use core::time::Duration;

use super::doors::Coming;
use super::gate::Barred;
use super::{Hop, Places, Router};
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::lock;
use crate::upstream::{Cost, Refused};

/// The way of one call: where it goes first, and where it goes next if that fails. No upstream is tried twice.
///
/// Nothing is charged until [`try_next`](Self::try_next) says where to go, and then only that upstream is.
pub struct Hops<C: Clock = Monotonic> {
    router: Router<C>,
    cost: Cost,
    tried: Places,
}

/// Why a call can go nowhere. Nothing was charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the call may not be sent"]
#[non_exhaustive]
pub enum NoRoute {
    /// All are exhausted or closed, and this one is the first to return.
    NotYet {
        /// Where it can go then.
        upstream: usize,
        /// How long until then, if nobody takes anything meanwhile; never zero.
        wait: Duration,
    },
    /// All that would take the call have failed it. Whether and when to start again is for a
    /// [`RetryPolicy`](crate::upstream::RetryPolicy).
    Tried,
    /// None will ever take the call; why the first one does not.
    Never(Refused),
}

impl<C: Clock> Hops<C> {
    pub(super) fn new(router: Router<C>, cost: Cost) -> Self {
        Self { router, cost, tried: Places::new() }
    }

    /// Charges the next upstream that takes the call and was not tried yet, or refuses and charges nothing.
    ///
    /// # Errors
    ///
    /// [`NoRoute`] if there is none: nothing was charged.
    pub fn try_next(&mut self) -> Result<Hop<C>, NoRoute> {
        self.next(None)
    }

    /// The same, at the reading `now` of the upstreams' clocks.
    ///
    /// # Errors
    ///
    /// As [`try_next`](Self::try_next).
    pub fn try_next_at(&mut self, now: Nanos) -> Result<Hop<C>, NoRoute> {
        self.next(Some(now))
    }

    /// Upstreams that were tried, the latest last.
    pub fn tried(&self) -> &[usize] {
        &self.tried
    }

    fn next(&mut self, at: Option<Nanos>) -> Result<Hop<C>, NoRoute> {
        let order = self.router.in_order(&self.cost, at);
        let hop = self.by_shares(&order, at).ok_or_else(|| self.explain(&order, at))?;
        self.tried.push(hop.upstream());
        Ok(hop)
    }

    /// The first that takes it; if there is none, the first that would if it were in its share.
    fn by_shares(&self, order: &[usize], at: Option<Nanos>) -> Option<Hop<C>> {
        let mut not_in_share = Places::new();
        let mut coming = Coming::First;
        for &place in order {
            if !self.tried.contains(&place) {
                match self.enter(place, coming, at) {
                    Ok(hop) => return Some(hop),
                    Err(Some(Barred::Share)) => not_in_share.push(place),
                    Err(_) => {}
                }
            }
            coming = Coming::Over;
        }
        not_in_share.into_iter().find_map(|place| self.enter(place, Coming::Nowhere, at).ok())
    }

    /// Gate and mirror in one step: a call that the mirror refuses is no probe and takes no share.
    fn enter(&self, place: usize, coming: Coming, at: Option<Nanos>) -> Result<Hop<C>, Option<Barred>> {
        let (rules, upstream) = (&self.router.inner.rules, self.router.upstream(place).ok_or(None)?);
        let now = upstream.now(at);
        let mut doors = lock(&upstream.doors);
        doors.ask(&self.cost, coming, now, rules)?;
        let sent = upstream.mirror.try_send_at(&self.cost, Nanos::new(now)).map_err(|_| None)?;
        let number = doors.pass(&self.cost, now, rules);
        Ok(Hop::new(self.router.clone(), place, number, self.cost, sent))
    }

    #[cold]
    fn explain(&self, order: &[usize], at: Option<Nanos>) -> NoRoute {
        let (mut earliest, mut never) = (None::<(Duration, usize)>, None);
        for (nth, &place) in order.iter().enumerate() {
            match self.obstacle(place, nth == 0, at) {
                Ok(Duration::ZERO) if self.tried.contains(&place) => return NoRoute::Tried,
                Ok(wait) if earliest.is_none_or(|(other, _)| wait < other) => earliest = Some((wait, place)),
                Ok(_) => {}
                Err(refused) => never = never.or(Some(refused)),
            }
        }
        match (earliest, never) {
            // It was not there a moment ago, so it is never now.
            (Some((wait, upstream)), _) => {
                NoRoute::NotYet { upstream, wait: wait.max(Duration::from_nanos(1)) }
            }
            (None, Some(refused)) => NoRoute::Never(refused),
            (None, None) => NoRoute::Tried,
        }
    }

    /// How long until an upstream would take the call that can go nowhere else.
    fn obstacle(&self, place: usize, is_first: bool, at: Option<Nanos>) -> Result<Duration, Refused> {
        let Some(upstream) = self.router.upstream(place) else { return Ok(Duration::ZERO) };
        let (rules, now) = (&self.router.inner.rules, upstream.now(at));
        let mut doors = lock(&upstream.doors).clone();
        let mut ask = |coming| doors.ask(&self.cost, coming, now, rules);
        let barred = match is_first.then(|| ask(Coming::First)) {
            Some(answer) if answer != Err(Barred::Share) => answer,
            _ => ask(Coming::Nowhere),
        };
        let closed = match barred {
            Err(Barred::Until(at)) => Duration::from_nanos(at.saturating_sub(now)),
            Ok(()) | Err(Barred::Share) => Duration::ZERO,
        };
        Ok(upstream.mirror.wait_for_at(&self.cost, Nanos::new(now))?.max(closed))
    }
}

impl NoRoute {
    /// How long until an upstream takes the call; `None` if that is not a matter of waiting.
    pub const fn wait(&self) -> Option<Duration> {
        match self {
            Self::NotYet { wait, .. } => Some(*wait),
            Self::Tried | Self::Never(_) => None,
        }
    }
}

impl<C: Clock> fmt::Debug for Hops<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hops").field("cost", &self.cost).field("tried", &self.tried).finish_non_exhaustive()
    }
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet { upstream, wait } => write!(f, "not yet: upstream {upstream} returns in {wait:?}"),
            Self::Tried => write!(f, "every upstream that would take the call has failed it"),
            Self::Never(refused) => write!(f, "no upstream will take the call: {refused}"),
        }
    }
}

impl std::error::Error for NoRoute {}
