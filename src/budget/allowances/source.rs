//! Where an allowance comes from while the program runs, and what is asked of it.

use std::sync::Arc;

use super::config::Limit;
use super::level::Figures;
use crate::budget::all_of::{Ask, CallTime, Reading, Reason};
use crate::budget::estimate::Estimate;
use crate::budget::reserve::{LiveBudget, Reservation};
use crate::clock::Clock;
use crate::inflight::{InFlight, OwnedPermit};
use crate::nanos::Nanos;

/// What counts an allowance. It stays the same through reloads.
pub(super) enum Source<C: Clock> {
    Rate(Arc<LiveBudget<Arc<C>>>),
    InFlight(Arc<InFlight>),
}

/// What is asked of a source.
pub(super) struct Asked<'s, C: Clock> {
    pub(super) source: &'s Source<C>,
    pub(super) cost: Estimate,
    pub(super) now: Nanos,
}

/// What a source has given out.
pub(super) enum Given<C: Clock> {
    Reserved(Reservation<Arc<LiveBudget<Arc<C>>>>),
    Permit(OwnedPermit),
}

impl<C: Clock> Source<C> {
    /// As its limit says.
    pub(super) fn new(limit: Limit, clock: &Arc<C>) -> Self {
        match limit {
            Limit::Rate(quota) => Self::Rate(Arc::new(LiveBudget::new(quota, Arc::clone(clock)))),
            Limit::InFlight(limit) => Self::InFlight(Arc::new(InFlight::clamped(limit))),
        }
    }

    /// The same under another limit of the same kind, with what is held kept; `None` for one of another kind.
    pub(super) fn adjusted(&self, limit: Limit) -> Option<Self> {
        match (self, limit) {
            (Self::Rate(budget), Limit::Rate(quota)) => budget.adjust(quota),
            (Self::InFlight(permits), Limit::InFlight(limit)) => {
                // In range, or the file would not have been read.
                let _before = permits.set_limit(limit);
            }
            _ => return None,
        }
        Some(self.clone())
    }

    /// What is there now, as text.
    pub(super) fn level(&self) -> String {
        let Figures { available, debt, .. } = self.look();
        if debt > 0 { format!("-{debt}") } else { available.to_string() }
    }

    /// How it stands.
    pub(super) fn look(&self) -> Figures {
        match self {
            Self::Rate(budget) => {
                let (quota, level, open) = budget.look();
                Figures {
                    limit: quota.capacity(),
                    available: level.available(),
                    debt: level.debt(),
                    in_flight: u64::try_from(open).unwrap_or(u64::MAX),
                }
            }
            Self::InFlight(permits) => Figures {
                limit: permits.limit().into(),
                available: permits.available().into(),
                debt: 0,
                in_flight: permits.in_use().into(),
            },
        }
    }

    /// What is there now: tokens or calls, or permits that are not in use.
    pub(super) fn available(&self) -> u64 {
        self.look().available
    }
}

impl<C: Clock> Ask for Asked<'_, C> {
    type Given = Given<C>;

    fn reading(&self, _: &mut CallTime) -> Reading {
        Some(self.now)
    }

    fn look(&self, _: Reading) -> Result<(), Reason> {
        match self.source {
            Source::Rate(budget) => budget.would_admit_at(self.cost, self.now).map_err(Reason::Denied),
            Source::InFlight(permits) => permits.would_admit(weight(self.cost)).map_err(Reason::NoPermit),
        }
    }

    fn take(&self, _: Reading) -> Result<Given<C>, Reason> {
        match self.source {
            Source::Rate(budget) => {
                budget.reserve_owned_at(self.cost, self.now).map(Given::Reserved).map_err(Reason::Denied)
            }
            Source::InFlight(permits) => {
                permits.try_acquire_n_owned(weight(self.cost)).map(Given::Permit).map_err(Reason::NoPermit)
            }
        }
    }

    fn undo(given: Given<C>) {
        match given {
            // Closed in time or at its deadline: in either case it is closed.
            Given::Reserved(reservation) => drop(reservation.release()),
            Given::Permit(permit) => drop(permit),
        }
    }
}

/// A cost beyond any weight is above every limit.
fn weight(cost: Estimate) -> u32 {
    let (Estimate::Stated(cost) | Estimate::Defaulted(cost)) = cost;
    u32::try_from(cost).unwrap_or(u32::MAX)
}

impl<C: Clock> Clone for Source<C> {
    fn clone(&self) -> Self {
        match self {
            Self::Rate(budget) => Self::Rate(Arc::clone(budget)),
            Self::InFlight(permits) => Self::InFlight(Arc::clone(permits)),
        }
    }
}
