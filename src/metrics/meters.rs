//! Where all that is measured comes together.

use std::fmt;
use std::sync::Arc;

use super::calls::{Calls, Outcome};
use super::levels::{Flights, Lease, Looked, Places};
use super::meter::{Measured, Meter, Mode, Shadow, ShadowMeter};
use super::names::{
    AVAILABLE, DEBT, DOWNSTREAM, IN_FLIGHT, IN_FLIGHT_LIMIT, IN_FLIGHT_WAITING, LEASE_REMAINING, LEASED,
    Metric, PAUSED, QUEUE_AGE, QUEUE_LENGTH, QUEUE_PLACES, RUNNING, WAIT, WAITING, describe_all,
};
use super::timing::Timing;
use super::waits::{Waited, Waits};
use crate::clock::{Clock, Monotonic};
use crate::level::Level;
use crate::limiter::Limiter;
use crate::sync::{Mutex, lock};

/// All that is measured, and the place that tells it. Clones are the same.
///
/// What it gives out and looks at, it tells for as long as it lives itself. Names are given once for each
/// kind: of two that are counted under one name the counts add up, of two levels the one given last is seen.
///
/// ```
/// use std::sync::Arc;
///
/// use tollgate::metrics::Meters;
/// use tollgate::{Bucket, Limiter, quota};
///
/// let meters = Meters::new();
/// let bucket = Arc::new(Bucket::new(quota!("100/s burst 20")));
/// let limit = meters.measured("api", Arc::clone(&bucket));
/// meters.level("api", move || bucket.peek());
///
/// limit.try_acquire()?;
/// // In the handler of `/metrics`, before the exporter renders.
/// meters.publish();
/// # Ok::<(), tollgate::Denied>(())
/// ```
#[derive(Clone)]
pub struct Meters {
    sources: Arc<Mutex<Vec<Arc<dyn Source>>>>,
}

/// Something whose figures are told when all are.
pub(super) trait Source: Send + Sync {
    fn publish(&self);
}

impl Meters {
    /// Nothing yet. It tells the recorder that is there now what [all metrics](super::METRICS) mean.
    pub fn new() -> Self {
        describe_all();
        Self { sources: Arc::default() }
    }

    /// Counts what the limiter answers.
    pub fn measured<L: Limiter>(&self, limit: &'static str, limiter: L) -> Measured<L> {
        Measured::new(limiter, self.meter(limit))
    }

    /// Counts what the limiter would answer, and lets all through.
    pub fn shadow<L: Limiter>(&self, limit: &'static str, limiter: L) -> Shadow<L> {
        Shadow::new(limiter, self.shadow_meter(limit))
    }

    /// Counters for what is no [`Limiter`].
    pub fn meter(&self, limit: &'static str) -> Meter {
        let meter = Meter::new();
        self.add(meter.told(limit, Mode::Enforced));
        meter
    }

    /// Counters for what is no [`Limiter`], and not in force.
    pub fn shadow_meter(&self, limit: &'static str) -> ShadowMeter {
        let meter = Meter::new();
        self.add(meter.told(limit, Mode::Shadow));
        ShadowMeter::new(meter)
    }

    /// Tells what a bucket holds and owes: of whatever has a `peek`.
    pub fn level(&self, limit: &'static str, look: impl Fn() -> Level + Send + Sync + 'static) {
        self.look([&AVAILABLE, &DEBT, &PAUSED], limit, move || {
            let level = look();
            [level.available() as f64, level.debt() as f64, level.paused_for().as_secs_f64()]
        });
    }

    /// Tells what is in flight.
    ///
    /// It is what the permits are at that moment, and not counted beside them: so it is right after a call
    /// was cancelled or has panicked, and while all are refused.
    pub fn in_flight(&self, limit: &'static str, look: impl Fn() -> Flights + Send + Sync + 'static) {
        self.look([&IN_FLIGHT, &IN_FLIGHT_LIMIT, &IN_FLIGHT_WAITING], limit, move || {
            let Flights { in_use, limit, waiting } = look();
            [in_use.into(), limit.into(), waiting as f64]
        });
    }

    /// Tells how long a queue is, and how old.
    pub fn queue(&self, limit: &'static str, look: impl Fn() -> Places + Send + Sync + 'static) {
        self.look([&QUEUE_LENGTH, &QUEUE_PLACES, &QUEUE_AGE], limit, move || {
            let Places { taken, all, age } = look();
            [taken as f64, all as f64, age.unwrap_or_default().as_secs_f64()]
        });
    }

    /// Tells what is held by a lease, and for how long.
    pub fn lease(&self, limit: &'static str, look: impl Fn() -> Lease + Send + Sync + 'static) {
        self.look([&LEASED, &LEASE_REMAINING], limit, move || {
            let Lease { held, remaining } = look();
            [held as f64, remaining.as_secs_f64()]
        });
    }

    /// Measures work behind the limit, from its permit to its end.
    pub fn calls(&self, limit: &'static str) -> Calls {
        self.calls_with_clock(limit, Monotonic::new())
    }

    /// [`calls`](Self::calls) on a clock of the caller's.
    pub fn calls_with_clock<C: Clock + Send + Sync + 'static>(
        &self,
        limit: &'static str,
        clock: C,
    ) -> Calls<C> {
        Calls::new(self.timing(&DOWNSTREAM, &RUNNING, limit, Outcome::ALL.map(Outcome::label), clock))
    }

    /// Measures how long callers wait.
    pub fn waits(&self, limit: &'static str) -> Waits {
        self.waits_with_clock(limit, Monotonic::new())
    }

    /// [`waits`](Self::waits) on a clock of the caller's.
    pub fn waits_with_clock<C: Clock + Send + Sync + 'static>(
        &self,
        limit: &'static str,
        clock: C,
    ) -> Waits<C> {
        Waits::new(self.timing(&WAIT, &WAITING, limit, Waited::ALL.map(Waited::label), clock))
    }

    /// Adds up what was counted, looks at the levels, and tells the recorder.
    ///
    /// It may be called at any time and by many at once: nothing is told twice. A look is made without a lock
    /// held.
    pub fn publish(&self) {
        let sources = lock(&self.sources).clone();
        for source in sources {
            source.publish();
        }
    }

    fn timing<C: Clock + Send + Sync + 'static, const N: usize>(
        &self,
        seconds: &Metric,
        open: &Metric,
        limit: &'static str,
        outcomes: [&'static str; N],
        clock: C,
    ) -> Arc<Timing<C, N>> {
        let name = ("limit", limit);
        let histograms = outcomes.map(|outcome| seconds.histogram(&[name, ("outcome", outcome)]));
        let timing = Arc::new(Timing::new(histograms, clock));
        let looked = Arc::clone(&timing);
        self.look([open], limit, move || [looked.open() as f64]);
        timing
    }

    fn look<const N: usize>(
        &self,
        metrics: [&Metric; N],
        limit: &'static str,
        look: impl Fn() -> [f64; N] + Send + Sync + 'static,
    ) {
        self.add(Looked::new(metrics, limit, look));
    }

    fn add(&self, source: impl Source + 'static) {
        lock(&self.sources).push(Arc::new(source));
    }
}

impl Default for Meters {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").field("sources", &lock(&self.sources).len()).finish()
    }
}
