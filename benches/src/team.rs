//! Several threads on one limiter: pinned, started by a spin handshake, the slowest counts.
//!
//! On a virtual machine the hypervisor moves cores about while a run goes on, and the time a cache line takes between two
//! of them is 23-60 ns or 170-190 ns. A contended figure means nothing without that distance, so it is
//! measured by a ping-pong before and after each contended window; see [`crate::contest`].

use crate::cpu::opaque;
use crate::rounds::Lap;
use crate::stats::median;
use crate::thread::{cores, pin_to};
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Turns of one volley.
const TURNS: u64 = 200;

/// Threads that were started, and pinned round-robin, before anything is measured.
///
/// When a team is dropped its threads have ended: what limiters keep for each thread is there for the next team.
pub struct Team {
    pool: Option<ThreadPool>,
    threads: Vec<JoinHandle<()>>,
}

/// What all threads did between the handshake and the last one's end.
#[derive(Clone, Debug)]
pub struct Window {
    /// From the handshake to the end of the slowest thread.
    pub nanos: u64,
    /// How long after the first thread the last one began.
    pub skew_nanos: u64,
    /// One lap a thread.
    pub laps: Vec<Lap>,
    /// Whether the kernel took any of the threads off its core.
    pub preempted: bool,
}

/// How far apart the first two cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// A cache line crosses in less than [`Placement::NEAR_NANOS`].
    Near,
    /// It takes longer.
    Far,
}

impl Placement {
    /// The border between near and far: one way, in nanoseconds. Both were measured well clear of it.
    pub const NEAR_NANOS: f64 = 110.0;

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }

    fn of(one_way_nanos: f64) -> Self {
        if one_way_nanos < Self::NEAR_NANOS { Self::Near } else { Self::Far }
    }
}

/// One thread's part of a window.
struct Shift {
    start: Instant,
    end: Instant,
    lap: Lap,
}

impl Window {
    /// Where threads outnumber cores one may start only when another has ended, so single laps say nothing: time runs
    /// from the first start to the last end.
    fn of(shifts: &[Shift]) -> Self {
        let (first, last) =
            (shifts.iter().map(|shift| shift.start).min(), shifts.iter().map(|shift| shift.start).max());
        let end = shifts.iter().map(|shift| shift.end).max();
        let since_first = |then: Option<Instant>| {
            first.zip(then).map_or(0, |(first, then)| (then - first).as_nanos() as u64)
        };
        Self {
            nanos: since_first(end),
            skew_nanos: since_first(last),
            laps: shifts.iter().map(|shift| shift.lap).collect(),
            preempted: shifts.iter().any(|shift| shift.lap.preempted),
        }
    }

    /// Tokens that all threads asked for.
    pub fn offered(&self) -> u64 {
        self.laps.iter().map(|lap| lap.offered).sum()
    }

    /// Tokens that all threads were admitted.
    pub fn admitted(&self) -> u64 {
        self.laps.iter().map(|lap| lap.admitted).sum()
    }
}

impl Team {
    /// Starts so many threads.
    ///
    /// # Panics
    ///
    /// If the system gives no threads.
    pub fn new(threads: usize) -> Self {
        let mut started = Vec::with_capacity(threads);
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .spawn_handler(|thread| {
                started.push(start_pinned(thread)?);
                Ok(())
            })
            .build()
            .expect("threads for the team");
        Self { pool: Some(pool), threads: started }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Runs `work` on every thread at once; it gets the thread's number and times itself by the lap it returns.
    pub fn window(&self, work: impl Fn(usize) -> Lap + Sync) -> Window {
        let gate = Gate::new(self.threads());
        let pool = self.pool.as_ref().expect("there until the team is dropped");
        let done = pool.broadcast(|context| {
            gate.pass();
            let start = Instant::now();
            let lap = work(context.index());
            Shift { start, end: Instant::now(), lap }
        });
        Window::of(&done)
    }

    /// The time a cache line takes from the first thread's core to the second's, if there are two on cores of their own.
    pub fn one_way_nanos(&self) -> Option<f64> {
        if self.threads() < 2 || cores() < 2 {
            return None;
        }
        let (balls, batches) = ([const { AtomicU64::new(0) }; 5], Mutex::new(Vec::new()));
        self.window(|index| {
            for ball in balls.iter().filter(|_| index < 2) {
                let lap = Lap::of(TURNS, || volley(ball, index as u64, TURNS));
                batches.lock().unwrap_or_else(PoisonError::into_inner).push(lap.nanos as f64);
            }
            Lap::default()
        });
        let batches = batches.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some(median(&batches) / (2 * TURNS) as f64)
    }

    /// The distance of the first two cores.
    pub fn placement(&self) -> Option<Placement> {
        self.one_way_nanos().map(Placement::of)
    }
}

/// Waits for each number of one's own parity and answers with the next.
fn volley(ball: &AtomicU64, parity: u64, turns: u64) -> u64 {
    let mut patience = Patience::default();
    for turn in 0..turns {
        let mine = 2 * turn + parity;
        while opaque(ball).load(Ordering::Acquire) != mine {
            patience.spin();
        }
        ball.store(mine + 1, Ordering::Release);
    }
    turns
}

impl Drop for Team {
    fn drop(&mut self) {
        self.pool = None;
        for thread in self.threads.drain(..) {
            // A panic was handed on to whoever waited for the window.
            let _ = thread.join();
        }
    }
}

fn start_pinned(thread: ThreadBuilder) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("team".into()).spawn(move || {
        pin_to(thread.index());
        thread.run();
    })
}

/// Lets all threads go at the same moment.
struct Gate {
    missing: AtomicUsize,
}

impl Gate {
    fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads) }
    }

    fn pass(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut patience = Patience::default();
        while self.missing.load(Ordering::Acquire) != 0 {
            patience.spin();
        }
    }
}

/// Spins, and yields the core now and then: where threads outnumber cores, the awaited one may have none.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    fn spin(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(4096) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// How much more two threads decide in the same time than one: the median over `rounds` pairs of windows in which nobody
/// was preempted. `work` makes one window's calls. Nothing if such windows are not to be had within ten seconds.
pub fn scaling(pair: &Team, rounds: usize, work: impl Fn() -> Lap + Sync) -> Option<f64> {
    let mut ratios = Vec::with_capacity(rounds);
    let start = Instant::now();
    while ratios.len() < rounds && start.elapsed().as_secs() < 10 {
        let alone = pair.window(|index| if index == 0 { work() } else { Lap::default() });
        let both = pair.window(|_| work());
        if !alone.preempted && !both.preempted {
            ratios.push(2.0 * alone.nanos as f64 / both.nanos as f64);
        }
    }
    (ratios.len() == rounds).then(|| median(&ratios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_works_once_and_the_slowest_counts() {
        let window = Team::new(3).window(|index| {
            std::thread::sleep(std::time::Duration::from_millis(10 * index as u64));
            Lap { offered: 2, admitted: 1, ..Lap::default() }
        });
        assert_eq!((window.offered(), window.admitted()), (6, 3));
        assert!(window.nanos >= 20_000_000, "{}", window.nanos);
    }

    #[test]
    fn the_distance_of_two_cores_is_more_than_nothing() {
        assert!(Team::new(1).one_way_nanos().is_none());
        if cores() > 1 {
            assert!(Team::new(2).one_way_nanos().unwrap() > 1.0);
        }
    }
}
