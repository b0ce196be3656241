//! A charge that can be taken back.

use core::fmt;

use super::bucket::SharedBucket;
use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::word::Lowered;

/// Tokens taken from a [`SharedBucket`], with what it takes to give them back at once.
///
/// As [`Charge`](crate::Charge) is for a bucket of the process's own: dropping it keeps the charge, and so does the end of the
/// process. [`undo`](Self::undo) gives back by the same rule: all of it if that is soon and nothing else was given back
/// meanwhile, otherwise less.
///
/// ```
/// use tollgate::{quota, shared_memory::Region};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("limits");
/// let region = Region::open(&path)?;
/// let (requests, tokens) = (region.bucket("requests", quota!("10/h"))?, region.bucket("tokens", quota!("2/h"))?);
/// let first = requests.try_charge(1).unwrap();
/// if tokens.try_charge(3).is_err() {
///     first.undo();
/// }
/// assert_eq!(requests.peek().available(), 10);
/// # Ok::<(), tollgate::shared_memory::SharedError>(())
/// ```
///
/// # Cost
///
/// An undo takes a lock of the file's for the bucket, on an opening of its own: four system calls, some
/// microseconds. A process that dies in it delays nobody; what it may have given back counts against the
/// undos of charges that were there by then. If others undo at the same time, it waits for them for up to a
/// millisecond, and then keeps the charge.
pub struct SharedCharge<'a> {
    pub(super) bucket: &'a SharedBucket,
    pub(super) units: u64,
    /// The word that the charge wrote.
    pub(super) written: u64,
    /// What had been given back before it.
    pub(super) lowered: Lowered,
}

impl SharedCharge<'_> {
    /// Gives the tokens back, as many as are still due.
    pub fn undo(self) {
        // The clock is read after the word, anew for each attempt; see `Charge::undo`.
        self.bucket.give_back(&self, || self.bucket.clock().now_ordered());
    }

    /// Gives the tokens back as of the reading `now`, which must be no older than any that the bucket has been asked
    /// with since the charge.
    pub fn undo_at(self, now: Nanos) {
        self.bucket.give_back(&self, || now);
    }
}

impl fmt::Debug for SharedCharge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedCharge").field("tokens", &self.bucket.tokens(self.units)).finish()
    }
}
