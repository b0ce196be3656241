//! Carrying a bucket from one process to another.

use core::time::Duration;

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::snapshot::{RestoreError, Snapshot};

impl<C: Clock> Bucket<C> {
    /// What the bucket holds, to be put into a bucket of another process; see [`snapshot_at`](Self::snapshot_at).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Bucket, quota};
    ///
    /// let old = Bucket::new(quota!("1/day burst 5"));
    /// old.try_acquire_n(3)?;
    /// let saved = old.snapshot();
    ///
    /// let new = Bucket::new(quota!("1/day burst 5"));
    /// new.restore(&saved, Duration::from_secs(3600)).unwrap();
    /// assert_eq!(new.peek().available(), 2);
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at(self.clock.now(), wall_time())
    }

    /// Puts the bucket into the state of a snapshot; see [`restore_at`](Self::restore_at).
    ///
    /// # Errors
    ///
    /// The snapshot is of another rate or capacity.
    #[cfg(feature = "std")]
    pub fn restore(&self, snapshot: &Snapshot, max_elapsed: Duration) -> Result<(), RestoreError> {
        self.restore_at(snapshot, max_elapsed, self.clock.now(), wall_time())
    }

    /// What the bucket holds at the reading `now` of its clock, anchored to `wall`, the wall time since the Unix epoch.
    pub fn snapshot_at(&self, now: Nanos, wall: Duration) -> Snapshot {
        let level = self.peek_at(now);
        Snapshot {
            quota: self.quota,
            deficit: level.deficit(),
            paused_for: level.paused_for(),
            taken_at: wall,
        }
    }

    /// Puts the bucket into the state of a snapshot, refilled for the time since it was taken.
    ///
    /// That time is the difference of the wall times, nothing if wall time went back, and at most `max_elapsed`, so that
    /// a wrong wall clock cannot fill the bucket beyond what the caller thinks possible. A pause in the snapshot goes on
    /// for what is left of it; a longer pause of the bucket's own stays.
    ///
    /// # Errors
    ///
    /// The snapshot is of another rate or capacity. Nothing was changed.
    pub fn restore_at(
        &self,
        snapshot: &Snapshot,
        max_elapsed: Duration,
        now: Nanos,
        wall: Duration,
    ) -> Result<(), RestoreError> {
        if Gcra::new(&snapshot.quota) != self.gcra {
            return Err(RestoreError { bucket: self.quota, snapshot: snapshot.quota });
        }
        let age = snapshot.age(wall, max_elapsed);
        let paused_for = Nanos::from_duration(snapshot.paused_for).saturating_sub(age);
        if paused_for > Nanos::ZERO {
            self.pause_until(now.saturating_add(paused_for));
        }
        let deficit = snapshot.deficit.saturating_sub(self.gcra.issued(age.as_u64()));
        let issued = self.gcra.issued(now.as_u64());
        self.word.place(self.gcra.lacking(issued, deficit), issued);
        Ok(())
    }
}

#[cfg(feature = "std")]
fn wall_time() -> Duration {
    use std::time::SystemTime;
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
