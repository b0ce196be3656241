//! A bucket's state as it can be written down and carried to another process.

use core::fmt;
use core::time::Duration;

use crate::nanos::Nanos;
use crate::quota::Quota;

/// What a bucket held at a moment of wall time, without reference to the clock of the process that wrote it.
///
/// [`Bucket::snapshot_at`](crate::Bucket::snapshot_at) takes it, [`Bucket::restore_at`](crate::Bucket::restore_at) puts
/// it into a bucket of the same rate and capacity. With the feature `serde` it can be written to any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    pub(crate) quota: Quota,
    /// What is missing from a full bucket, in units of the quota's axis; above the capacity it is debt.
    pub(crate) deficit: u64,
    pub(crate) paused_for: Duration,
    pub(crate) taken_at: Duration,
}

impl Snapshot {
    /// The quota of the bucket it was taken from.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// The wall time at which it was taken, since the Unix epoch.
    pub fn taken_at(&self) -> Duration {
        self.taken_at
    }

    /// The time that has passed by the wall time `wall`: nothing if wall time went back, and at most `most`.
    pub(crate) fn age(&self, wall: Duration, most: Duration) -> Nanos {
        Nanos::from_duration(wall.saturating_sub(self.taken_at).min(most))
    }
}

/// A snapshot of another rate or capacity than the bucket's. Nothing was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreError {
    /// The quota of the bucket that was to be restored.
    pub bucket: Quota,
    /// The quota in the snapshot; its rate and capacity must be the bucket's.
    pub snapshot: Quota,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, snapshot } = self;
        write!(f, "snapshot of `{snapshot}` for a bucket of `{bucket}`: rate and capacity must be the same")
    }
}

impl core::error::Error for RestoreError {}
