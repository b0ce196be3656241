//! How long callers wait.

use std::fmt;
use std::sync::Arc;

use super::timing::Timing;
use crate::clock::{Clock, Monotonic};

const ENDINGS: usize = Waited::ALL.len();

/// How a wait ended: the values of the label `outcome`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Waited {
    /// The caller was admitted.
    Admitted,
    /// It was refused, at once or later.
    Refused,
    /// It gave up: its future was dropped.
    Abandoned,
}

/// Measures how long callers wait for a limit's answer, and how many do; made by
/// [`Meters::waits`](super::Meters::waits). Clones are the same.
///
/// ```
/// use tollgate::metrics::Meters;
/// # #[cfg(feature = "inflight")]
/// # async fn work() -> Result<(), tollgate::inflight::NoPermit> {
/// use tollgate::inflight::InFlight;
///
/// # let limit = InFlight::new(1).unwrap();
/// let waits = Meters::new().waits("workers");
/// let permit = waits.time(limit.acquire()).await?;
/// # drop(permit);
/// # Ok(())
/// # }
/// ```
pub struct Waits<C = Monotonic> {
    timing: Arc<Timing<C, ENDINGS>>,
}

impl Waited {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Admitted, Self::Refused, Self::Abandoned];

    /// The value of the label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::Abandoned => "abandoned",
        }
    }
}

impl<C: Clock> Waits<C> {
    pub(super) fn new(timing: Arc<Timing<C, ENDINGS>>) -> Self {
        Self { timing }
    }

    /// Waits for the answer, and records how long that took.
    ///
    /// # Errors
    ///
    /// Those of the answer.
    ///
    /// # Cancel safety
    ///
    /// That of the future given. Dropped, the wait is recorded as abandoned.
    ///
    /// # Fairness
    ///
    /// That of the future given. The wait begins at the first poll.
    pub async fn time<T, E>(&self, waiting: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let mut span = self.timing.start(Waited::Abandoned as usize);
        let answer = waiting.await;
        span.outcome = if answer.is_ok() { Waited::Admitted } else { Waited::Refused } as usize;
        answer
    }

    /// How many wait now.
    pub fn waiting(&self) -> u64 {
        self.timing.open()
    }
}

impl<C> Clone for Waits<C> {
    fn clone(&self) -> Self {
        Self { timing: Arc::clone(&self.timing) }
    }
}

impl<C: Clock> fmt::Debug for Waits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
