//! Counters around a limit.

use std::fmt;

use ::metrics::Counter;

use super::meters::Source;
use super::names::{ADMITTED, ADMITTED_TOKENS, REFUSED, REFUSED_TOKENS, WOULD_REFUSE, WOULD_REFUSE_TOKENS};
use super::reason::{HasReason, Reason};
use super::stripes::{Mine, Stripes, Totals};
use crate::decision::Denied;
use crate::limiter::Limiter;
use crate::sync::{Mutex, lock};

/// Counts the answers of a limit: calls and cost admitted, calls refused by reason, and what they would have
/// cost.
///
/// For what is not a [`Limiter`]. The key of a limit by key is no label: all its keys are counted together.
///
/// ```
/// use tollgate::metrics::Meters;
/// # #[cfg(feature = "keyed")] {
/// use tollgate::keyed::Keyed;
/// use tollgate::quota;
///
/// let meter = Meters::new().meter("per-client");
/// let clients = Keyed::<u32>::new(quota!("1/h"))?;
/// assert!(meter.count(1, clients.try_acquire(&7)).is_ok());
/// assert!(meter.count(1, clients.try_acquire(&7)).is_err());
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
///
/// A load and a store for each counter, in a line of memory that the thread has to itself: four for each core
/// of the machine, by the number of threads that live at once. Threads beyond those pay a read-modify-write
/// for each.
#[derive(Clone)]
pub struct Meter {
    stripes: Stripes,
}

/// Counts what a limit would answer, and lets all through. See [`Shadow`].
///
/// ```
/// use tollgate::metrics::Meters;
/// use tollgate::{Bucket, quota};
///
/// let (meter, bucket) = (Meters::new().shadow_meter("uploads"), Bucket::new(quota!("1/h")));
/// for size in [1, 10, 100] {
///     meter.count(size, bucket.try_acquire_n(size)); // and the upload goes on
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ShadowMeter(Meter);

/// A limiter whose answers are counted; made by [`Meters::measured`](super::Meters::measured).
///
/// It answers what the limiter answers, and changes nothing about it. An admission costs a load and a store
/// more; see [`Meter`].
///
/// ```
/// use tollgate::metrics::Meters;
/// use tollgate::{Bucket, Limiter, quota};
///
/// // Install a recorder first, such as that of metrics-exporter-prometheus.
/// let meters = Meters::new();
/// let limit = meters.measured("api", Bucket::new(quota!("100/s burst 20")));
/// limit.try_acquire()?;
/// meters.publish(); // when the figures are read
/// # Ok::<(), tollgate::Denied>(())
/// ```
#[derive(Clone)]
pub struct Measured<L> {
    limiter: L,
    meter: Meter,
}

/// A limiter that refuses nothing, and counts what it would have refused; made by
/// [`Meters::shadow`](super::Meters::shadow).
///
/// To try a limit out before it is in force. The limiter is asked, and takes what it admits; what it would
/// have refused takes nothing, as it would not have. So the figures are those of the limit, as long as
/// callers do not behave differently when they are refused. A cost of zero, or above the capacity, goes
/// through as well.
///
/// ```
/// use tollgate::metrics::Meters;
/// use tollgate::{Bucket, Limiter, quota};
///
/// let limit = Meters::new().shadow("api", Bucket::new(quota!("1/h")));
/// assert!((0..100).all(|_| limit.try_acquire().is_ok()));
/// ```
#[derive(Clone)]
pub struct Shadow<L> {
    limiter: L,
    meter: ShadowMeter,
}

/// What becomes of counted refusals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Enforced,
    Shadow,
}

/// Tells the recorder what has been counted.
pub(super) struct Told {
    stripes: Stripes,
    mode: Mode,
    so_far: Mutex<Totals>,
    admitted: Counter,
    admitted_tokens: Counter,
    refused: [Counter; Reason::ALL.len()],
    refused_tokens: Counter,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { stripes: Stripes::new() }
    }

    /// Counts an answer to a call of `cost`, and hands it on.
    ///
    /// # Errors
    ///
    /// Those of the answer.
    #[inline]
    pub fn count<T, R: HasReason>(&self, cost: u64, answer: Result<T, R>) -> Result<T, R> {
        counted(self.stripes.mine(), cost, answer)
    }

    /// Tells the recorder what it counts, in these series.
    pub(super) fn told(&self, limit: &'static str, mode: Mode) -> Told {
        let (by_reason, tokens) = match mode {
            Mode::Enforced => (REFUSED, REFUSED_TOKENS),
            Mode::Shadow => (WOULD_REFUSE, WOULD_REFUSE_TOKENS),
        };
        let name = ("limit", limit);
        Told {
            stripes: self.stripes.clone(),
            mode,
            so_far: Mutex::new(Totals::default()),
            admitted: ADMITTED.counter(&[name]),
            admitted_tokens: ADMITTED_TOKENS.counter(&[name]),
            refused: Reason::ALL.map(|reason| by_reason.counter(&[name, ("reason", reason.label())])),
            refused_tokens: tokens.counter(&[name]),
        }
    }
}

impl ShadowMeter {
    pub(super) fn new(meter: Meter) -> Self {
        Self(meter)
    }

    /// Counts what was answered to a call of `cost`.
    #[inline]
    pub fn count<T, R: HasReason>(&self, cost: u64, answer: Result<T, R>) {
        drop(self.0.count(cost, answer));
    }
}

impl<L> Measured<L> {
    pub(super) fn new(limiter: L, meter: Meter) -> Self {
        Self { limiter, meter }
    }

    /// The limiter itself. What it is asked directly is not counted.
    pub fn limiter(&self) -> &L {
        &self.limiter
    }
}

impl<L> Shadow<L> {
    pub(super) fn new(limiter: L, meter: ShadowMeter) -> Self {
        Self { limiter, meter }
    }

    /// The limiter itself, which refuses. What it is asked directly is not counted.
    pub fn limiter(&self) -> &L {
        &self.limiter
    }
}

impl<L: Limiter> Limiter for Measured<L> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let mine = self.meter.stripes.mine();
        counted(mine, cost, self.limiter.try_acquire_n(cost))
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        let mine = self.meter.stripes.mine();
        counted_one(mine, self.limiter.try_acquire())
    }
}

impl<L: Limiter> Limiter for Shadow<L> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let mine = self.meter.0.stripes.mine();
        let _answer = counted(mine, cost, self.limiter.try_acquire_n(cost));
        Ok(())
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        let mine = self.meter.0.stripes.mine();
        let _answer = counted_one(mine, self.limiter.try_acquire());
        Ok(())
    }
}

impl Source for Told {
    fn publish(&self) {
        // Under the lock, so that of two who publish at once each tells its own part.
        let mut so_far = lock(&self.so_far);
        let now = self.stripes.totals().seen_in(self.mode);
        self.admitted.increment(now.admitted.wrapping_sub(so_far.admitted));
        self.admitted_tokens.increment(now.admitted_tokens.wrapping_sub(so_far.admitted_tokens));
        for (counter, (now, before)) in self.refused.iter().zip(now.refused.iter().zip(&so_far.refused)) {
            counter.increment(now.wrapping_sub(*before));
        }
        self.refused_tokens.increment(now.refused_tokens.wrapping_sub(so_far.refused_tokens));
        *so_far = now;
    }
}

impl Totals {
    /// In shadow mode all are admitted.
    fn seen_in(self, mode: Mode) -> Self {
        match mode {
            Mode::Enforced => self,
            Mode::Shadow => Self {
                admitted: self.refused.iter().fold(self.admitted, |sum, more| sum.wrapping_add(*more)),
                admitted_tokens: self.admitted_tokens.wrapping_add(self.refused_tokens),
                ..self
            },
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = self.stripes.totals();
        f.debug_struct("Meter").field("admitted", &totals.admitted).finish_non_exhaustive()
    }
}

impl<L: fmt::Debug> fmt::Debug for Measured<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measured").field("limiter", &self.limiter).field("meter", &self.meter).finish()
    }
}

impl<L: fmt::Debug> fmt::Debug for Shadow<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shadow").field("limiter", &self.limiter).field("meter", &self.meter).finish()
    }
}

#[inline]
fn counted<T, R: HasReason>(mine: Mine<'_>, cost: u64, answer: Result<T, R>) -> Result<T, R> {
    match &answer {
        Ok(_) => mine.admitted(cost),
        Err(refused) => count_refusal(mine, cost, refused),
    }
    answer
}

#[inline]
fn counted_one(mine: Mine<'_>, answer: Result<(), Denied>) -> Result<(), Denied> {
    match &answer {
        Ok(()) => mine.admitted_one(),
        Err(denied) => count_refusal(mine, 1, denied),
    }
    answer
}

#[cold]
#[inline(never)]
fn count_refusal(mine: Mine<'_>, cost: u64, refused: &impl HasReason) {
    mine.refused(cost, refused.reason());
}
