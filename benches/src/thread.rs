//! What the kernel does to the measuring thread: where it runs, and how often it was taken off its core.

/// Cores this process may use.
#[cfg(target_os = "linux")]
pub fn cores() -> usize {
    allowed().len().max(1)
}

/// Cores this process may use.
#[cfg(not(target_os = "linux"))]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How often the kernel preempted the calling thread so far (`ru_nivcsw`). Always 0 where it cannot be known.
#[cfg(target_os = "linux")]
pub fn preemptions() -> i64 {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
}

/// How often the kernel preempted the calling thread so far. Always 0 where it cannot be known.
#[cfg(not(target_os = "linux"))]
pub fn preemptions() -> i64 {
    0
}

/// Binds the calling thread to the core of that number, counted round-robin over the cores the process began with.
///
/// Returns whether the kernel agreed; unpinned threads only make the figures less steady.
#[cfg(target_os = "linux")]
pub fn pin_to(core: usize) -> bool {
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;
    let Some(&core) = allowed().get(core % allowed().len().max(1)) else { return false };
    let mut chosen = CpuSet::new();
    chosen.set(core).is_ok() && sched_setaffinity(Pid::from_raw(0), &chosen).is_ok()
}

/// The cores that the process could use when it was first asked: a pinned thread hands its one core down.
#[cfg(target_os = "linux")]
fn allowed() -> &'static [usize] {
    use nix::sched::{CpuSet, sched_getaffinity};
    use std::sync::OnceLock;
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    ALLOWED.get_or_init(|| {
        let set = sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap_or_default();
        (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect()
    })
}

/// Binds the calling thread to a core, where the system offers that.
#[cfg(not(target_os = "linux"))]
pub fn pin_to(_core: usize) -> bool {
    false
}
