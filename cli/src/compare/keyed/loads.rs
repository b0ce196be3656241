//! Streams of known keys, every call admitted: the course of a scenario, and what it gives.
//!
//! As in the comparison without keys, everything within a scenario is interleaved: passes over the numbers of threads, in
//! each of them rounds, in each round every limiter once. A pass has limiters of its own, for where their parts lie in
//! memory can double a figure.

use std::time::{Duration, Instant};

use tollgate::Quota;
use tollgate_bench::keyed::Keyed;
use tollgate_bench::keyed::keys::{Pattern, Stream};
use tollgate_bench::rounds::Lap;
use tollgate_bench::team::{Placement, Team};
use tollgate_bench::thread::cores;

use super::super::budget::Budget;
use super::super::course::{PASSES, units as units_of};
use super::super::pace::{LONG_NANOS, SHORT_NANOS};
use super::super::progress::Progress;
use super::super::samples::{Sample, Tag, calmest, is_undisturbed, ratio, told};
use super::field::{Entry, FLOOR, REFERENCE};
use super::{Plan, Scenario};
use crate::text;

/// Room for keys: five words for each that comes, so that no set of a table is full. Ten would take more of the caches than
/// they have, and cost half as much again.
const ROOM: usize = 1 << 19;

/// No limiter is asked more often before it is built anew: it has more tokens than that for any key.
const MOST_CALLS: u64 = 2_000_000_000;

/// One limiter under one stream of keys from so many threads, and everything measured of it.
pub(super) struct Cell {
    pub(super) entry: &'static Entry,
    pub(super) pattern: Pattern,
    pub(super) threads: usize,
    /// Whether its figures are wanted, or only the ratios of others to them.
    pub(super) listed: bool,
    samples: Vec<Sample>,
    pub(super) offered: u64,
    pub(super) admitted: u64,
}

/// What is told of a cell at one distance of the cores.
pub(super) struct Row<'a> {
    pub(super) cell: &'a Cell,
    pub(super) placement: Option<Placement>,
    pub(super) nanos: f64,
    pub(super) ratio_to_floor: Option<f64>,
    pub(super) ratio_to_governor: Option<f64>,
    /// Windows that the figures rest on.
    pub(super) windows: usize,
    /// Whether they were taken although the machine disturbed them, for want of others.
    pub(super) disturbed: bool,
}

/// A limiter as it stands in one pass.
struct Running<'a> {
    cell: &'a mut Cell,
    limiter: Box<dyn Keyed<u64>>,
    /// Calls of each thread in a window.
    calls: u64,
}

/// Shares of the time for all loads of a plan.
pub(super) fn units(plan: &Plan) -> u32 {
    let of_a_pass: u32 = plan.threads.iter().map(|&threads| units_of(threads)).sum();
    plan.patterns.len() as u32 * PASSES * of_a_pass
}

/// Measures all limiters of the plan under one stream.
pub(super) fn measure(plan: &Plan, pattern: Pattern, budget: &mut Budget, progress: &Progress) -> Vec<Cell> {
    let stream = pattern.stream();
    let cells = |threads| {
        let entries = [(&FLOOR, false)].into_iter().chain(plan.entries());
        entries.map(|(entry, listed)| Cell::new(entry, pattern, threads, listed)).collect()
    };
    let mut blocks: Vec<Vec<Cell>> = plan.threads.iter().map(|&threads| cells(threads)).collect();
    for pass in 0..PASSES {
        for (cells, &threads) in blocks.iter_mut().zip(&plan.threads) {
            progress.show(|| format!("{}, {}", Scenario::Load(pattern).name(), text::threads(threads)));
            measure_block(cells, &stream, pass, budget.take(units_of(threads)), progress);
        }
    }
    blocks.into_iter().flatten().collect()
}

/// Rounds until the time is over, at least one. Each begins one limiter further, so that none always follows the same.
fn measure_block(cells: &mut [Cell], stream: &Stream<u64>, pass: u32, time: Duration, progress: &Progress) {
    let (end, count) = (Instant::now() + time, cells.len());
    let team = Team::new(cells.first().map_or(1, |cell| cell.threads));
    let mut running: Vec<_> = cells.iter_mut().map(|cell| Running::start(cell, &team, stream)).collect();
    let mut placement = team.placement();
    for round in 0.. {
        for step in 0..count {
            let running = &mut running[(round as usize + step) % count];
            placement = running.turn(&team, stream, (pass, round), placement);
            progress.step();
        }
        let calls = running.iter().map(|running| running.calls).max().unwrap_or(0) * team.threads() as u64;
        if Instant::now() >= end || u64::from(round) * calls > MOST_CALLS {
            break;
        }
    }
}

impl<'a> Running<'a> {
    /// Calls with every key once, and finds out how many calls make a window.
    fn start(cell: &'a mut Cell, team: &Team, stream: &Stream<u64>) -> Self {
        let limiter = (cell.entry.build)(quota(cell.pattern), ROOM);
        let window_nanos = if cell.threads > cores() { LONG_NANOS } else { SHORT_NANOS };
        let mut running = Self { cell, limiter, calls: 1_000 };
        running.warm(team, stream);
        let trial = (0..3).map(|_| team.window(|_| stream.lap(running.calls, &*running.limiter)).nanos).min();
        running.calls = (running.calls * window_nanos / trial.unwrap_or(1).max(1)).clamp(1_000, 1_000_000);
        running
    }

    /// Brings back to the caches what the others have pushed out.
    fn warm(&self, team: &Team, stream: &Stream<u64>) {
        team.window(|index| {
            if index < cores() {
                stream.warm(&*self.limiter);
            }
            Lap::default()
        });
    }

    /// One window. `before` is where the cores were, and it is told where they are now.
    fn turn(
        &mut self,
        team: &Team,
        stream: &Stream<u64>,
        (pass, round): (u32, u32),
        before: Option<Placement>,
    ) -> Option<Placement> {
        self.warm(team, stream);
        let window = team.window(|_| stream.lap(self.calls, &*self.limiter));
        let after = team.placement();
        let (offered, admitted) = (window.offered(), window.admitted());
        let clean = is_undisturbed(self.cell.threads, &window) && before == after && offered == admitted;
        let nanos = window.nanos as f64 / offered as f64;
        self.cell.samples.push(Sample { tag: Tag { placement: before, clean }, pass, round, nanos });
        self.cell.offered += offered;
        self.cell.admitted += admitted;
        after
    }
}

impl Cell {
    fn new(entry: &'static Entry, pattern: Pattern, threads: usize, listed: bool) -> Self {
        Self { entry, pattern, threads, listed, samples: Vec::new(), offered: 0, admitted: 0 }
    }
}

/// Every call leaves a debt behind that lasts until the key comes again, so no bucket is full; and none becomes empty
/// before [`MOST_CALLS`].
fn quota(pattern: Pattern) -> Quota {
    let (tokens, burst) = match pattern {
        Pattern::Hot => (1_000_000, 4_000_000_000),
        Pattern::Uniform | Pattern::Zipf => (10, 1_000_000_000),
    };
    Quota::with_burst(tokens, Duration::from_secs(1), burst).expect("a rate and a capacity")
}

/// The rows of the listed cells, in their order.
pub(super) fn rows(cells: &[Cell]) -> Vec<Row<'_>> {
    cells.iter().filter(|cell| cell.listed).flat_map(|cell| rows_of(cell, cells)).collect()
}

fn rows_of<'a>(cell: &'a Cell, cells: &'a [Cell]) -> Vec<Row<'a>> {
    let beside = |name: &str| {
        let same = |other: &&Cell| other.pattern == cell.pattern && other.threads == cell.threads;
        cells.iter().filter(same).find(|other| other.entry.name == name)
    };
    let (floor, governor) = (beside(FLOOR.name), beside(REFERENCE));
    let row = |(tag, samples): (Tag, Vec<Sample>)| Row {
        cell,
        placement: tag.placement,
        nanos: calmest(&samples),
        ratio_to_floor: floor.and_then(|floor| ratio(&samples, &floor.samples)),
        ratio_to_governor: governor.and_then(|governor| ratio(&samples, &governor.samples)),
        windows: samples.len(),
        disturbed: !tag.clean,
    };
    told(&cell.samples).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::field::FIELD;
    use super::*;

    #[test]
    fn every_limiter_admits_every_call_of_every_stream() {
        for pattern in Pattern::ALL {
            let stream = pattern.stream();
            for entry in FIELD.iter().chain([&FLOOR]) {
                let limiter = (entry.build)(quota(pattern), ROOM);
                stream.warm(&*limiter);
                let lap = stream.lap(5_000, &*limiter);
                assert_eq!((lap.offered, lap.admitted), (5_000, 5_000), "{}: {pattern:?}", entry.name);
            }
        }
    }

    #[test]
    fn a_round_gives_each_limiter_a_window_and_ratios() {
        let mut cells: Vec<_> = FIELD[..3]
            .iter()
            .chain([&FLOOR])
            .map(|entry| Cell::new(entry, Pattern::Hot, 1, entry.name != FLOOR.name))
            .collect();
        let stream = Pattern::Hot.stream();
        measure_block(&mut cells, &stream, 0, Duration::ZERO, &Progress::new(Duration::ZERO));
        let rows = rows(&cells);
        assert_eq!(
            rows.iter().map(|row| row.cell.entry.name).collect::<Vec<_>>(),
            [FIELD[0].name, FIELD[1].name, REFERENCE]
        );
        for row in rows {
            assert!(row.windows == 1 && row.nanos > 0.0 && row.ratio_to_floor > Some(0.0));
            assert_eq!(row.cell.admitted, row.cell.offered);
        }
    }
}
