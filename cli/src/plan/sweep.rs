//! Alternatives to what is recommended: a grid of rates and capacities, each tried on the whole load.
//!
//! The trials share nothing but the load and run on as many threads as there are; each writes its own cell, so the
//! results do not depend on how many.

use rayon::prelude::*;
use tollgate::Quota;

use super::load::Load;
use super::rate::Rate;
use super::trial::{self, Outcome};

/// Parts of the recommended rate and capacity that are tried, as numerator and denominator; 1 is among them.
const RATES: [(u64, u64); 5] = [(1, 2), (3, 4), (1, 1), (4, 3), (2, 1)];
const CAPACITIES: [(u64, u64); 7] = [(1, 4), (1, 2), (3, 4), (1, 1), (4, 3), (2, 1), (4, 1)];

/// All cells, by rate and then by capacity.
pub(super) struct Sweep {
    pub(super) rates: Vec<Rate>,
    pub(super) capacities: Vec<u64>,
    pub(super) cells: Vec<Cell>,
}

/// One limit and what became of the load under it.
pub(super) struct Cell {
    pub(super) rate: Rate,
    pub(super) quota: Quota,
    pub(super) outcome: Outcome,
    /// Of the most that the limit could have admitted in that time, `B + r * T`, the part that it did.
    pub(super) utilisation: f64,
}

/// Tries the grid around a rate and a capacity.
pub(super) fn around(load: &Load, rate: Rate, capacity: u64) -> Sweep {
    let rates = parts(rate.tokens, &RATES, |tokens| rate.with(tokens).quota(1).is_ok());
    let rates: Vec<Rate> = rates.into_iter().map(|tokens| rate.with(tokens)).collect();
    let capacities = parts(capacity, &CAPACITIES, |capacity| rate.quota(capacity).is_ok());
    let pairs: Vec<(Rate, Quota)> = rates
        .iter()
        .flat_map(|rate| capacities.iter().map(|capacity| (*rate, rate.quota(*capacity))))
        .filter_map(|(rate, quota)| Some((rate, quota.ok()?)))
        .collect();
    let cells = pairs.par_iter().map(|&(rate, quota)| Cell::tried(load, rate, quota)).collect();
    Sweep { rates, capacities, cells }
}

impl Sweep {
    pub(super) fn cell(&self, rate: usize, capacity: usize) -> Option<&Cell> {
        self.cells.get(rate * self.capacities.len() + capacity)
    }
}

impl Cell {
    fn tried(load: &Load, rate: Rate, quota: Quota) -> Self {
        let outcome = trial::outcome(load, quota);
        let most = rate.issued_in(load.span).saturating_add(quota.capacity().into());
        Self { rate, quota, outcome, utilisation: outcome.admitted_cost as f64 / most as f64 }
    }
}

/// Those parts of `whole`, rounded up, that are allowed.
fn parts(whole: u64, parts: &[(u64, u64)], allowed: impl Fn(u64) -> bool) -> Vec<u64> {
    let part = |&(num, den): &(u64, u64)| (u128::from(whole) * u128::from(num)).div_ceil(den.into());
    let mut found: Vec<u64> = parts
        .iter()
        .filter_map(|share| u64::try_from(part(share)).ok())
        .filter(|part| allowed(*part))
        .collect();
    found.dedup();
    found
}
