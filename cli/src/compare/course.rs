//! The course of a comparison: which cells are measured, and in which order.
//!
//! Within a scenario everything is interleaved: passes over the numbers of threads, in each of them rounds, in each round
//! every limiter once. What the machine does to one limiter it then does to all, and to the floor.

use std::time::{Duration, Instant};

use tollgate_bench::Scenario;
use tollgate_bench::team::Team;
use tollgate_bench::thread::cores;

use super::accuracy::Accuracy;
use super::budget::Budget;
use super::cell::Cell;
use super::field::{ADMISSION_FLOOR, Entry, FIELD, REFERENCE, REFUSAL_FLOOR};
use super::pace::sheets;
use super::progress::Progress;
use crate::text;

/// What is to be compared.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) limiters: Vec<&'static Entry>,
    pub(crate) threads: Vec<usize>,
    /// For everything together.
    pub(crate) time: Duration,
}

/// Passes over the numbers of threads of one scenario.
pub(super) const PASSES: u32 = 3;

impl Plan {
    /// Measures everything, scenario by scenario.
    pub(crate) fn run(&self) -> Vec<Cell> {
        let progress = Progress::new(self.time);
        let mut budget =
            Budget::new(self.time, self.scenarios.iter().map(|&scenario| self.units(scenario)).sum());
        let mut cells = Vec::new();
        for &scenario in &self.scenarios {
            cells.extend(self.scenario(scenario, &mut budget, &progress));
        }
        cells
    }

    fn units(&self, scenario: Scenario) -> u32 {
        let of_a_pass: u32 = self.threads.iter().map(|&threads| units(threads)).sum();
        let accuracy =
            if scenario == Scenario::Boundary { self.threads.len() as u32 * ACCURACY_UNITS } else { 0 };
        PASSES * of_a_pass + accuracy
    }

    fn scenario(&self, scenario: Scenario, budget: &mut Budget, progress: &Progress) -> Vec<Cell> {
        let mut blocks: Vec<Vec<Cell>> =
            self.threads.iter().map(|&threads| self.cells(scenario, threads)).collect();
        for pass in 0..PASSES {
            for (cells, &threads) in blocks.iter_mut().zip(&self.threads) {
                progress.show(|| format!("{}, {}", scenario.name(), text::threads(threads)));
                measure_block(cells, threads, pass, budget.take(units(threads)), progress);
            }
        }
        if scenario == Scenario::Boundary {
            for (cells, &threads) in blocks.iter_mut().zip(&self.threads) {
                progress.show(|| format!("accuracy, {}", text::threads(threads)));
                measure_accuracy(cells, threads, budget.take(ACCURACY_UNITS), progress);
            }
        }
        blocks.into_iter().flatten().collect()
    }

    /// The limiters asked for, and before them what ratios are taken to.
    fn cells(&self, scenario: Scenario, threads: usize) -> Vec<Cell> {
        let floor = if scenario == Scenario::Deny { &REFUSAL_FLOOR } else { &ADMISSION_FLOOR };
        let mut cells = vec![Cell::new(floor, scenario, threads, false)];
        if self.limiters.iter().all(|entry| entry.name != REFERENCE) {
            let reference = FIELD.iter().filter(|entry| entry.name == REFERENCE);
            cells.extend(reference.map(|entry| Cell::new(entry, scenario, threads, false)));
        }
        cells.extend(self.limiters.iter().map(|entry| Cell::new(entry, scenario, threads, true)));
        cells
    }
}

/// Shares of the time in one pass: one thread is the least disturbed, and threads in turns need long windows.
pub(super) fn units(threads: usize) -> u32 {
    match threads {
        1 => 1,
        _ if threads <= cores() => 2,
        _ => 3,
    }
}

/// Shares for the long bouts of so many threads.
const ACCURACY_UNITS: u32 = 2 * PASSES;

/// Rounds until the time is over, at least one. Each begins one limiter further, so that none always follows the same.
fn measure_block(cells: &mut [Cell], threads: usize, pass: u32, time: Duration, progress: &Progress) {
    let (end, count) = (Instant::now() + time, cells.len());
    let (team, mut sheets) = (Team::new(threads), sheets(threads));
    cells.iter_mut().for_each(|cell| {
        cell.pace(&team);
    });
    let mut placement = team.placement();
    for round in 0.. {
        for step in 0..count {
            let cell = &mut cells[(round as usize + step) % count];
            placement = cell.turn(&team, &mut sheets, (pass, round), placement);
            progress.step();
        }
        if Instant::now() >= end {
            break;
        }
    }
}

/// One long bout of each listed limiter.
fn measure_accuracy(cells: &mut [Cell], threads: usize, time: Duration, progress: &Progress) {
    let team = Team::new(threads);
    let mut budget = Budget::new(time, cells.iter().filter(|cell| cell.listed).count() as u32);
    for cell in cells.iter_mut().filter(|cell| cell.listed) {
        let (entry, time) = (cell.entry, budget.take(1).max(LEAST_BOUT));
        cell.accuracy = Some(Accuracy::measure(entry, &team, cell.pace(&team), time));
        progress.step();
    }
}

/// Shorter than this a bout does not get beyond the stock that it begins with.
const LEAST_BOUT: Duration = Duration::from_millis(100);
