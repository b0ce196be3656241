//! What an upstream has left, as far as can be known without asking it.
//!
//! `cell` is one limit, and `state` all of them with what is on its way (`flights`). `figures` brings what a response says into a
//! cell, `terms` another limit than before; `window` has limits in which nothing comes back before a certain time, `share` the own
//! part of a limit that others use, and `learn` what figures tell without saying it.

mod builder;
mod cell;
mod cost;
mod figures;
mod flights;
mod learn;
mod refused;
mod scope;
mod sent;
mod share;
mod state;
mod terms;
mod window;

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

pub use self::builder::MirrorBuilder;
pub use self::cost::Cost;
pub use self::learn::{Charged, LearnedWindow};
pub use self::refused::{MirrorError, Refused};
pub use self::scope::{MirrorScope, Mirrors, NoRoomForScope};
pub use self::sent::{Heard, Sent};
use self::state::State;
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::{Mutex, lock};
use crate::upstream::read::{Class, Dimension, Reading};

/// The limits of one credential at one upstream, as configured and as the upstream tells them. Clones share it.
///
/// A call is let through if all limits have its cost, beside all that is on its way; then it is answered, and what the answer says
/// corrects the limits. [Theory], section 17, has the arguments.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Mirror, Reader};
///
/// let mirror = Mirror::builder()
///     .limit(Dimension::Requests, quota!("500/min"))
///     .limit(Dimension::Tokens, quota!("150k/min"))
///     .build()?;
/// let sent = mirror.try_send(&Cost::requests(1).with(Dimension::Tokens, 2_000))?;
///
/// // The response, from whatever client.
/// let mut headers = HeaderMap::new();
/// headers.insert("x-ratelimit-limit-tokens", HeaderValue::from_static("150000"));
/// headers.insert("x-ratelimit-remaining-tokens", HeaderValue::from_static("30000"));
/// headers.insert("x-ratelimit-reset-tokens", HeaderValue::from_static("48s"));
/// sent.answered(&Reader::new().read(StatusCode::OK, &headers, SystemTime::now()));
///
/// let wait = mirror.wait_for(&Cost::of(Dimension::Tokens, 50_000))?;
/// assert!(wait > Duration::from_secs(7) && wait <= Duration::from_secs(9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is believed
///
/// * A time to full is the arrival point of a bucket, within what the rounding of `remaining` leaves open. The end of a window turns a
///   limit into one by windows: all is there then, and nothing before. What is to last for a time (IETF draft -11) lasts for it.
/// * Of two answers the one that was *sent* later counts; figures of the other one are left out, its `Retry-After` is not.
/// * What is on its way, or was answered while the answer was, may or may not be in its figures, so it is subtracted.
/// * Less than was thought is believed at once. More is believed if the answer was sent after all that is on its way or nothing is,
///   if it comes from no cache, was not made before another one (by its `Date`), and if it can be: no more than the limit, nor than refill
///   can have brought since the last one, with what calls used less than expected.
/// * A lower limit is taken at once, a higher one up to what was configured; so is a longer window that is
///   [learned](Self::learned_window).
/// * What is not said changes nothing. A dimension that was not configured is not limited.
/// * A refused call is charged what the figures in its answer say, and its whole cost in a dimension of which they say nothing. If it
///   came without a wait and only one limit can have refused it, less than its cost was left of that.
/// * A `Retry-After` of a failed response pauses all callers. Nothing shortens a pause.
/// * A quota that is used up closes the mirror until it is [opened](Self::reopen).
///
/// # The bound
///
/// To an upstream that counts as configured, or as its answers say, that counts a call at some time between its sending and its answer,
/// and that has no other client, no call is sent that it would refuse. That is the upstream's law, to which a client cannot do more than
/// keep; where others use the same credential see [`MirrorBuilder::shared`] and [`MirrorBuilder::keep`].
///
/// Because nothing else is assumed of when a call is counted, at most a full bucket is on its way at once. So calls that take longer
/// than the bucket takes to fill are let through more slowly than the upstream would, unless it is said how soon they are
/// [counted](MirrorBuilder::counted_within) or their [heads](Sent::head) are heard.
///
/// # Cost
///
/// One lock for each call of a method, with work that grows with the logarithm of the calls on their way, each of which takes some
/// 600 bytes. Nothing else is allocated.
///
/// [theory]: crate::docs::theory
pub struct Mirror<C: Clock = Monotonic> {
    inner: Arc<Inner<C>>,
}

struct Inner<C> {
    clock: C,
    state: Mutex<State>,
}

/// What a limit has left, besides what is in flight; from [`Mirror::level`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    available: u64,
    limit: u64,
    time_to_full: Duration,
}

impl Mirror {
    /// A builder of a mirror without limits, on the default clock.
    pub fn builder() -> MirrorBuilder {
        MirrorBuilder::new()
    }
}

impl<C: Clock> Mirror<C> {
    /// Lets a call through, or refuses and charges nothing: all limits or none.
    ///
    /// # Errors
    ///
    /// The limit that stands in the way the longest, or the pause, or that no wait helps.
    pub fn try_send(&self, cost: &Cost) -> Result<Sent<C>, Refused> {
        self.try_send_at(cost, self.inner.clock.now())
    }

    /// The same, at the reading `now`.
    ///
    /// # Errors
    ///
    /// As [`try_send`](Self::try_send).
    pub fn try_send_at(&self, cost: &Cost, now: Nanos) -> Result<Sent<C>, Refused> {
        let number = self.with(now, |state, now| state.send(cost, now))?;
        Ok(Sent::new(Arc::clone(&self.inner), number))
    }

    /// How long a call of `cost` would have to wait now; zero if it would be let through.
    ///
    /// # Errors
    ///
    /// Refusals that no wait helps against.
    pub fn wait_for(&self, cost: &Cost) -> Result<Duration, Refused> {
        self.wait_for_at(cost, self.inner.clock.now())
    }

    /// The same, at the reading `now`.
    ///
    /// # Errors
    ///
    /// As [`wait_for`](Self::wait_for).
    pub fn wait_for_at(&self, cost: &Cost, now: Nanos) -> Result<Duration, Refused> {
        match self.with(now, |state, now| state.ask(cost, now)) {
            Ok(()) => Ok(Duration::ZERO),
            Err(refused) => refused.wait().ok_or(refused),
        }
    }

    /// Hears a response to a call that did not go through this mirror.
    pub fn observe(&self, reading: &Reading<'_>) -> Heard {
        self.observe_at(reading, self.inner.clock.now())
    }

    /// The same, at the reading `now`.
    pub fn observe_at(&self, reading: &Reading<'_>, now: Nanos) -> Heard {
        self.with(now, |state, now| state.hear(reading, None, now))
    }

    /// Sends nothing for so long, nor before an earlier pause's end.
    pub fn pause_for(&self, span: Duration) {
        self.pause_until(self.inner.clock.now().saturating_add(Nanos::from_duration(span)));
    }

    /// Sends nothing before the reading `until`, nor before an earlier pause's end.
    pub fn pause_until(&self, until: Nanos) {
        lock(&self.inner.state).pause(until.as_u64());
    }

    /// What is left of a dimension: of several limits, of the one with the least share left. `None` if none is known.
    pub fn level(&self, dimension: Dimension) -> Option<Left> {
        self.level_at(dimension, self.inner.clock.now())
    }

    /// The same, at the reading `now`.
    pub fn level_at(&self, dimension: Dimension, now: Nanos) -> Option<Left> {
        self.with(now, |state, now| {
            let cells = state.cells.iter().filter(|cell| cell.dimension == dimension);
            let cell = cells.min_by_key(|cell| cell.share_left(now))?;
            Some(Left {
                available: cell.available(now),
                limit: cell.capacity(),
                time_to_full: Duration::from_nanos(cell.full_at(now).saturating_sub(now)),
            })
        })
    }

    /// The least share that is left of any limit that `cost` touches, in parts per thousand; 0 if it would not be let through.
    pub fn headroom(&self, cost: &Cost) -> u32 {
        self.headroom_at(cost, self.inner.clock.now())
    }

    /// The same, at the reading `now`.
    pub fn headroom_at(&self, cost: &Cost, now: Nanos) -> u32 {
        self.with(now, |state, now| {
            if state.ask(cost, now).is_err() {
                return 0;
            }
            let touched = state.cells.iter().filter(|cell| cost.amount(cell.dimension) > 0);
            touched.map(|cell| cell.share_left(now)).min().unwrap_or(1000)
        })
    }

    /// How long the window of a dimension's limit is, as it follows from what responses said, if two of them agree; of several
    /// limits, of the first that is known.
    ///
    /// It is learned where the upstream tells the time to full and what is missing, and does not tell the window; at OpenAI,
    /// where `limit-requests: 200` was a day's. A window that is longer than configured is taken at once.
    pub fn learned_window(&self, dimension: Dimension) -> Option<LearnedWindow> {
        let state = lock(&self.inner.state);
        state.cells.iter().filter(|cell| cell.dimension == dimension).find_map(|cell| cell.learned.window())
    }

    /// What the last call was charged in a dimension, as it follows from its response and the one before: known where no other
    /// call of this mirror's was on its way between the two. What others drew in between is in it.
    pub fn last_charge(&self, dimension: Dimension) -> Option<Charged> {
        let state = lock(&self.inner.state);
        state.cells.iter().filter(|cell| cell.dimension == dimension).find_map(|cell| cell.learned.charge)
    }

    /// What closed the mirror, if it is closed.
    pub fn terminal(&self) -> Option<Class> {
        lock(&self.inner.state).terminal
    }

    /// Opens a closed mirror. A pause stays.
    pub fn reopen(&self) {
        lock(&self.inner.state).terminal = None;
    }

    /// Calls on their way.
    pub fn in_flight(&self) -> usize {
        lock(&self.inner.state).flights.len()
    }

    /// Whether nobody else holds it, and it is as it was when it was built, or as if it were.
    fn is_as_new(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
            && self.with(self.inner.clock.now(), |state, now| state.is_as_new(now))
    }

    /// A reading of its clock.
    pub(in crate::upstream) fn now(&self) -> Nanos {
        self.inner.clock.now()
    }

    fn with<T>(&self, now: Nanos, act: impl FnOnce(&mut State, u64) -> T) -> T {
        let mut state = lock(&self.inner.state);
        let now = state.advance(now);
        act(&mut state, now)
    }
}

impl<C: Clock> Clone for Mirror<C> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<C: Clock> fmt::Debug for Mirror<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.inner.state);
        f.debug_struct("Mirror")
            .field("limits", &state.cells)
            .field("in_flight", &state.flights.len())
            .finish()
    }
}

impl Left {
    /// Whole tokens, rounded down, besides what is in flight; what is kept for others counts.
    pub const fn available(&self) -> u64 {
        self.available
    }

    /// What it has when it is full.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Time until it is full, if all that is in flight is counted now and nothing more is sent.
    pub const fn time_to_full(&self) -> Duration {
        self.time_to_full
    }
}
