//! Limits on work in flight: how much may run at once, whatever the rate.
//!
//! | | what it limits |
//! |---|---|
//! | [`InFlight`] | permits of any weight up to a limit, which can be changed at any time |
//! | [`Adaptive`] | the same, with a limit that follows outcome and latency between two bounds |
//! | [`Joint`] | a rate and work in flight together: both or neither |
//!
//! A permit is a guard: what it stands for is in use until it is dropped, and given back exactly once, also by a panic
//! or a cancelled future. Keep it as long as the work lasts; for a response that streams, in its body.

mod acquire;
mod adaptive;
mod joint;
mod line;
mod permit;
mod refusal;
mod slot;
mod tally;

use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

pub use self::acquire::{Acquire, AcquireOwned};
pub use self::adaptive::{Adaptive, Aimd, Algorithm, Bounds, Gradient, Outcome, Sample, Watched};
pub use self::joint::{Joint, Unjoined};
use self::line::Waiting;
pub use self::permit::{OwnedPermit, Permit};
pub use self::refusal::{LimitError, NoPermit};
use self::tally::Count;
use crate::sync::{Mutex, lock};

/// A limit on work in flight: permits out of a limit, for as long as they are held.
///
/// It limits what *runs*, where a [`Bucket`](crate::Bucket) limits what may start. A permit has a weight; the weights in use
/// never add up to more than the limit. To share one, share it by reference, [`Arc`] or `static`.
///
/// ```
/// use tollgate::inflight::{InFlight, NoPermit};
///
/// let limit = InFlight::new(10)?;
/// let small = limit.try_acquire()?;
/// let large = limit.try_acquire_n(9)?;
/// assert_eq!(limit.try_acquire().unwrap_err(), NoPermit::InUse { weight: 1, in_use: 10, limit: 10 });
/// drop(small);
/// assert!(limit.try_acquire().is_ok());
/// # drop(large);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Those who wait go first
///
/// A caller that [waits](Self::acquire) stands in a line. While anyone is in line, [`try_acquire`](Self::try_acquire) is
/// refused even if the permits are there: what comes free goes to the first in line, who is not overtaken, so a heavy
/// caller is not starved by light ones.
///
/// # Changing the limit
///
/// [`set_limit`](Self::set_limit) may be called at any time. A raised limit admits those in line at once. A lowered one
/// takes nothing back: while more is in use than it allows, nothing is admitted. Once it has returned, no call is admitted
/// under the old limit.
///
/// # Cost
///
/// A permit is a load and a compare-exchange, and its release one read-modify-write. A refusal writes nothing. There is a
/// lock on the line, which only those take who wait, and who release while someone waits.
///
/// # Memory ordering
///
/// Whoever takes a permit sees all that was done under the permits released before: with a limit of one, it is a lock. A
/// refusal carries no such edge.
#[doc(alias = "Semaphore")]
#[doc(alias = "Bulkhead")]
#[doc(alias = "ConcurrencyLimit")]
pub struct InFlight {
    count: CachePadded<Count>,
    line: Mutex<Waiting>,
}

impl InFlight {
    /// The largest limit, 2^31 - 1.
    pub const MAX_LIMIT: u32 = tally::MAX_LIMIT;

    /// At most `limit` in use at once; at most eight times as many may wait in line.
    ///
    /// # Errors
    ///
    /// [`LimitError::OutOfRange`] for a limit of 0 or of 2^31 and more.
    pub fn new(limit: u32) -> Result<Self, LimitError> {
        LimitError::checked(limit).map(|limit| Self::of(limit, line::depth_for(limit)))
    }

    /// [`new`](Self::new) for a limit that is known to be one; others are cut down to what can be.
    #[cfg(any(feature = "allowances", feature = "upstream"))]
    pub(crate) fn clamped(limit: u32) -> Self {
        let limit = limit.clamp(1, Self::MAX_LIMIT);
        Self::of(limit, line::depth_for(limit))
    }

    fn of(limit: u32, depth: usize) -> Self {
        Self { count: CachePadded::new(Count::new(limit)), line: Mutex::new(Waiting::new(depth)) }
    }

    /// Lets at most `depth` callers wait in line; 0 refuses to wait at all.
    ///
    /// A line of so many times the limit is, when all is busy, a wait of about so many times what the work takes.
    pub fn max_waiting(self, depth: usize) -> Self {
        Self { line: Mutex::new(Waiting::new(depth)), ..self }
    }

    /// A permit now, or a refusal.
    ///
    /// # Errors
    ///
    /// [`NoPermit::InUse`], or [`NoPermit::OthersFirst`] while others wait in line.
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_>, NoPermit> {
        self.try_acquire_n(1)
    }

    /// A permit of `weight` now, or a refusal.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); [`NoPermit::OverLimit`] for a weight above the limit, which is not admitted
    /// however long the caller waits; [`NoPermit::ZeroWeight`].
    #[inline]
    pub fn try_acquire_n(&self, weight: u32) -> Result<Permit<'_>, NoPermit> {
        self.take(weight)?;
        Ok(Permit::taken(self, weight))
    }

    /// As [`try_acquire`](Self::try_acquire), a permit that can be sent anywhere.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_owned(self: &Arc<Self>) -> Result<OwnedPermit, NoPermit> {
        self.try_acquire_n_owned(1)
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), a permit that can be sent anywhere.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline]
    pub fn try_acquire_n_owned(self: &Arc<Self>, weight: u32) -> Result<OwnedPermit, NoPermit> {
        self.take(weight)?;
        Ok(OwnedPermit::taken(Arc::clone(self), weight))
    }

    /// The limit now.
    pub fn limit(&self) -> u32 {
        self.count.look().limit()
    }

    /// The permits in use, by their weights. After a lowering it may be above the limit for a while.
    pub fn in_use(&self) -> u32 {
        self.count.look().in_use()
    }

    /// What is left of the limit: 0 while more is in use than a lowered limit allows. What others wait for is counted too.
    pub fn available(&self) -> u32 {
        self.count.look().available()
    }

    /// How many wait in line.
    pub fn waiting(&self) -> usize {
        lock(&self.line).len()
    }

    /// Changes the limit and tells the one before. Who waits in line for more than a lowered
    /// limit is refused when its turn comes.
    ///
    /// # Errors
    ///
    /// [`LimitError::OutOfRange`] for a limit of 0 or of 2^31 and more; then nothing has changed.
    pub fn set_limit(&self, limit: u32) -> Result<u32, LimitError> {
        let before = self.count.set_limit(LimitError::checked(limit)?);
        if before.is_marked() {
            self.hand_over();
        }
        Ok(before.limit())
    }

    /// What [`try_acquire_n`](Self::try_acquire_n) would answer; it takes nothing.
    #[cfg(feature = "budget")]
    #[inline]
    pub(crate) fn would_admit(&self, weight: u32) -> Result<(), NoPermit> {
        if weight == 0 {
            return Err(NoPermit::ZeroWeight);
        }
        let seen = self.count.look();
        seen.take_as_newcomer(weight).map(drop).ok_or_else(|| refusal::refusal(weight, seen))
    }

    #[inline(always)]
    fn take(&self, weight: u32) -> Result<(), NoPermit> {
        if weight == 0 {
            return Err(NoPermit::ZeroWeight);
        }
        self.count.take(weight).map_err(|seen| refusal::refusal(weight, seen))
    }

    #[inline(always)]
    fn release(&self, weight: u32) {
        if self.count.release(weight) {
            self.hand_over();
        }
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.count.look();
        f.debug_struct("InFlight")
            .field("in_use", &seen.in_use())
            .field("limit", &seen.limit())
            .field("someone_waits", &seen.is_marked())
            .finish_non_exhaustive()
    }
}
