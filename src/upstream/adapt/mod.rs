//! A rate for an upstream that does not tell its limit.

mod control;
mod gate;
mod latency;
mod meter;
mod refusal;
mod settings;
mod state;
mod trial;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::refusal::HeldBack;
use self::settings::Settings;
pub use self::settings::{AdaptiveRateBuilder, AdaptiveRateError};
use self::state::{Outcome, State};
pub use self::trial::Trial;
use crate::clock::{Clock, Monotonic};
use crate::level::Level;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{Mutex, lock};

/// A token bucket that finds the rate an upstream accepts, where the upstream says nothing of its limit but "no".
///
/// Each call is sent through [`try_send`](Self::try_send), and its [`Trial`] is told how it went. From that the rate moves
/// between two bounds, in parts per thousand of a *base*, the quota it is built from:
///
/// | what happens | the rate | unless told otherwise |
/// |---|---|---|
/// | the upstream [refuses](Trial::refused) | times 0.5, once an event | [`refusal_permille`](AdaptiveRateBuilder::refusal_permille) |
/// | a call takes more than 30 s, or the 99th percentile doubles | times 0.8, once an event | [`latency`](AdaptiveRateBuilder::latency), [`growth_permille`](AdaptiveRateBuilder::growth_permille), [`congestion_permille`](AdaptiveRateBuilder::congestion_permille) |
/// | a call [times out](Trial::timed_out) | times 0.8, once an event | |
/// | a stream is silent for 10 s and [given up](Trial::stalled) | times 0.8, once an event | [`silence`](AdaptiveRateBuilder::silence) |
/// | a success follows ten in a row | plus a tenth of the base, at most | [`step_permille`](AdaptiveRateBuilder::step_permille), [`run`](AdaptiveRateBuilder::run) |
/// | always | from a tenth of the base to the base | [`bounds_permille`](AdaptiveRateBuilder::bounds_permille) |
///
/// * **One decrease an event.** What was sent before a decrease says nothing about the new rate. However many of those calls
///   are refused, and in whichever order their answers come, the rate is what the worst of them alone would have made of it.
/// * **Near the ceiling with care.** The rate at which the last event came is remembered, and what the upstream accepted in
///   between. Steps become smaller on the way there, and larger from there on. So a limit that stays is passed by little, and
///   one that was raised is found within some ten steps. `docs/adaptation.md` has a picture.
/// * **One probe after a pause.** A `Retry-After` pauses all callers. At its end one call is let through. The others
///   follow when it has succeeded, from the lowest rate back to that before, a tenth of the way with each success. A probe
///   that is dropped, fails, or is not answered in 30 s makes room for another.
///
/// Only the rate moves; the capacity is the base's. So take a burst that the upstream accepts at once: `100/s burst 5`
/// rather than `100/s`, which may start 100 calls at one moment at any rate.
///
/// ```
/// use tollgate::upstream::AdaptiveRate;
/// use tollgate::{Manual, quota};
///
/// let rate = AdaptiveRate::builder(quota!("1000/s")).build_with_clock(Manual::new())?;
/// for expected in [quota!("500/s burst 1000"), quota!("250/s burst 1000"), quota!("125/s burst 1000"), quota!("100/s burst 1000")] {
///     rate.try_send()?.refused(None);
///     assert_eq!(rate.quota(), expected);
/// }
/// for _ in 0..11 {
///     rate.try_send()?.succeeded();
/// }
/// assert_eq!(rate.quota(), quota!("200/s burst 1000"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # The bound
///
/// In every interval of the clock no more is admitted than the capacity, plus what the highest rate in force in it issues. A
/// change of the rate gives no tokens. At a reading from before the last change nothing is admitted.
///
/// # Cost
///
/// A lock for each call sent and each answer, held for some arithmetic, with a few divisions where the rate changes. A call that
/// is let out clones an `Arc`; none allocates. A call over a network stands beside it. Clones share one limiter, of some 700 bytes.
///
/// # Algorithm
///
/// Additive increase, multiplicative decrease (Chiu and Jain 1989), one decrease for each event as in TCP NewReno (RFC 6582),
/// steps as in BIC-TCP (Xu, Harfoush and Rhee 2004), an estimate of the ceiling as in TCP Westwood (Casetti et al. 2001). All
/// in whole numbers.
#[doc(alias = "AIMD")]
pub struct AdaptiveRate<C = Monotonic> {
    shared: Arc<Shared<C>>,
}

struct Shared<C> {
    base: Quota,
    settings: Settings,
    clock: C,
    state: Mutex<State>,
}

impl AdaptiveRate {
    /// Sets one up that moves in parts of `base`, which is the highest rate unless the bounds say otherwise.
    pub fn builder(base: Quota) -> AdaptiveRateBuilder {
        AdaptiveRateBuilder::new(base)
    }
}

impl<C: Clock> AdaptiveRate<C> {
    fn of(base: Quota, settings: Settings, clock: C) -> Self {
        let state = Mutex::new(State::new(base, settings, clock.now()));
        Self { shared: Arc::new(Shared { base, settings, clock, state }) }
    }

    /// Lets a call of one token out, or holds it back.
    ///
    /// # Errors
    ///
    /// As [`try_send_n`](Self::try_send_n).
    pub fn try_send(&self) -> Result<Trial<C>, HeldBack> {
        self.try_send_n(1)
    }

    /// [`try_send`](Self::try_send) at a reading of the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`try_send_n`](Self::try_send_n).
    pub fn try_send_at(&self, now: Nanos) -> Result<Trial<C>, HeldBack> {
        self.try_send_n_at(1, now)
    }

    /// Lets a call out that costs so many tokens, or holds it back. The cost is the most that it may use: it stays charged
    /// however the call ends, for an upstream counts a call that was refused or timed out, too.
    ///
    /// # Errors
    ///
    /// [`HeldBack::Denied`] by the rate of now, with the exact wait at this rate, or for a cost of zero or above the
    /// capacity; [`HeldBack::Paused`] and [`HeldBack::Probing`] after a pause was asked for.
    pub fn try_send_n(&self, cost: u64) -> Result<Trial<C>, HeldBack> {
        self.send(cost, |clock| clock.now_ordered())
    }

    /// [`try_send_n`](Self::try_send_n) at a reading of the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`try_send_n`](Self::try_send_n).
    pub fn try_send_n_at(&self, cost: u64, now: Nanos) -> Result<Trial<C>, HeldBack> {
        self.send(cost, |_| now)
    }

    /// Lets nothing out for so long, whoever asked for it; then a probe, as after a `Retry-After`. A shorter pause does not
    /// end a longer one.
    pub fn pause_for(&self, span: Duration) {
        let now = self.shared.clock.now();
        self.pause_until_at(now.saturating_add(span.into()), now);
    }

    /// [`pause_for`](Self::pause_for) until a reading of the limiter's clock.
    pub fn pause_until(&self, until: Nanos) {
        self.pause_until_at(until, self.shared.clock.now());
    }

    /// [`pause_until`](Self::pause_until) at a reading of the limiter's clock.
    pub fn pause_until_at(&self, until: Nanos, now: Nanos) {
        lock(&self.shared.state).pause_until(until, now);
    }

    /// Ends any pause at once, and does without the probe, for an operator who knows better than the upstream.
    pub fn resume(&self) {
        lock(&self.shared.state).resume();
    }

    /// The rate in force, with the base's capacity.
    pub fn quota(&self) -> Quota {
        lock(&self.shared.state).quota()
    }

    /// The rate in force in parts per thousand of the base, within the bounds.
    pub fn permille(&self) -> u32 {
        lock(&self.shared.state).permille()
    }

    /// Where the last event came, in parts per thousand of the base: the estimate of the upstream's limit. `None` before the
    /// first event that followed a run of successes.
    pub fn ceiling_permille(&self) -> Option<u32> {
        lock(&self.shared.state).ceiling()
    }

    /// Looks without sending: what is there at the rate in force, and how long a pause lasts.
    pub fn peek(&self) -> Level {
        self.peek_at(self.shared.clock.now())
    }

    /// [`peek`](Self::peek) at a reading of the limiter's clock.
    pub fn peek_at(&self, now: Nanos) -> Level {
        lock(&self.shared.state).peek(now)
    }

    /// The quota it moves in parts of.
    pub fn base(&self) -> Quota {
        self.shared.base
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.shared.clock
    }

    /// The clock is read under the lock, so that no call brings a reading from before a change that it comes after.
    fn send(&self, cost: u64, now: impl FnOnce(&C) -> Nanos) -> Result<Trial<C>, HeldBack> {
        let mut state = lock(&self.shared.state);
        let now = now(&self.shared.clock);
        let pass = state.ask(now)?;
        let number = state.send(pass, cost, now)?;
        drop(state);
        Ok(Trial::sent(Arc::clone(&self.shared), number, cost, now))
    }
}

impl<C> Shared<C> {
    fn answered(&self, number: u64, cost: u64, outcome: Outcome, now: Nanos) {
        lock(&self.state).answered(number, cost, outcome, now);
    }
}

impl<C> Clone for AdaptiveRate<C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<C: Clock> fmt::Debug for AdaptiveRate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.shared.clock.now();
        let (permille, ceiling, level) = {
            let state = lock(&self.shared.state);
            (state.permille(), state.ceiling(), state.peek(now))
        };
        f.debug_struct("AdaptiveRate")
            .field("base", &format_args!("{}", self.shared.base))
            .field("permille", &permille)
            .field("ceiling_permille", &ceiling)
            .field("level", &level)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Docs tell it.
    #[test]
    fn it_is_small() {
        assert!(size_of::<Shared<Monotonic>>() < 800, "{}", size_of::<Shared<Monotonic>>());
    }
}
