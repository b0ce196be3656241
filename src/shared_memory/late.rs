//! Places whose return did not get the lock: they are returned with the next one.

use std::mem;
use std::process;
use std::vec::Vec;

use crate::bucket::Booked;
use crate::sync::{Mutex, lock};

/// So many are kept, the last ones: refill makes good for earlier places first, and then they have nothing to
/// give back.
const MOST: usize = 64;

/// Those of one process. A forked child has none, for it would return its parent's places a second time.
#[derive(Debug)]
pub(super) struct LatePlaces {
    process: u32,
    places: Mutex<Vec<Booked>>,
}

impl LatePlaces {
    pub(super) fn none() -> Self {
        Self { process: process::id(), places: Mutex::new(Vec::new()) }
    }

    /// All of them, for whoever returns them now.
    pub(super) fn take(&self) -> Vec<Booked> {
        if self.is_here() { mem::take(&mut *lock(&self.places)) } else { Vec::new() }
    }

    /// They were not returned after all.
    pub(super) fn put(&self, late: Vec<Booked>) {
        if self.is_here() {
            let mut places = lock(&self.places);
            places.extend(late);
            let forgotten = places.len().saturating_sub(MOST);
            places.drain(..forgotten);
        }
    }

    /// Whether this is not a forked child, which may have the mutex as a thread of its parent held it.
    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::bucket::{Bucket, Spacing};
    use crate::clock::Manual;
    use crate::nanos::Nanos;
    use crate::quota::Quota;

    fn places(count: u64) -> Vec<Booked> {
        let quota = Quota::new(1, Duration::from_secs(1)).unwrap();
        let bucket = Bucket::with_clock(quota, Manual::new());
        (0..count).map(|_| bucket.take_place(1, Spacing::Burst, Nanos::MAX, Nanos::ZERO).unwrap()).collect()
    }

    fn due(places: &[Booked]) -> Vec<u64> {
        places.iter().map(|place| place.due().as_u64() / 1_000_000_000).collect()
    }

    #[test]
    fn the_last_ones_are_kept() {
        let late = LatePlaces::none();
        places(70).chunks(7).for_each(|some| late.put(some.to_vec()));
        assert_eq!(due(&late.take()), (6..70).collect::<Vec<_>>());
        assert!(late.take().is_empty());
    }

    #[test]
    fn a_child_has_none() {
        let parents = LatePlaces { process: 0, places: Mutex::new(places(2)) };
        parents.put(places(1));
        assert!(parents.take().is_empty());
    }
}
