//! Reservations that are settled by the id of a request, for callers that cannot carry a guard.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;

use super::reservation::{Claim, Close, Keep};
use super::{Budget, Late, Settled};
use crate::budget::estimate::Estimate;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::sync::{Mutex, lock};

/// A [`Budget`] whose reservations are known by an id of the caller's.
///
/// ```
/// use tollgate::budget::{Budget, ById, NotSettled};
/// use tollgate::quota;
///
/// let calls: ById<String> = ById::new(Budget::new(quota!("100k/min")), 1_000);
/// calls.reserve("request-17".to_owned(), 2_000)?;
/// // ... elsewhere, when the usage figure comes in ...
/// assert_eq!(calls.settle("request-17", 1_200)?.given_back, 800);
/// assert_eq!(calls.settle("request-17", 1_200), Err(NotSettled::Unknown), "once only");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It remembers at most as many as it was made for. What nobody settles is closed at its deadline, as without ids, and its
/// id is forgotten when the room is needed.
pub struct ById<K, C: Clock = Monotonic> {
    budget: Budget<C>,
    max_open: usize,
    claims: Mutex<HashMap<K, Claim>>,
}

/// Why nothing was reserved. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
#[non_exhaustive]
pub enum NotReserved {
    /// The budget refuses.
    Denied(Denied),
    /// There is a reservation with this id, which has not been settled.
    Duplicate,
    /// So many are open that no more are remembered.
    NoRoom {
        /// How many may be open.
        max_open: usize,
    },
}

/// Why nothing was settled in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotSettled {
    /// There is no reservation with this id: it was never made, it has been settled, or it was closed at its deadline and
    /// forgotten.
    Unknown,
    /// It was closed at its deadline.
    Late(Late),
}

impl<K: Hash + Eq, C: Clock> ById<K, C> {
    /// Reservations from the budget, at most `max_open` at a time.
    pub fn new(budget: Budget<C>, max_open: usize) -> Self {
        Self { budget, max_open, claims: Mutex::new(HashMap::new()) }
    }

    /// Charges an estimate under this id now, or refuses and charges nothing; see [`Budget::reserve`].
    ///
    /// # Errors
    ///
    /// [`NotReserved`].
    pub fn reserve(&self, id: K, estimate: impl Into<Estimate>) -> Result<(), NotReserved> {
        let mut claims = lock(&self.claims);
        if claims.len() >= self.max_open {
            claims.retain(|_, claim| self.budget.is_open(claim));
        }
        let is_full = claims.len() >= self.max_open;
        match claims.entry(id) {
            Entry::Occupied(other) if self.budget.is_open(other.get()) => Err(NotReserved::Duplicate),
            Entry::Vacant(_) if is_full => Err(NotReserved::NoRoom { max_open: self.max_open }),
            entry => {
                let claim = self.budget.claim(estimate.into()).map_err(NotReserved::Denied)?;
                entry.insert_entry(claim);
                Ok(())
            }
        }
    }

    /// Tells how many tokens have been used in all so far; see [`Reservation::observe`](super::Reservation::observe). Tells
    /// whether the id is known.
    pub fn observe<Q>(&self, id: &Q, used: u64) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut claims = lock(&self.claims);
        let claim = claims.get_mut(id);
        claim.map(|claim| self.budget.observe(claim, used, None, None)).is_some()
    }

    /// Closes the reservation with what the work has cost; see [`Reservation::settle`](super::Reservation::settle).
    ///
    /// # Errors
    ///
    /// [`NotSettled`]: an id is settled once.
    pub fn settle<Q>(&self, id: &Q, actual: u64) -> Result<Settled, NotSettled>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.close(id, Close::Actual(actual))
    }

    /// Closes the reservation of work that was tried and failed; see [`Reservation::fail`](super::Reservation::fail).
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub fn fail<Q>(&self, id: &Q) -> Result<Settled, NotSettled>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.close(id, Close::Failed)
    }

    /// The budget.
    pub fn budget(&self) -> &Budget<C> {
        &self.budget
    }

    fn close<Q>(&self, id: &Q, how: Close) -> Result<Settled, NotSettled>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let claim = lock(&self.claims).remove(id).ok_or(NotSettled::Unknown)?;
        self.budget.close(claim, how, None).map_err(NotSettled::Late)
    }
}

impl<K, C: Clock> fmt::Debug for ById<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ById").field("budget", &self.budget).field("max_open", &self.max_open).finish()
    }
}

impl fmt::Display for NotReserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            Self::Duplicate => write!(f, "this id has a reservation that is not settled"),
            Self::NoRoom { max_open } => {
                write!(f, "{max_open} reservations are open: no more are remembered")
            }
        }
    }
}

impl std::error::Error for NotReserved {}

impl fmt::Display for NotSettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(f, "no reservation with this id is open"),
            Self::Late(late) => late.fmt(f),
        }
    }
}

impl std::error::Error for NotSettled {}
