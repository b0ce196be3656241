//! Permits: what is in use, as long as they live.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::InFlight;

/// Leave to be in flight, borrowed from an [`InFlight`]; dropping it gives the permits back.
///
/// It counts as in use until it is dropped, so keep it as long as the work runs: for a response with a body, in the
/// body. A panic or a cancelled future drops it too. Forgotten with [`std::mem::forget`], it is in use for ever.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct Permit<'a> {
    limit: &'a InFlight,
    weight: u32,
}

/// A [`Permit`] that owns its part of the [`InFlight`], for work that is spawned or a body that is returned.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct OwnedPermit {
    limit: Arc<InFlight>,
    weight: u32,
}

impl<'a> Permit<'a> {
    /// For so much as has been taken.
    #[inline]
    pub(super) fn taken(limit: &'a InFlight, weight: u32) -> Self {
        Self { limit, weight }
    }

    /// Leaves what it stands for in use, for another guard to give back.
    #[inline]
    pub(super) fn into_weight(self) -> u32 {
        ManuallyDrop::new(self).weight
    }

    /// The permits it stands for.
    pub fn weight(&self) -> u32 {
        self.weight
    }
}

impl OwnedPermit {
    /// For so much as has been taken.
    #[inline]
    pub(super) fn taken(limit: Arc<InFlight>, weight: u32) -> Self {
        Self { limit, weight }
    }

    /// The permits it stands for.
    pub fn weight(&self) -> u32 {
        self.weight
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.limit.release(self.weight);
    }
}

impl Drop for OwnedPermit {
    #[inline]
    fn drop(&mut self) {
        self.limit.release(self.weight);
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("weight", &self.weight).finish_non_exhaustive()
    }
}

impl fmt::Debug for OwnedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").field("weight", &self.weight).finish_non_exhaustive()
    }
}
