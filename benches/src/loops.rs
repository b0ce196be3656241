//! One loop for each way of calling. Every loop makes the limiter opaque on every turn and forces the decision into a
//! register, and each returns how many calls were admitted, so that no benchmark can pass without having decided.

use crate::cpu::{lfence, opaque, pin};
use crate::decide::{Decide, Waits};
use std::hint::black_box;
use std::time::Duration;

/// A fixed table of costs from 1 to 16, mean 8.5: enough disorder that no predictor learns the cost from the loop.
pub const COSTS: [u32; 16] = [7, 1, 12, 16, 3, 9, 5, 14, 2, 10, 8, 15, 4, 11, 6, 13];

/// Calls back to back: the processor may overlap them.
#[inline(never)]
pub fn back_to_back<D: Decide>(limiter: &D, calls: u64) -> u64 {
    repeat(limiter, calls, |limiter, _| pin(limiter.decide()))
}

/// Each call followed by a fence: what a call adds to a path that depends on it, plus the fence.
#[inline(never)]
pub fn fenced<D: Decide>(limiter: &D, calls: u64) -> u64 {
    repeat(limiter, calls, |limiter, _| {
        let admitted = pin(limiter.decide());
        lfence();
        admitted
    })
}

/// Calls back to back with the costs of [`COSTS`].
#[inline(never)]
pub fn weighted<D: Decide>(limiter: &D, calls: u64) -> u64 {
    repeat(limiter, calls, |limiter, turn| pin(limiter.decide_n(COSTS[turn as usize % COSTS.len()])))
}

/// The cost that [`weighted`] asks for in so many calls.
pub fn weighted_cost(calls: u64) -> u64 {
    let table: u64 = COSTS.iter().map(|&cost| u64::from(cost)).sum();
    let rest = &COSTS[..(calls % COSTS.len() as u64) as usize];
    calls / COSTS.len() as u64 * table + rest.iter().map(|&cost| u64::from(cost)).sum::<u64>()
}

/// Calls back to back; a refusal also computes its wait, which is forced into memory.
#[inline(never)]
pub fn waiting<D: Waits>(limiter: &D, calls: u64) -> u64 {
    repeat(limiter, calls, |limiter, _| match limiter.decide_or_wait() {
        Ok(()) => pin(true),
        Err(wait) => {
            black_box::<Duration>(wait);
            0
        }
    })
}

#[inline(always)]
fn repeat<D>(limiter: &D, calls: u64, call: impl Fn(&D, u64) -> u64) -> u64 {
    let mut admitted = 0;
    for turn in 0..calls {
        admitted += call(opaque(limiter), turn);
    }
    admitted
}
