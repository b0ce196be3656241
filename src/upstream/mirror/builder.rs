//! How a mirror is built.

use core::time::Duration;
use std::sync::Arc;

use smallvec::SmallVec;

use super::cell::Cell;
use super::refused::MirrorError;
use super::share::Share;
use super::state::State;
use super::{Inner, Mirror};
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::Mutex;
use crate::upstream::read::Dimension;

/// Builds a [`Mirror`].
///
/// ```
/// use std::time::Duration;
/// use tollgate::quota;
/// use tollgate::upstream::{Dimension, Mirror};
///
/// let mirror = Mirror::builder()
///     .limit(Dimension::Requests, quota!("500/min"))
///     .window(Dimension::Requests, 10_000, Duration::from_secs(86_400))
///     .keep(Dimension::Requests, 5)
///     .build()?;
/// # Ok::<(), tollgate::upstream::MirrorError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MirrorBuilder<C = Monotonic> {
    limits: SmallVec<[(Dimension, Limit); 4]>,
    kept: SmallVec<[(Dimension, u64); 4]>,
    is_shared: bool,
    within: Option<Duration>,
    clock: C,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Bucket(Quota),
    Window(u64, Duration),
}

impl MirrorBuilder<Monotonic> {
    pub(super) fn new() -> Self {
        Self {
            limits: SmallVec::new(),
            kept: SmallVec::new(),
            is_shared: false,
            within: None,
            clock: Monotonic::new(),
        }
    }
}

impl<C: Clock> MirrorBuilder<C> {
    /// A limit that is there again evenly: `quota`'s tokens a period. Several may count the same dimension, as by the minute
    /// and by the day.
    #[must_use]
    pub fn limit(mut self, dimension: Dimension, quota: Quota) -> Self {
        self.limits.push((dimension, Limit::Bucket(quota)));
        self
    }

    /// A limit of so much in each window of so long, which is there again all at once. Until the upstream tells when a window
    /// ends, one is taken to begin with the first call in it.
    #[must_use]
    pub fn window(mut self, dimension: Dimension, limit: u64, period: Duration) -> Self {
        self.limits.push((dimension, Limit::Window(limit, period)));
        self
    }

    /// Leaves so many tokens of each limit of a dimension to others that use the same credential: a call is let through
    /// only while what would be left is at least that. Of a limit that becomes lower, less in proportion.
    #[must_use]
    pub fn keep(mut self, dimension: Dimension, tokens: u64) -> Self {
        self.kept.push((dimension, tokens));
        self
    }

    /// Others use the same credential, without being known: learn which part of each limit is one's own, and claim no more.
    ///
    /// Without it a mirror takes the whole refill, and all that it is told is left, for its own. Several such mirrors together
    /// send a multiple of the limit, and wake from a pause all at once. With it equal clients come to equal parts, one that sends
    /// more than the others takes what they leave, and one alone has all. It needs answers that tell what
    /// remains: a limit that they do not tell of is used whole.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// The upstream counts a call, and takes the figures for its answer, within so long of its sending.
    ///
    /// Without it nothing is assumed, and a call counts as if it were charged now until it is answered: that costs throughput where
    /// answers take longer than a bucket takes to fill, such as minutes of thought. Choose it too short and calls may be refused that
    /// were let through. A call that [never left](super::Sent::not_sent) may give nothing back after that time.
    #[must_use]
    pub fn counted_within(mut self, span: Duration) -> Self {
        self.within = Some(span);
        self
    }

    /// Another clock.
    #[must_use]
    pub fn clock<D: Clock>(self, clock: D) -> MirrorBuilder<D> {
        let Self { limits, kept, is_shared, within, clock: _ } = self;
        MirrorBuilder { limits, kept, is_shared, within, clock }
    }

    /// The mirror.
    ///
    /// # Errors
    ///
    /// A window without length or allowance; nothing left of a limit beside what is kept of it; or something kept of a
    /// dimension that has no limit.
    pub fn build(self) -> Result<Mirror<C>, MirrorError> {
        let cells: SmallVec<[Cell; 4]> = self
            .limits
            .iter()
            .map(|(dimension, limit)| self.cell(*dimension, *limit))
            .collect::<Result<_, _>>()?;
        let is_limited = |dimension| cells.iter().any(|cell| cell.dimension == dimension);
        if let Some((dimension, _)) = self.kept.iter().find(|(dimension, _)| !is_limited(*dimension)) {
            return Err(MirrorError::KeepsOfNothing { dimension: *dimension });
        }
        let state =
            Mutex::new(State::new(cells, self.within.map(|span| Nanos::from_duration(span).as_u64())));
        Ok(Mirror { inner: Arc::new(Inner { clock: self.clock, state }) })
    }

    fn cell(&self, dimension: Dimension, limit: Limit) -> Result<Cell, MirrorError> {
        let (quota, is_window) = match limit {
            Limit::Bucket(quota) => (quota, false),
            Limit::Window(tokens, period) => {
                (Quota::new(tokens, period).map_err(|error| MirrorError::Window { dimension, error })?, true)
            }
        };
        let kept = self.kept.iter().rev().find(|(kept, _)| *kept == dimension);
        let (keep, capacity) = (kept.map_or(0, |(_, tokens)| *tokens), quota.capacity());
        if keep >= capacity {
            return Err(MirrorError::KeepsAll { dimension, keep, capacity });
        }
        let cell = Cell::new(dimension, quota, is_window, keep);
        let share = self.is_shared.then(|| Share::new(cell.arrival, quota.tokens()));
        Ok(Cell { share, ..cell })
    }
}
