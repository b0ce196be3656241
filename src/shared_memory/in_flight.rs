//! Permits for work in flight, over all processes.
//!
//! Each member counts what it holds in a word of its own, so that what a dead one held is known to the unit. To take a
//! permit a member first announces it there, then adds up what all hold: if that is within the limit the permit is its own,
//! else the announcement is taken back.
//!
//! Never more than the limit is held: of all permits held at some moment look at the one announced last. Announcements and
//! sums are sequentially consistent, so the sum that its holder found has all others in it, and it was within the limit.
//! Two that meet at the limit may both step back where one could have passed; so each tries a few times.

use std::fmt;
use std::sync::Arc;

use super::mapping::MappedSlot;
use super::member::Ticket;
use super::opened::Opened;
use crate::sync::{Ordering, spin_loop};

/// How often a permit is asked for that others who are stepping back may stand in the way of.
const ATTEMPTS: u32 = 4;

/// Permits that every process has which opened them by their name. Clones share one limit.
///
/// Made by [`Region::in_flight`](super::Region::in_flight). Never more than the limit is held, over all processes together.
/// What a process holds that ends, however it ends, comes back to the others: whoever finds too little left looks for the
/// dead, at most every 10 ms.
///
/// ```
/// use tollgate::shared_memory::Region;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("limits");
/// let renders = Region::open(&path)?.in_flight("renders", 2)?;
/// let first = renders.try_acquire();
/// assert!(first.is_ok() && renders.try_acquire_n(2).is_err());
/// drop(first);
/// assert!(renders.try_acquire_n(2).is_ok());
/// # Ok::<(), tollgate::shared_memory::SharedError>(())
/// ```
///
/// # Cost
///
/// One atomic addition to a word of the process's own, a look at 64 words in four cache lines, and a system call for the number of
/// the process.
///
/// # Fork
///
/// A forked child's permits are its own; those that it has copies of stay its parent's, and dropping the copy does nothing. If
/// the parent ends before the child has asked for a permit of its own, its permits stay taken until the child does, or ends.
#[derive(Clone)]
pub struct SharedInFlight {
    opened: Arc<Opened>,
    slot: Arc<MappedSlot>,
}

/// Why there is no permit now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoSharedPermit {
    /// Too many are held.
    Busy {
        /// The permits held, by all processes.
        in_use: u64,
        /// The limit.
        limit: u32,
    },
    /// The weight is above the limit.
    OverLimit {
        /// The weight asked for.
        weight: u32,
        /// The limit.
        limit: u32,
    },
    /// A weight of 0.
    ZeroWeight,
    /// This process, forked from a member, could not become one: there are 64, or the system refused.
    NoMember,
}

/// Permits held by this process, given back when dropped.
#[must_use = "dropped, it is given back"]
pub struct SharedPermit {
    /// All of it: the process is a member while it has a permit.
    of: SharedInFlight,
    ticket: Ticket,
    weight: u32,
}

impl SharedInFlight {
    pub(super) fn new(opened: Arc<Opened>, slot: MappedSlot) -> Self {
        Self { opened, slot: Arc::new(slot) }
    }

    /// A permit now, or a refusal.
    ///
    /// # Errors
    ///
    /// [`NoSharedPermit::Busy`] or [`NoSharedPermit::NoMember`].
    pub fn try_acquire(&self) -> Result<SharedPermit, NoSharedPermit> {
        self.try_acquire_n(1)
    }

    /// A permit of `weight` now, or a refusal. Beside others who are being refused it may be refused where alone it would not
    /// be.
    ///
    /// # Errors
    ///
    /// [`NoSharedPermit`].
    pub fn try_acquire_n(&self, weight: u32) -> Result<SharedPermit, NoSharedPermit> {
        let limit = self.limit();
        if weight == 0 {
            return Err(NoSharedPermit::ZeroWeight);
        }
        if weight > limit {
            return Err(NoSharedPermit::OverLimit { weight, limit });
        }
        let ticket = self.opened.ticket().map_err(|_| NoSharedPermit::NoMember)?;
        let attempt = || self.attempt(ticket, weight, limit);
        (0..ATTEMPTS)
            .find_map(|_| attempt())
            .or_else(|| self.opened.bury_the_dead().then(attempt).flatten())
            .ok_or_else(|| NoSharedPermit::Busy { in_use: self.in_use(), limit })
    }

    /// The permits held, by all processes, and by those that have ended and were not noticed.
    pub fn in_use(&self) -> u64 {
        self.slot.held.iter().map(|held| u64::from(held.load(Ordering::SeqCst))).sum()
    }

    /// The limit.
    pub fn limit(&self) -> u32 {
        self.slot.limit()
    }

    /// Changes the limit for all processes, to 1 to 2^24; a value outside becomes the nearest within. Nothing that is held is
    /// taken back.
    pub fn set_limit(&self, limit: u32) {
        self.slot.set_limit(limit);
    }

    fn attempt(&self, ticket: Ticket, weight: u32, limit: u32) -> Option<SharedPermit> {
        let held = self.slot.held.get(ticket.index)?;
        held.fetch_add(weight, Ordering::SeqCst);
        if self.in_use() <= u64::from(limit) {
            return Some(SharedPermit { of: self.clone(), ticket, weight });
        }
        held.fetch_sub(weight, Ordering::SeqCst);
        spin_loop();
        None
    }
}

impl Drop for SharedPermit {
    fn drop(&mut self) {
        // The copy in a forked child is not the permit.
        if let Some(held) = self.of.slot.held.get(self.ticket.index).filter(|_| self.ticket.is_here()) {
            held.fetch_sub(self.weight, Ordering::SeqCst);
        }
    }
}

impl fmt::Debug for SharedInFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInFlight")
            .field("in_use", &self.in_use())
            .field("limit", &self.limit())
            .finish()
    }
}

impl fmt::Debug for SharedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPermit").field("weight", &self.weight).finish_non_exhaustive()
    }
}

impl fmt::Display for NoSharedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { in_use, limit } => write!(f, "{in_use} of {limit} permits are held"),
            Self::OverLimit { weight, limit } => {
                write!(f, "a weight of {weight} is above the limit of {limit}")
            }
            Self::ZeroWeight => f.write_str("a weight of 0"),
            Self::NoMember => f.write_str("this process cannot become a member of the file"),
        }
    }
}

impl std::error::Error for NoSharedPermit {}
