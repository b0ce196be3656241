//! Each call timed by itself, for the tail that a mean does not show.
//!
//! The counter is read once between two calls, after a fence that lets the call before it finish. So a time includes the
//! fence and one reading, which [`floor`] tells, and nothing that happens goes unseen. It is as coarse as the counter's
//! steps: 10 ns on some machines.

use crate::cpu::{lfence, opaque, pin, tsc};
use crate::decide::Decide;
use crate::floors::Nothing;
use crate::loops::COSTS;
use crate::stats::median;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Calls of one token; each one's ticks are written to its place. Returns how many were admitted.
#[inline(never)]
pub fn timed<D: Decide>(limiter: &D, ticks: &mut [u64]) -> u64 {
    time_each(limiter, ticks, |limiter, _| pin(limiter.decide()))
}

/// As [`timed`], with the costs of [`COSTS`].
#[inline(never)]
pub fn timed_weighted<D: Decide>(limiter: &D, ticks: &mut [u64]) -> u64 {
    time_each(limiter, ticks, |limiter, turn| pin(limiter.decide_n(COSTS[turn % COSTS.len()])))
}

#[inline(always)]
fn time_each<D>(limiter: &D, ticks: &mut [u64], call: impl Fn(&D, usize) -> u64) -> u64 {
    let mut admitted = 0;
    lfence();
    let mut start = tsc();
    for (turn, place) in ticks.iter_mut().enumerate() {
        admitted += call(opaque(limiter), turn);
        lfence();
        let end = tsc();
        *place = end.wrapping_sub(start);
        start = end;
    }
    admitted
}

/// Nanoseconds that are measured when nothing is called.
pub fn floor() -> f64 {
    let mut ticks = vec![0; 100_000];
    timed(&Nothing, &mut ticks);
    let nanos: Vec<f64> = ticks.iter().map(|&ticks| ticks as f64 * nanos_a_tick()).collect();
    median(&nanos)
}

/// Nanoseconds that pass while [`tsc`] advances by one. Measured once, in 20 ms.
pub fn nanos_a_tick() -> f64 {
    static NANOS: OnceLock<f64> = OnceLock::new();
    *NANOS.get_or_init(|| {
        let (ticks, start) = (tsc(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let (ticks, nanos) = (tsc().wrapping_sub(ticks), start.elapsed().as_nanos());
        nanos as f64 / ticks.max(1) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Naps;

    impl Decide for Naps {
        fn decide(&self) -> bool {
            std::thread::sleep(Duration::from_millis(2));
            true
        }

        fn decide_n(&self, cost: u32) -> bool {
            cost > 8
        }
    }

    #[test]
    fn a_call_takes_as_long_as_it_takes() {
        let mut ticks = [0; 3];
        assert_eq!(timed(&Naps, &mut ticks), 3);
        for ticks in ticks {
            let nanos = ticks as f64 * nanos_a_tick();
            assert!((1.9e6..1e9).contains(&nanos), "{nanos}");
        }
        assert!(floor() < 1e6);
    }

    #[test]
    fn costs_come_from_the_table() {
        let above_8 = COSTS.iter().filter(|&&cost| cost > 8).count() as u64;
        assert_eq!(timed_weighted(&Naps, &mut [0; COSTS.len()]), above_8);
    }
}
