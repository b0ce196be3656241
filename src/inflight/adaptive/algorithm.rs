//! How a limit follows what is seen of the work: the published rules, without bounds, clock or lock.

use std::time::Duration;

use crate::inflight::LimitError;

/// What is known of one piece of work that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How long it held its permit.
    pub latency: Duration,
    /// How much was in flight when it started, itself included.
    pub in_flight: u32,
    /// Whether it was dropped: overload, rejection or a time-out at the far end.
    pub is_dropped: bool,
}

/// A rule that makes the next estimate of the limit from the last and a sample.
///
/// The estimate is a number with a fraction, so that small steps add up; [`Adaptive`](super::Adaptive) keeps it within
/// the bounds before and after, and takes the whole part as the limit.
pub trait Algorithm {
    /// The next estimate.
    fn next(&mut self, estimate: f64, sample: &Sample) -> f64;
}

/// Additive increase, multiplicative decrease: one permit more for each success while at least half of the limit is in
/// use; on a drop, or a latency above the time-out, `backoff` times the limit.
///
/// After Chiu and Jain, *Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks*
/// (1989), with the steps and the defaults (0.9, 5 s) of `AIMDLimit` in Netflix' concurrency-limits. It needs a far end
/// that says when it has too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimd {
    backoff: f64,
    timeout: Duration,
}

impl Aimd {
    /// Multiplies by `backoff` when work is dropped or takes longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`LimitError::Parameter`] for a `backoff` that is not from 0.5 to less than 1, or a `timeout` of zero.
    pub fn new(backoff: f64, timeout: Duration) -> Result<Self, LimitError> {
        within("backoff", (0.5..1.0).contains(&backoff), "from 0.5 to less than 1")?;
        within("timeout", !timeout.is_zero(), "more than zero")?;
        Ok(Self { backoff, timeout })
    }
}

impl Default for Aimd {
    fn default() -> Self {
        Self { backoff: 0.9, timeout: Duration::from_secs(5) }
    }
}

impl Algorithm for Aimd {
    fn next(&mut self, estimate: f64, sample: &Sample) -> f64 {
        let limit = estimate.floor();
        if sample.is_dropped || sample.latency > self.timeout {
            // At least one less, which the product alone does not give below a limit of ten.
            (limit * self.backoff).floor().min(limit - 1.0)
        } else if is_wanted(sample, limit) {
            limit + 1.0
        } else {
            estimate
        }
    }
}

/// The gradient of latency: the limit shrinks in proportion as the latency of now exceeds that of the long run, and
/// grows by a `queue` of its own that may stand at the far end.
///
/// `Gradient2Limit` of Netflix' concurrency-limits: with `g = long / now` held within 0.5 and 1, the estimate moves a
/// part `smoothing` of the way to `estimate * g + queue`. The latency of the long run is an exponential average over
/// `window` samples (a plain mean of the first ten), taken down by a twentieth whenever it is more than twice the latency
/// of now, so that it does not remember an overload for long. While less than half of the limit is in use, nothing changes.
///
/// The published rule does not look at drops. Here a drop counts as a gradient of 0.5, the least there is, without a
/// queue, and is left out of the average: a far end that refuses at once would look fast.
///
/// Its known weakness, here as there: an overload that lasts for as long as the window becomes the new normal, so the
/// upper bound must be one that the far end survives.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    queue: f64,
    smoothing: f64,
    tolerance: f64,
    long: LongRun,
}

impl Gradient {
    /// Allows for a queue of so many at the far end.
    ///
    /// # Errors
    ///
    /// [`LimitError::Parameter`] for a `queue` of 0, which would never let the limit grow.
    pub fn queue(self, queue: u32) -> Result<Self, LimitError> {
        within("queue", queue > 0, "at least 1")?;
        Ok(Self { queue: queue.into(), ..self })
    }

    /// Moves so large a part of the way with each sample.
    ///
    /// # Errors
    ///
    /// [`LimitError::Parameter`] for a part that is not more than 0 and at most 1.
    pub fn smoothing(self, smoothing: f64) -> Result<Self, LimitError> {
        within("smoothing", smoothing > 0.0 && smoothing <= 1.0, "more than 0 and at most 1")?;
        Ok(Self { smoothing, ..self })
    }

    /// Takes a latency of up to so many times that of the long run for no queue at all.
    ///
    /// # Errors
    ///
    /// [`LimitError::Parameter`] for less than 1, or for what is not finite.
    pub fn tolerance(self, tolerance: f64) -> Result<Self, LimitError> {
        within("tolerance", tolerance >= 1.0 && tolerance.is_finite(), "at least 1")?;
        Ok(Self { tolerance, ..self })
    }

    /// Averages the long run over so many samples.
    ///
    /// # Errors
    ///
    /// [`LimitError::Parameter`] for fewer than ten.
    pub fn window(self, samples: u32) -> Result<Self, LimitError> {
        within("window", samples >= LongRun::WARM_UP, "at least 10 samples")?;
        Ok(Self { long: LongRun { window: samples.into(), ..self.long }, ..self })
    }
}

/// A queue of 4, a fifth of the way, the tolerance of 1.5 and a window of 600 samples, as published.
impl Default for Gradient {
    fn default() -> Self {
        Self { queue: 4.0, smoothing: 0.2, tolerance: 1.5, long: LongRun::new(600.0) }
    }
}

impl Algorithm for Gradient {
    fn next(&mut self, estimate: f64, sample: &Sample) -> f64 {
        let goal = if sample.is_dropped {
            estimate * 0.5
        } else {
            let gradient = self.gradient(sample.latency);
            if is_wanted(sample, estimate) { estimate * gradient + self.queue } else { estimate }
        };
        estimate + (goal - estimate) * self.smoothing
    }
}

impl Gradient {
    fn gradient(&mut self, latency: Duration) -> f64 {
        // A latency of zero would have no gradient; a clock that stands still is the only one to give it.
        let now = latency.as_secs_f64().max(1e-9);
        let long = self.long.add(now);
        if long > 2.0 * now {
            self.long.shorten();
        }
        (self.tolerance * long / now).clamp(0.5, 1.0)
    }
}

/// An exponential average, after a plain mean of the first samples.
#[derive(Clone, Debug, PartialEq)]
struct LongRun {
    window: f64,
    count: u32,
    sum: f64,
    mean: f64,
}

impl LongRun {
    const WARM_UP: u32 = 10;

    fn new(window: f64) -> Self {
        Self { window, count: 0, sum: 0.0, mean: 0.0 }
    }

    fn add(&mut self, value: f64) -> f64 {
        if self.count < Self::WARM_UP {
            self.count += 1;
            self.sum += value;
            self.mean = self.sum / f64::from(self.count);
        } else {
            self.mean += (value - self.mean) * 2.0 / (self.window + 1.0);
        }
        self.mean
    }

    fn shorten(&mut self) {
        self.mean *= 0.95;
    }
}

/// Whether so much was in use that more would be: a limit that nobody reaches must not grow.
fn is_wanted(sample: &Sample, limit: f64) -> bool {
    f64::from(sample.in_flight) * 2.0 >= limit
}

fn within(name: &'static str, holds: bool, range: &'static str) -> Result<(), LimitError> {
    if holds { Ok(()) } else { Err(LimitError::Parameter { name, range }) }
}
