//! A limit that finds its own height.

mod algorithm;
mod bounds;
mod watched;

use std::fmt;
use std::sync::Arc;

pub use self::algorithm::{Aimd, Algorithm, Gradient, Sample};
pub use self::bounds::Bounds;
pub use self::watched::{Outcome, Watched};
use super::{InFlight, NoPermit, Permit};
use crate::clock::{Clock, Monotonic};
use crate::sync::{Mutex, lock};

/// A limit on work in flight that follows what the work tells: it rises while latency stays low, and falls when work
/// takes longer or is dropped at the far end.
///
/// Each permit is [finished](Watched::finish) with an [`Outcome`]; that and the time since it was taken are the sample by
/// which the [`Algorithm`] moves the limit, never outside the [`Bounds`]. A lowered limit takes no permit back: less is
/// admitted until enough has ended. Clones share one limit.
///
/// ```
/// use tollgate::inflight::{Adaptive, Bounds, Gradient, Outcome};
///
/// let limit = Adaptive::new(Gradient::default(), Bounds::new(4, 20, 200)?);
/// match limit.try_acquire() {
///     Ok(permit) => permit.finish(if true { Outcome::Success } else { Outcome::Dropped }),
///     Err(refusal) => println!("{refusal}"),
/// }
/// # Ok::<(), tollgate::inflight::LimitError>(())
/// ```
///
/// # Cost
///
/// As an [`OwnedPermit`](super::OwnedPermit), a reading of the clock at both ends, and a lock, held for some arithmetic, for
/// each sample. A permit that is dropped or [ignored](Outcome::Ignored) takes no lock.
pub struct Adaptive<A, C = Monotonic> {
    shared: Arc<Shared<A, C>>,
}

struct Shared<A, C> {
    in_flight: InFlight,
    bounds: Bounds,
    clock: C,
    /// The rule, and the estimate with its fraction.
    rule: Mutex<(A, f64)>,
}

impl<A: Algorithm> Adaptive<A> {
    /// On the [`Monotonic`] clock.
    pub fn new(algorithm: A, bounds: Bounds) -> Self {
        Self::with_clock(algorithm, bounds, Monotonic::new())
    }
}

impl<A: Algorithm, C: Clock> Adaptive<A, C> {
    /// On a clock of the caller's.
    pub fn with_clock(algorithm: A, bounds: Bounds, clock: C) -> Self {
        let in_flight = InFlight::of(bounds.initial(), bounds.depth);
        let rule = Mutex::new((algorithm, f64::from(bounds.initial())));
        Self { shared: Arc::new(Shared { in_flight, bounds, clock, rule }) }
    }

    /// A permit now, or a refusal.
    ///
    /// # Errors
    ///
    /// As [`InFlight::try_acquire`].
    pub fn try_acquire(&self) -> Result<Watched<A, C>, NoPermit> {
        self.try_acquire_n(1)
    }

    /// A permit of `weight` now, or a refusal.
    ///
    /// # Errors
    ///
    /// As [`InFlight::try_acquire_n`]. A weight above the limit of now is refused with [`NoPermit::OverLimit`] even if it
    /// is within the bounds.
    pub fn try_acquire_n(&self, weight: u32) -> Result<Watched<A, C>, NoPermit> {
        self.shared.in_flight.try_acquire_n(weight).map(|permit| self.watched(permit))
    }

    /// Waits in line for a permit.
    ///
    /// # Errors
    ///
    /// As [`InFlight::acquire`].
    ///
    /// # Cancel safety
    ///
    /// As [`InFlight::acquire`].
    ///
    /// # Fairness
    ///
    /// As [`InFlight::acquire`].
    pub async fn acquire(&self) -> Result<Watched<A, C>, NoPermit> {
        self.acquire_n(1).await
    }

    /// Waits in line for a permit of `weight`.
    ///
    /// # Errors
    ///
    /// As [`InFlight::acquire_n`].
    ///
    /// # Cancel safety
    ///
    /// As [`InFlight::acquire`].
    ///
    /// # Fairness
    ///
    /// As [`InFlight::acquire`].
    pub async fn acquire_n(&self, weight: u32) -> Result<Watched<A, C>, NoPermit> {
        self.shared.in_flight.acquire_n(weight).await.map(|permit| self.watched(permit))
    }

    /// The limit now, within the bounds.
    pub fn limit(&self) -> u32 {
        self.shared.in_flight.limit()
    }

    /// The permits in use, those of heavier work by their weight.
    pub fn in_use(&self) -> u32 {
        self.shared.in_flight.in_use()
    }

    /// What is left of the limit; 0 while more is in use than a lowered limit allows.
    pub fn available(&self) -> u32 {
        self.shared.in_flight.available()
    }

    /// How many wait in line.
    pub fn waiting(&self) -> usize {
        self.shared.in_flight.waiting()
    }

    /// Its bounds.
    pub fn bounds(&self) -> Bounds {
        self.shared.bounds
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.shared.clock
    }

    fn watched(&self, permit: Permit<'_>) -> Watched<A, C> {
        Watched::taken(Arc::clone(&self.shared), permit)
    }
}

impl<A: Algorithm, C> Shared<A, C> {
    /// Moves the limit by what is known of work that has ended.
    fn learn(&self, sample: &Sample) {
        if self.move_estimate(sample) {
            // Without the lock: who is woken may have work that has ended too.
            self.in_flight.hand_over();
        }
    }

    /// Moves estimate and limit; tells whether someone waits for what that may have freed.
    fn move_estimate(&self, sample: &Sample) -> bool {
        let mut rule = lock(&self.rule);
        let (algorithm, estimate) = &mut *rule;
        *estimate = self.bounds.clamp(algorithm.next(*estimate, sample), *estimate);
        let limit = *estimate as u32;
        // Under the lock, so that an older estimate is not written after a newer one.
        limit != self.in_flight.limit() && self.in_flight.count.set_limit(limit).is_marked()
    }
}

impl<A, C> Clone for Adaptive<A, C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<A, C> fmt::Debug for Adaptive<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive")
            .field("in_flight", &self.shared.in_flight)
            .field("bounds", &self.shared.bounds)
            .finish_non_exhaustive()
    }
}
