//! The processor's time-stamp counter where it can be trusted, else the operating system's monotonic clock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::scale::Scale;
use crate::clock::Clock;
use crate::nanos::Nanos;

/// The default clock: it never steps back, and all of a process's `Monotonic` clocks have one origin.
///
/// It reads the time-stamp counter through [`quanta`] where the counter can be trusted to run evenly and alike on all
/// cores, at the cost of the reading (about 10 ns), and [`std::time::Instant`] elsewhere (about 25 ns);
/// [`source`](Self::source) says which. The counter is trusted
///
/// 1. if the kernel itself keeps time by it (on Linux: `tsc` is the current clocksource), or
/// 2. if the kernel has not disqualified it, the processor calls it invariant, and threads that pass readings to each
///    other over a few milliseconds never see it go back.
///
/// This is decided once, at the first clock of the process, which may take up to 200 ms for quanta's calibration.
///
/// # Suspend
///
/// `Instant` does not count the time in which the machine sleeps on Linux, and a sleeping machine's counter may stand
/// still or go on. Either way a limiter wakes with at least what it held and at most what real time would have given,
/// so tokens may come later than the wall clock suggests, never sooner.
///
/// # Fork
///
/// The origin is copied with the process, so readings before and after a `fork` compare.
#[derive(Clone, Debug)]
pub struct Monotonic {
    reader: Reader,
}

/// What a [`Monotonic`] clock reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The processor's time-stamp counter.
    Tsc,
    /// [`std::time::Instant`].
    Instant,
}

#[derive(Clone, Debug)]
enum Reader {
    Tsc { counter: quanta::Clock, origin: u64, scale: Scale },
    Instant { origin: Instant },
}

impl Monotonic {
    /// A clock of this process.
    pub fn new() -> Self {
        static READER: OnceLock<Reader> = OnceLock::new();
        Self { reader: READER.get_or_init(Reader::choose).clone() }
    }

    /// The counter that it reads.
    #[cfg(feature = "shared-memory")]
    pub(crate) fn counter(&self) -> Option<&quanta::Clock> {
        match &self.reader {
            Reader::Tsc { counter, .. } => Some(counter),
            Reader::Instant { .. } => None,
        }
    }

    /// What it reads.
    pub fn source(&self) -> Source {
        match self.reader {
            Reader::Tsc { .. } => Source::Tsc,
            Reader::Instant { .. } => Source::Instant,
        }
    }
}

impl Default for Monotonic {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Nanos {
        match &self.reader {
            Reader::Tsc { counter, origin, scale } => since(*origin, counter.raw(), *scale),
            Reader::Instant { origin } => elapsed(origin),
        }
    }

    #[inline]
    fn now_ordered(&self) -> Nanos {
        match &self.reader {
            Reader::Tsc { counter, origin, scale } => since(*origin, ordered(counter), *scale),
            Reader::Instant { origin } => elapsed(origin),
        }
    }

    #[inline]
    fn is_of_the_process(&self) -> bool {
        true
    }
}

#[inline(always)]
fn since(origin: u64, ticks: u64, scale: Scale) -> Nanos {
    Nanos::new(scale.nanos(ticks.saturating_sub(origin)))
}

/// Out of line, so that the reading of the counter stays small where it is inlined.
#[inline(never)]
fn elapsed(origin: &Instant) -> Nanos {
    Nanos::from_duration(origin.elapsed())
}

/// The counter, read after all loads ahead of it. `RDTSCP` waits for them (Intel SDM vol. 2B, AMD APM vol. 3), and quanta
/// uses no counter without it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ordered(_: &quanta::Clock) -> u64 {
    safe_arch::read_timestamp_counter_p(&mut 0)
}

/// The counter, read after all loads ahead of it: the system reads it itself behind a barrier first.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn ordered(counter: &quanta::Clock) -> u64 {
    std::hint::black_box(Instant::now());
    counter.raw()
}

impl Reader {
    fn choose() -> Self {
        Self::trusted_counter().unwrap_or_else(|| Self::Instant { origin: Instant::now() })
    }

    fn trusted_counter() -> Option<Self> {
        let verdict = Verdict::of_kernel();
        if verdict == Verdict::Disqualified {
            return None;
        }
        let counter = quanta::Clock::new();
        let trusted = reads_counter(&counter) && (verdict == Verdict::InUse || cores_agree(&counter));
        trusted.then(|| Self::Tsc { origin: counter.raw(), scale: Scale::of(&counter), counter })
    }
}

/// What the kernel thinks of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It keeps time by it.
    InUse,
    /// It would, but uses another clock.
    Usable,
    /// It has found it wanting.
    Disqualified,
    /// It does not say.
    Unknown,
}

impl Verdict {
    fn of_kernel() -> Self {
        let read = |name: &str| {
            std::fs::read_to_string(format!(
                "/sys/devices/system/clocksource/clocksource0/{name}_clocksource"
            ))
            .ok()
        };
        Self::from_clocksource(read("current").as_deref(), read("available").as_deref())
    }

    fn from_clocksource(current: Option<&str>, available: Option<&str>) -> Self {
        let is_counter = |name: &str| matches!(name, "tsc" | "arch_sys_counter");
        match (current, available) {
            (Some(current), _) if is_counter(current.trim()) => Self::InUse,
            (_, Some(available)) if available.split_whitespace().any(is_counter) => Self::Usable,
            (Some(_), _) => Self::Disqualified,
            (None, _) => Self::Unknown,
        }
    }
}

/// Whether quanta found an invariant counter. It does not say so itself, but it converts every value from before its
/// calibration to the same time, while a clock without a counter converts nothing.
fn reads_counter(clock: &quanta::Clock) -> bool {
    clock.scaled(0) == clock.scaled(1)
}

/// Whether threads that pass readings to each other ever see the counter go back.
fn cores_agree(clock: &quanta::Clock) -> bool {
    const READINGS: u32 = 50_000;
    let latest = AtomicU64::new(0);
    let never_back = || {
        (0..READINGS).all(|_| {
            let seen = latest.load(Ordering::Acquire);
            let reading = ordered(clock);
            latest.fetch_max(reading, Ordering::AcqRel);
            reading >= seen
        })
    };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get()).clamp(2, 64);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(never_back)).collect();
        threads.into_iter().all(|thread| thread.join().unwrap_or(false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_first() {
        let verdict = Verdict::from_clocksource;
        assert_eq!(verdict(Some("tsc\n"), Some("tsc kvm-clock \n")), Verdict::InUse);
        assert_eq!(verdict(Some("kvm-clock\n"), Some("kvm-clock tsc acpi_pm \n")), Verdict::Usable);
        assert_eq!(verdict(Some("hpet\n"), Some("hpet acpi_pm \n")), Verdict::Disqualified);
        assert_eq!(verdict(Some("arch_sys_counter\n"), None), Verdict::InUse);
        assert_eq!(verdict(None, None), Verdict::Unknown);
    }

    #[test]
    fn cores_of_this_machine_agree_if_the_kernel_uses_the_counter() {
        if Verdict::of_kernel() == Verdict::InUse {
            assert!(cores_agree(&quanta::Clock::new()));
        }
    }

    #[test]
    fn all_clocks_have_one_origin_and_follow_real_time() {
        let (first, start) = (Monotonic::new(), Instant::now());
        let before = first.now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let passed = Monotonic::new().now().saturating_sub(before).as_duration();
        let real = start.elapsed();
        assert!(
            passed >= std::time::Duration::from_millis(19) && passed <= real * 11 / 10,
            "{passed:?} of {real:?}"
        );
    }
}
