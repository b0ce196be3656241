//! An adaptor for clocks that can step back.

use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::sync::{AtomicU64, Ordering};

/// A clock that never goes back, made from one that may: a step back counts as no time passing.
///
/// After a step back the readings go on from the last one, so no balance is lost, no refill is counted twice, and
/// whoever waits as long as a refusal said is admitted. A step forward cannot be told from time passing and counts as
/// such.
///
/// Cost: two loads and one atomic maximum beside the clock's own reading. The readings of all threads meet in one
/// cache line; a clock that cannot step does not need this.
///
/// ```
/// use tollgate::{Clock, Manual, Nanos, NonDecreasing};
///
/// let wall = Manual::starting_at(Nanos::new(100));
/// let clock = NonDecreasing::new(&wall);
/// assert_eq!(clock.now(), Nanos::new(100));
/// wall.set(Nanos::new(40));
/// assert_eq!(clock.now(), Nanos::new(100));
/// wall.set(Nanos::new(45));
/// assert_eq!(clock.now(), Nanos::new(105));
/// ```
#[derive(Debug)]
pub struct NonDecreasing<C> {
    clock: C,
    /// The latest reading given.
    latest: AtomicU64,
    /// The sum of the steps back, added to what the clock says.
    offset: AtomicU64,
}

impl<C: Clock> NonDecreasing<C> {
    /// Readings of `clock`, without its steps back.
    pub fn new(clock: C) -> Self {
        Self { clock, latest: AtomicU64::new(0), offset: AtomicU64::new(0) }
    }
}

impl<C: Clock> Clock for NonDecreasing<C> {
    fn now(&self) -> Nanos {
        loop {
            // `latest` was given before the clock is read here, so a clock that says less has stepped back; a reading
            // that another thread overtakes meanwhile has not. `latest` is raised after `offset`, and acquired before
            // it, so the offset is no older than the one that `latest` was made with. The offset is acquired before
            // the clock is read, so whoever sees a correction also sees the step back that it corrects.
            let latest = self.latest.load(Ordering::Acquire);
            let offset = self.offset.load(Ordering::Acquire);
            let reading = self.clock.now_ordered().as_u64().saturating_add(offset);
            if reading >= latest {
                let before = self.latest.fetch_max(reading, Ordering::AcqRel);
                return Nanos::new(reading.max(before));
            }
            // Threads that see the same step correct it once: the others find another offset and read again.
            let corrected = offset.saturating_add(latest - reading);
            let _ = self.offset.compare_exchange(offset, corrected, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::clock::Manual;

    #[test]
    fn steps_back_add_up_and_steps_forward_count() {
        let wall = Manual::starting_at(Nanos::new(1_000));
        let clock = NonDecreasing::new(&wall);
        let readings = [1_000, 400, 401, 5_000, 4_999, 0, 10].map(|now| {
            wall.set(Nanos::new(now));
            clock.now().as_u64()
        });
        assert_eq!(readings, [1_000, 1_000, 1_001, 5_600, 5_600, 5_600, 5_610]);
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        let wall = Manual::starting_at(Nanos::MAX);
        let clock = NonDecreasing::new(&wall);
        assert_eq!(clock.now(), Nanos::MAX);
        wall.set(Nanos::ZERO);
        assert_eq!(clock.now(), Nanos::MAX);
    }
}
