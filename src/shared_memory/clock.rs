//! A clock that means the same in every process of a machine.

use core::fmt;

use nix::time::{ClockId, clock_gettime};

use super::error::SharedError;
use super::layout::Ticking;
use crate::clock::{Clock, Monotonic, Scale, ordered};
use crate::nanos::Nanos;

const COUNTER: u64 = 1;
const SYSTEM: u64 = 2;

/// A file tells the nanoseconds in a tick in 2^-32.
const SCALE_BITS: u32 = 32;

/// The clock of a [`Region`](super::Region): the machine's counter as all who map the file read it, or the system's monotonic
/// clock where the counter is not to be trusted.
///
/// Each process has a calibration of the counter of its own, and two of them drift apart by some millionths. So the one who
/// makes the file writes down the origin and the scale, and all others take those. A reading costs what
/// [`Monotonic`]'s does.
#[derive(Clone)]
pub struct MachineClock {
    ticks: Ticks,
    origin: u64,
    scale: Scale,
}

#[derive(Clone)]
enum Ticks {
    Counter(quanta::Clock),
    System,
}

impl MachineClock {
    /// How a new file's time is to be read, beginning now.
    pub(super) fn begin() -> Ticking {
        match Monotonic::new().counter() {
            Some(counter) => {
                let scale = Scale::of(counter).to_fixed(SCALE_BITS);
                Ticking { source: COUNTER, origin: counter.raw(), scale }
            }
            None => Ticking { source: SYSTEM, origin: system(), scale: 1 << SCALE_BITS },
        }
    }

    /// The clock of a file.
    pub(super) fn of(ticking: Ticking) -> Result<Self, SharedError> {
        let ticks = match (ticking.source, Monotonic::new().counter()) {
            (COUNTER, Some(counter)) => Ticks::Counter(counter.clone()),
            (SYSTEM, _) => Ticks::System,
            _ => return Err(SharedError::NoCounter),
        };
        let scale = Scale::from_fixed(ticking.scale, SCALE_BITS);
        Ok(Self { ticks, origin: ticking.origin, scale })
    }

    #[inline]
    fn reading(&self, ticks: u64) -> Nanos {
        Nanos::new(self.scale.nanos(ticks.saturating_sub(self.origin)))
    }
}

impl Clock for MachineClock {
    #[inline]
    fn now(&self) -> Nanos {
        match &self.ticks {
            Ticks::Counter(counter) => self.reading(counter.raw()),
            Ticks::System => self.reading(system()),
        }
    }

    #[inline]
    fn now_ordered(&self) -> Nanos {
        match &self.ticks {
            Ticks::Counter(counter) => self.reading(ordered(counter)),
            Ticks::System => self.reading(system()),
        }
    }
}

impl fmt::Debug for MachineClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MachineClock").field(&self.now()).finish()
    }
}

/// Nanoseconds of the system's monotonic clock.
#[cold]
#[inline(never)]
fn system() -> u64 {
    // It fails for no clock that a Linux has.
    let Ok(now) = clock_gettime(ClockId::CLOCK_MONOTONIC) else { return 0 };
    let (seconds, nanos) =
        (u64::try_from(now.tv_sec()).unwrap_or(0), u64::try_from(now.tv_nsec()).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
