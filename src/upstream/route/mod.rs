//! Which of several upstreams takes a call.

mod builder;
mod doors;
mod flow;
mod gate;
mod hop;
mod hops;
mod verdict;

use core::cmp::Reverse;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use smallvec::SmallVec;

pub use self::builder::{Order, RouterBuilder, RouterError};
use self::doors::Doors;
use self::gate::{Phase, Rules};
pub use self::hop::Hop;
pub use self::hops::{Hops, NoRoute};
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::{Mutex, lock};
use crate::upstream::{Cost, Mirror};

/// Several upstreams that can do the same work, each with the [`Mirror`] of its limits. Clones share it.
///
/// A call goes to the first upstream, in the [`Order`] of the router, that is well and has room for it, and is charged there
/// at once and nowhere else. If that refuses it or fails, the call moves on to the next: the next is charged then, and the
/// charge of the one before is what became of it there.
///
/// # An upstream that fails
///
/// After some failures in a row ([`RouterBuilder::failures`]), or at once where it says how long to wait, an upstream is
/// left alone. A 429 for a dimension that is used up, tokens for instance, closes it for calls that need that dimension;
/// 5xx, time-outs, failed connections and a 429 without figures close it for all. How long is what the upstream says, or
/// else the back-off ([`RouterBuilder::cooling`]). Then one call is let through as a probe. The others keep away until it has
/// succeeded or its deadline has passed; then the next one is the probe. If the probe fails the back-off doubles.
///
/// # No stampede
///
/// *Onto one that is back:* its share of the calls that would go to it rises evenly from none to all
/// ([`RouterBuilder::ramp`]). A share is counted, not thrown: every nth call goes there. It only divides calls between
/// upstreams, and a call that no other can take goes there all the same.
///
/// *Onto the next one:* what flows over to an upstream, because one before it cannot take it, is bounded by its own mirror,
/// and the number of calls at most doubles from one step to the next ([`RouterBuilder::slow_start`]), as in TCP's slow
/// start (RFC 5681). What is above that waits for a step.
///
/// ```
/// use std::time::SystemTime;
/// use http::{HeaderMap, StatusCode};
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Heard, Mirror, Reader, Router};
///
/// let mirror = || Mirror::builder().limit(Dimension::Requests, quota!("600/min")).build();
/// let router = Router::builder().upstream(mirror()?).upstream(mirror()?).build()?;
///
/// // Stands for the HTTP client: the first upstream is down.
/// let send = |upstream| if upstream == 0 { StatusCode::BAD_GATEWAY } else { StatusCode::OK };
/// let headers = HeaderMap::new();
///
/// let mut hops = router.hops(&Cost::requests(1));
/// let served_by = loop {
///     let hop = hops.try_next()?;
///     let (upstream, status) = (hop.upstream(), send(hop.upstream()));
///     hop.answered(&Reader::new().read(status, &headers, SystemTime::now()));
///     if status.is_success() {
///         break upstream;
///     }
/// };
/// assert_eq!(served_by, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
///
/// A lock of the upstream and one of its mirror for each upstream that is looked at, and no allocation; there is a call over a
/// network behind it.
///
/// # Sources
///
/// Failures in a row as in Envoy's outlier detection, one probe as in the half-open state of a circuit breaker (Nygard,
/// "Release It!"), rising shares as in the slow start of nginx and Envoy.
pub struct Router<C: Clock = Monotonic> {
    inner: Arc<Inner<C>>,
}

struct Inner<C: Clock> {
    upstreams: Box<[Upstream<C>]>,
    order: Order,
    rules: Rules,
}

struct Upstream<C: Clock> {
    mirror: Mirror<C>,
    doors: Mutex<Doors>,
}

/// How an upstream stands for all calls. For those that need one dimension it may be closed besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Standing {
    /// It takes calls.
    Open,
    /// It is left alone, for so long; zero if the next call is the probe.
    Closed(Duration),
    /// A probe is on its way. Another one is sent after so long.
    Probing(Duration),
    /// It is back, and takes so many of a thousand calls.
    Ramping(u32),
}

/// Indices of upstreams. There are few, and the list is short-lived.
type Places = SmallVec<[usize; 4]>;

impl Router {
    /// A builder of a router without upstreams.
    pub fn builder<C: Clock>() -> RouterBuilder<C> {
        RouterBuilder::new()
    }
}

impl<C: Clock> Router<C> {
    /// The way of one call through the upstreams.
    pub fn hops(&self, cost: &Cost) -> Hops<C> {
        Hops::new(self.clone(), *cost)
    }

    /// The first hop of a call that will not move on.
    ///
    /// # Errors
    ///
    /// As [`Hops::try_next`].
    pub fn try_send(&self, cost: &Cost) -> Result<Hop<C>, NoRoute> {
        self.hops(cost).try_next()
    }

    /// The mirror of an upstream; they count from 0, in the order in which they were added.
    pub fn mirror(&self, upstream: usize) -> Option<&Mirror<C>> {
        Some(&self.upstream(upstream)?.mirror)
    }

    /// How many upstreams there are, at least one.
    pub fn upstreams(&self) -> usize {
        self.inner.upstreams.len()
    }

    /// How an upstream stands now.
    pub fn standing(&self, upstream: usize) -> Option<Standing> {
        let upstream = self.upstream(upstream)?;
        let now = upstream.now(None);
        let left = |until: u64| Duration::from_nanos(until.saturating_sub(now));
        Some(match lock(&upstream.doors).whole().phase_at(now, &self.inner.rules) {
            Phase::Open => Standing::Open,
            Phase::Closed { until } => Standing::Closed(left(until)),
            Phase::Probing { until, .. } => Standing::Probing(left(until)),
            Phase::Ramping { from, .. } => Standing::Ramping(self.inner.rules.parts_per_thousand(from, now)),
        })
    }

    fn upstream(&self, upstream: usize) -> Option<&Upstream<C>> {
        self.inner.upstreams.get(upstream)
    }

    /// All upstreams, the one first that a call is to go to.
    fn in_order(&self, cost: &Cost, at: Option<Nanos>) -> Places {
        let places = 0..self.upstreams();
        if self.inner.order == Order::Preference {
            return places.collect();
        }
        let headroom = |place| self.upstream(place).map(|upstream| upstream.headroom(cost, at));
        // Each is asked once. Of those that are alike the one that was added first comes first.
        let mut by_headroom: SmallVec<[_; 4]> =
            places.map(|place| (Reverse(headroom(place)), place)).collect();
        by_headroom.sort_unstable();
        by_headroom.into_iter().map(|(_, place)| place).collect()
    }
}

impl<C: Clock> Upstream<C> {
    /// Its times are readings of its mirror's clock.
    fn now(&self, at: Option<Nanos>) -> u64 {
        at.unwrap_or_else(|| self.mirror.now()).as_u64()
    }

    fn headroom(&self, cost: &Cost, at: Option<Nanos>) -> u32 {
        self.mirror.headroom_at(cost, Nanos::new(self.now(at)))
    }
}

impl<C: Clock> Clone for Router<C> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<C: Clock> fmt::Debug for Router<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standings: Vec<_> =
            (0..self.upstreams()).filter_map(|upstream| self.standing(upstream)).collect();
        f.debug_struct("Router").field("order", &self.inner.order).field("standings", &standings).finish()
    }
}
