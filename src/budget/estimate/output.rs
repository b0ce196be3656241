//! What an output will come to, from what outputs were and from what it may be.

use super::{History, Percentile};
use crate::budget::ratio::Ratio;

/// With fewer recorded, a history says nothing yet.
const LEAST: usize = 10;

/// What to reserve, and where it comes from. A limiter treats the two differently when it cannot hold so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The caller has said so. Above the capacity it must be refused.
    Stated(u64),
    /// Nobody has said so: it was learned, or a default. Above the capacity it is clamped, for a default that no one asked
    /// for must not refuse a request for ever.
    Defaulted(u64),
}

impl Estimate {
    /// Tokens, as estimated.
    pub const fn tokens(self) -> u64 {
        match self {
            Self::Stated(tokens) | Self::Defaulted(tokens) => tokens,
        }
    }

    /// What to ask of a limiter that holds `capacity` tokens: what was stated, or what was defaulted but at most its
    /// capacity.
    ///
    /// ```
    /// use tollgate::{Bucket, Denied, Manual, budget::Estimate, quota};
    ///
    /// let limit = Bucket::with_clock(quota!("100/min"), Manual::new());
    /// let cost = |estimate: Estimate| estimate.cost(limit.quota().capacity());
    ///
    /// let stated = limit.try_acquire_n(cost(Estimate::Stated(1024)));
    /// assert_eq!(stated, Err(Denied::OverCapacity { cost: 1024, capacity: 100 }));
    /// assert_eq!(limit.try_acquire_n(cost(Estimate::Defaulted(1024))), Ok(()));
    /// ```
    pub const fn cost(self, capacity: u64) -> u64 {
        match self {
            Self::Defaulted(tokens) if tokens > capacity => capacity,
            Self::Stated(tokens) | Self::Defaulted(tokens) => tokens,
        }
    }
}

/// A figure by itself is the caller's own.
impl From<u64> for Estimate {
    fn from(tokens: u64) -> Self {
        Self::Stated(tokens)
    }
}

/// Which figure of a history stands for the next output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The mean.
    Mean,
    /// A percentile.
    Percentile(Percentile),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Pessimistic,
    Historical,
    Hybrid,
}

/// Estimates the output of a request before it is there.
///
/// | strategy | estimate |
/// |---|---|
/// | [`pessimistic`](Self::pessimistic) | the cap; without one, the fallback |
/// | [`historical`](Self::historical) | history x 1.3, at most the cap |
/// | [`hybrid`](Self::hybrid) | the smaller of history x 1.3 and cap x 0.5; without a cap, history x 1.3 |
///
/// The cap is what the request allows itself (`max_tokens`, `max_completion_tokens`, `max_output_tokens` ...); where it
/// says so more than once and differently, the largest holds. A history of fewer than ten values (unless its window is
/// smaller, and full), or any other source that fails, is replaced by the fallback, a figure that must be stated at the start: never by all that the limit has, and
/// never by more than the cap. No estimate is below 1. What it rounds, it rounds up.
///
/// ```
/// use tollgate::budget::{Estimate, History, OutputEstimator};
///
/// let estimator = OutputEstimator::hybrid(1_024);
/// let outputs = History::default();
/// assert_eq!(estimator.estimate(&outputs, &[None]), Estimate::Defaulted(1_024));
/// for _ in 0..10 {
///     outputs.record(300);
/// }
/// let (max_tokens, max_completion_tokens) = (Some(500), Some(4_000));
/// assert_eq!(estimator.estimate(&outputs, &[max_tokens, max_completion_tokens]), Estimate::Defaulted(390));
/// assert_eq!(estimator.estimate(&outputs, &[max_tokens]), Estimate::Defaulted(250));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputEstimator {
    strategy: Strategy,
    fallback: u64,
    figure: Figure,
    margin: Ratio,
    share: Ratio,
}

impl OutputEstimator {
    /// Reserves all that the request may use; `fallback` tokens if it has no cap.
    pub const fn pessimistic(fallback: u64) -> Self {
        Self::new(Strategy::Pessimistic, fallback)
    }

    /// Reserves what outputs were, with a margin; `fallback` tokens while that is not known.
    pub const fn historical(fallback: u64) -> Self {
        Self::new(Strategy::Historical, fallback)
    }

    /// Reserves what outputs were, with a margin, and at most a share of the cap; `fallback` tokens while it is not known
    /// what they were.
    pub const fn hybrid(fallback: u64) -> Self {
        Self::new(Strategy::Hybrid, fallback)
    }

    const fn new(strategy: Strategy, fallback: u64) -> Self {
        let (margin, share) = (Ratio::known(13, 10), Ratio::known(1, 2));
        Self { strategy, fallback, figure: Figure::Mean, margin, share }
    }

    /// Takes another figure of the history than the mean.
    pub const fn figure(self, figure: Figure) -> Self {
        Self { figure, ..self }
    }

    /// Multiplies what was learned by another margin than 1.3.
    pub const fn margin(self, margin: Ratio) -> Self {
        Self { margin, ..self }
    }

    /// Takes at most another share of the cap than half of it, for [`hybrid`](Self::hybrid).
    pub const fn share(self, share: Ratio) -> Self {
        Self { share, ..self }
    }

    /// The estimate from a history and the caps of a request.
    pub fn estimate(&self, history: &History, caps: &[Option<u64>]) -> Estimate {
        let figure = match self.figure {
            _ if history.len() < LEAST.min(history.window()) => None,
            Figure::Mean => history.mean(),
            Figure::Percentile(percentile) => history.percentile(percentile),
        };
        self.estimate_from(figure, caps)
    }

    /// The estimate from any other source, `None` if that has failed, and the caps of a request.
    pub fn estimate_from(&self, learned: Option<u64>, caps: &[Option<u64>]) -> Estimate {
        let cap = caps.iter().copied().flatten().max();
        let ceiling = cap.unwrap_or(u64::MAX);
        let tokens = match (self.strategy, cap, learned) {
            (Strategy::Pessimistic, Some(cap), _) => return Estimate::Stated(cap.max(1)),
            (Strategy::Pessimistic, None, _) | (_, _, None) => self.fallback.min(ceiling),
            (Strategy::Historical, _, Some(learned)) => self.margin.of(learned).min(ceiling),
            (Strategy::Hybrid, _, Some(learned)) => {
                let share = cap.map_or(u64::MAX, |cap| self.share.of(cap));
                self.margin.of(learned).min(share).min(ceiling)
            }
        };
        Estimate::Defaulted(tokens.max(1))
    }
}
