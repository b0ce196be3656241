//! How a router is built.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use super::doors::Doors;
use super::gate::Rules;
use super::{Inner, Router, Upstream};
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::Mutex;
use crate::upstream::{Backoff, Mirror};

/// Which upstream a call goes to first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Order {
    /// The one that was added first; the others only if it cannot take the call.
    #[default]
    Preference,
    /// The one with the largest share left of the limit that is tightest for the call ([`Mirror::headroom`]); of those with
    /// the same, the one that was added first.
    Headroom,
}

/// Builds a [`Router`]; see [`Router::builder`].
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use tollgate::{Manual, quota};
/// use tollgate::upstream::{Backoff, Cost, Dimension, Mirror, NoRoute, Order, Router};
///
/// let clock = Arc::new(Manual::new());
/// let mirror = |limit| Mirror::builder().limit(Dimension::Requests, limit).clock(Arc::clone(&clock)).build();
/// let router = Router::builder()
///     .upstream(mirror(quota!("1/min"))?)
///     .upstream(mirror(quota!("2/min"))?)
///     .order(Order::Headroom)
///     .failures(3)
///     .cooling(Backoff::new(Duration::from_secs(2), Duration::from_secs(60)))
///     .probe(Duration::from_secs(90))
///     .ramp(Duration::from_secs(30))
///     .slow_start(20, Duration::from_millis(250))
///     .build()?;
///
/// let call = Cost::requests(1);
/// let went = [(); 3].map(|()| router.try_send(&call).map(|hop| hop.upstream()));
/// assert_eq!(went, [Ok(0), Ok(1), Ok(1)]);
/// let earliest = NoRoute::NotYet { upstream: 1, wait: Duration::from_secs(30) };
/// assert_eq!(router.try_send(&call).unwrap_err(), earliest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RouterBuilder<C: Clock = Monotonic> {
    mirrors: Vec<Mirror<C>>,
    order: Order,
    failures: u32,
    cooling: Backoff,
    probe: Duration,
    ramp: Duration,
    calls: u32,
    step: Duration,
}

/// A router that cannot be built; it names the figure, and the range it must lie in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RouterError {
    /// There is no upstream.
    NoUpstream,
    /// No failure at all would close an upstream.
    NoFailures,
    /// No call could ever flow over, or a step has no length.
    SlowStart {
        /// Calls that may flow over in the first step.
        calls: u32,
        /// The length of a step.
        step: Duration,
    },
}

impl<C: Clock> RouterBuilder<C> {
    pub(super) fn new() -> Self {
        Self {
            mirrors: Vec::new(),
            order: Order::default(),
            failures: 5,
            cooling: Backoff::new(Duration::from_secs(1), Duration::from_secs(30)),
            probe: Duration::from_secs(30),
            ramp: Duration::from_secs(10),
            calls: 10,
            step: Duration::from_millis(100),
        }
    }

    /// One more upstream, with the mirror of its limits.
    #[must_use]
    pub fn upstream(mut self, mirror: Mirror<C>) -> Self {
        self.mirrors.push(mirror);
        self
    }

    /// Which one a call goes to first: by default the one that was added first.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// So many failures in a row close an upstream; 5 by default. One that says how long to wait is closed by the first.
    #[must_use]
    pub fn failures(self, failures: u32) -> Self {
        Self { failures, ..self }
    }

    /// How long an upstream is left alone that does not say so itself: [`Backoff::longest`] of the times it was closed before
    /// since it was well. 1 s at first and 30 s at most by default.
    #[must_use]
    pub fn cooling(self, cooling: Backoff) -> Self {
        Self { cooling, ..self }
    }

    /// How long a probe is waited for before another one is sent; 30 s by default. It should be
    /// somewhat more than the time-out of calls.
    #[must_use]
    pub fn probe(self, deadline: Duration) -> Self {
        Self { probe: deadline, ..self }
    }

    /// In what time the share of an upstream that is back rises to all; 10 s by default, none for at once.
    #[must_use]
    pub fn ramp(self, ramp: Duration) -> Self {
        Self { ramp, ..self }
    }

    /// In each `step`, no call more flows over to an upstream once there were `calls` there, and twice as many as in the step
    /// before; 10 and 100 ms by default.
    #[must_use]
    pub fn slow_start(self, calls: u32, step: Duration) -> Self {
        Self { calls, step, ..self }
    }

    /// The router.
    ///
    /// # Errors
    ///
    /// [`RouterError`] without upstreams, with no failures, and for a slow start with no calls or steps of no length.
    pub fn build(self) -> Result<Router<C>, RouterError> {
        if self.mirrors.is_empty() {
            return Err(RouterError::NoUpstream);
        }
        if self.failures == 0 {
            return Err(RouterError::NoFailures);
        }
        if self.calls == 0 || self.step.is_zero() {
            return Err(RouterError::SlowStart { calls: self.calls, step: self.step });
        }
        let (order, rules) = (self.order, self.rules());
        let upstream = |mirror| Upstream { mirror, doors: Mutex::new(Doors::new()) };
        let upstreams = self.mirrors.into_iter().map(upstream).collect();
        Ok(Router { inner: Arc::new(Inner { upstreams, order, rules }) })
    }

    fn rules(&self) -> Rules {
        let nanos = |span| Nanos::from_duration(span).as_u64();
        Rules {
            failures: self.failures,
            cooling: self.cooling,
            probe: nanos(self.probe),
            ramp: nanos(self.ramp),
            step: nanos(self.step),
            calls: self.calls.into(),
        }
    }
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUpstream => write!(f, "a router of 0 upstreams: it must have at least 1"),
            Self::NoFailures => write!(f, "closed after 0 failures: it must be after at least 1"),
            Self::SlowStart { calls, step } => {
                write!(f, "a slow start of {calls} calls in {step:?}: at least 1 call in at least 1 ns")
            }
        }
    }
}

impl std::error::Error for RouterError {}
