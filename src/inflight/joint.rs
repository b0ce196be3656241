//! Rate and work in flight together: both or neither.

use std::fmt;

use super::{InFlight, NoPermit, Permit};
use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::decision::Denied;

/// A rate and a limit on work in flight, asked as one: a call takes from both or from neither.
///
/// ```
/// use tollgate::inflight::{InFlight, Joint, Unjoined};
/// use tollgate::{Bucket, quota};
///
/// let (rate, running) = (Bucket::new(quota!("100/min")), InFlight::new(1)?);
/// let limit = Joint::new(&rate, &running);
///
/// let first = limit.try_acquire()?;
/// assert!(matches!(limit.try_acquire(), Err(Unjoined::InFlight(_))));
/// assert_eq!(rate.peek().available(), 99, "the refused call was not charged");
/// drop(first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Order
///
/// The permit is taken first, then the tokens; when those are refused, the permit is dropped. A dropped permit is back
/// exactly, whatever happened meanwhile, while an undone charge may have to withhold what refill has made good. So a
/// refusal by either leaves both as they were, and the bucket is charged for admitted calls only. For the moment in which
/// a call holds a permit and is then refused its tokens, another may be refused the permit.
pub struct Joint<'a, C> {
    rate: &'a Bucket<C>,
    in_flight: &'a InFlight,
}

/// Which of two joined limits refused, and why. Nothing was taken from either.
///
/// If both refuse, it is the one that refuses for ever, or else the one in flight: that has no wait to tell, and the
/// tokens may be there by the time it has a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
pub enum Unjoined {
    /// The rate refused. It tells the wait.
    Rate(Denied),
    /// Too much is in flight.
    InFlight(NoPermit),
}

impl<'a, C: Clock> Joint<'a, C> {
    /// Both, for as long as they are borrowed. It holds nothing of its own.
    pub fn new(rate: &'a Bucket<C>, in_flight: &'a InFlight) -> Self {
        Self { rate, in_flight }
    }

    /// Takes a token and a permit now, or neither.
    ///
    /// # Errors
    ///
    /// [`Unjoined`], which names the limit that refused.
    pub fn try_acquire(&self) -> Result<Permit<'a>, Unjoined> {
        self.try_acquire_n(1, 1)
    }

    /// Takes `cost` tokens and a permit of `weight` now, or neither.
    ///
    /// # Errors
    ///
    /// [`Unjoined`], which names the limit that refused.
    pub fn try_acquire_n(&self, cost: u64, weight: u32) -> Result<Permit<'a>, Unjoined> {
        let permit = self.in_flight.try_acquire_n(weight).map_err(|no| self.refuse(cost, no))?;
        self.rate.try_acquire_n(cost).map_err(Unjoined::Rate)?;
        Ok(permit)
    }

    /// Waits for a permit of `weight`, then takes `cost` tokens if they are there.
    ///
    /// It does not wait for tokens: a permit held meanwhile would keep others from work that could start.
    ///
    /// # Errors
    ///
    /// [`Unjoined`], which names the limit that refused.
    ///
    /// # Cancel safety
    ///
    /// As [`InFlight::acquire`]; nothing is charged before the permit is there.
    ///
    /// # Fairness
    ///
    /// As [`InFlight::acquire`] for the permit; tokens go to whoever asks first.
    pub async fn acquire_n(&self, cost: u64, weight: u32) -> Result<Permit<'a>, Unjoined> {
        let permit = self.in_flight.acquire_n(weight).await.map_err(|no| self.refuse(cost, no))?;
        self.rate.try_acquire_n(cost).map_err(Unjoined::Rate)?;
        Ok(permit)
    }

    /// The refusal in flight, unless the rate refuses for ever.
    #[cold]
    fn refuse(&self, cost: u64, no: NoPermit) -> Unjoined {
        match self.rate.peek().wait_for(cost) {
            Err(never) if no.is_for_now() => Unjoined::Rate(never),
            _ => Unjoined::InFlight(no),
        }
    }
}

impl<C> Clone for Joint<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Joint<'_, C> {}

impl<C: Clock> fmt::Debug for Joint<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joint").field("rate", self.rate).field("in_flight", self.in_flight).finish()
    }
}

impl fmt::Display for Unjoined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(denied) => write!(f, "refused by the rate: {denied}"),
            Self::InFlight(no) => write!(f, "refused by the limit on work in flight: {no}"),
        }
    }
}

impl std::error::Error for Unjoined {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rate(denied) => Some(denied),
            Self::InFlight(no) => Some(no),
        }
    }
}
