//! A clock that a thread refreshes, so that reading it is one load.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;

/// A clock that reads one atomic: a thread of its own stores the time there every `interval`.
///
/// A reading is late by at most the *staleness* `D`: the interval, and as long as the operating system keeps the thread
/// from running beyond it. Late readings make single answers stricter. Over an interval of real time `t` they widen the
/// bound to `B + r*(t + D)`, since up to `D` of refill that belongs to the time before may be admitted in it.
///
/// It takes its time from [`Monotonic`] and shares that clock's origin. (quanta has a thread of this kind too, one for
/// the whole process, but it does not ask whether the counter can be trusted.)
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Bucket, Coarse, quota};
///
/// let clock = Coarse::start(Duration::from_millis(1))?;
/// let bucket = Bucket::with_clock(quota!("1000/s"), clock);
/// assert!(bucket.try_acquire().is_ok());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Coarse {
    latest: Arc<AtomicU64>,
}

impl Coarse {
    /// Starts the thread. It ends by itself, within an `interval`, when the last clone of the clock is dropped.
    ///
    /// # Errors
    ///
    /// The operating system starts no thread.
    pub fn start(interval: Duration) -> io::Result<Self> {
        let clock = Monotonic::new();
        let latest = Arc::new(AtomicU64::new(clock.now().as_u64()));
        let theirs = Arc::downgrade(&latest);
        let thread = std::thread::Builder::new().name("tollgate-clock".into());
        thread.spawn(move || refresh(&clock, &theirs, interval))?;
        Ok(Self { latest })
    }
}

impl Clock for Coarse {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(self.latest.load(Ordering::Acquire))
    }
}

fn refresh(clock: &Monotonic, latest: &Weak<AtomicU64>, interval: Duration) {
    while let Some(latest) = latest.upgrade() {
        latest.store(clock.now().as_u64(), Ordering::Release);
        drop(latest);
        std::thread::sleep(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_ends_with_the_last_clone() {
        let clock = Coarse::start(Duration::from_millis(1)).unwrap();
        let latest = Arc::downgrade(&clock.latest);
        let (other, before) = (clock.clone(), clock.now());
        drop(clock);
        while other.now() == before {
            std::thread::yield_now();
        }
        drop(other);
        while latest.upgrade().is_some() {
            std::thread::yield_now();
        }
    }
}
