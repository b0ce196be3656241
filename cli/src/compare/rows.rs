//! What is told of each cell: one row for each distance of the cores that was seen often enough.

use tollgate_bench::Scenario;
use tollgate_bench::team::Placement;

use super::cell::{Cell, Latencies};
use super::field::{ADMISSION_FLOOR, REFERENCE};
use super::judge::Tally;
use super::samples::{Tag, calmest, ratio, told};

/// One limiter, one scenario, so many threads, one distance of the cores.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) placement: Option<Placement>,
    pub(crate) nanos: f64,
    pub(crate) ratio_to_floor: Option<f64>,
    pub(crate) ratio_to_governor: Option<f64>,
    pub(crate) latencies: Option<&'a Latencies>,
    /// Windows that the figure of speed rests on.
    pub(crate) windows: usize,
    /// Whether they were taken although the machine disturbed them, for want of others.
    pub(crate) disturbed: bool,
}

/// The rows of the listed cells, in their order.
pub(crate) fn rows(cells: &[Cell]) -> Vec<Row<'_>> {
    cells.iter().filter(|cell| cell.listed).flat_map(|cell| rows_of(cell, cells)).collect()
}

fn rows_of<'a>(cell: &'a Cell, cells: &'a [Cell]) -> Vec<Row<'a>> {
    let beside = |name: &str| {
        let same = |other: &&Cell| other.scenario == cell.scenario && other.threads == cell.threads;
        cells.iter().filter(same).find(|other| other.entry.name == name)
    };
    let (floor, governor) = (beside(ADMISSION_FLOOR.name), beside(REFERENCE));
    told(&cell.samples)
        .into_iter()
        .map(|(tag, samples)| Row {
            cell,
            placement: tag.placement,
            nanos: calmest(&samples),
            ratio_to_floor: floor.and_then(|floor| ratio(&samples, &floor.samples)),
            ratio_to_governor: governor.and_then(|governor| ratio(&samples, &governor.samples)),
            latencies: latencies(cell, tag),
            windows: samples.len(),
            disturbed: !tag.clean,
        })
        .collect()
}

impl Row<'_> {
    /// Decisions of all threads in a microsecond.
    pub(crate) fn mops(&self) -> f64 {
        1e3 / self.nanos
    }

    /// What was admitted against the bound; near and far share it.
    pub(crate) fn tally(&self) -> &Tally {
        self.cell.tally()
    }

    pub(crate) fn limiter(&self) -> &'static str {
        self.cell.entry.name
    }

    pub(crate) fn scenario(&self) -> Scenario {
        self.cell.scenario
    }

    pub(crate) fn threads(&self) -> usize {
        self.cell.threads
    }

    /// The latency that so many of a million calls stay within.
    pub(crate) fn latency(&self, of_a_million: u32) -> u64 {
        self.latencies.map_or(0, |latencies| latencies.value_at_quantile(f64::from(of_a_million) / 1e6))
    }

    /// The longest latency seen.
    pub(crate) fn longest(&self) -> u64 {
        self.latencies.map_or(0, Latencies::max)
    }
}

/// The latencies of the same kind of window, or of the other kind if it has none.
fn latencies(cell: &Cell, tag: Tag) -> Option<&Latencies> {
    let other = Tag { clean: !tag.clean, ..tag };
    cell.latencies.get(&tag).or_else(|| cell.latencies.get(&other))
}

#[cfg(test)]
mod tests {
    use super::super::field::FIELD;
    use super::super::samples::Sample;
    use super::*;

    fn sample(placement: Option<Placement>, clean: bool, pass: u32, round: u32, nanos: f64) -> Sample {
        Sample { tag: Tag { placement, clean }, pass, round, nanos }
    }

    fn cell(name: &str, samples: Vec<Sample>) -> Cell {
        let entry = FIELD.iter().chain([&ADMISSION_FLOOR]).find(|entry| entry.name == name).unwrap();
        let mut cell = Cell::new(entry, Scenario::Admit, 2, name != ADMISSION_FLOOR.name);
        cell.samples = samples;
        cell
    }

    #[test]
    fn clean_windows_count_if_there_are_any() {
        let near = Some(Placement::Near);
        let noisy = (0..3).map(|round| sample(near, false, 0, round, 90.0));
        let calm = (3..6).map(|round| sample(near, true, 0, round, 9.0));
        let told = |samples| {
            let cells = [cell("governor", samples)];
            let rows = rows(&cells);
            (rows.len(), rows[0].nanos, rows[0].windows, rows[0].disturbed)
        };
        assert_eq!(told(noisy.clone().chain(calm).collect()), (1, 9.0, 3, false));
        assert_eq!(told(noisy.collect()), (1, 90.0, 3, true));
    }

    #[test]
    fn near_and_far_are_told_apart() {
        let near = (0..4).map(|round| sample(Some(Placement::Near), true, 0, round, 20.0));
        let far = (4..9).map(|round| sample(Some(Placement::Far), true, 0, round, 10.0));
        let cells = [cell("spin", near.clone().chain(far).collect())];
        let told: Vec<_> = rows(&cells).iter().map(|row| (row.placement, row.nanos)).collect();
        assert_eq!(told, [(Some(Placement::Near), 20.0), (Some(Placement::Far), 10.0)]);
        let lone = sample(Some(Placement::Far), true, 0, 9, 1.0);
        let cells = [cell("spin", near.chain([lone]).collect())];
        assert_eq!(rows(&cells).len(), 1, "one window is not told");
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let rounds = |nanos: [f64; 3]| {
            nanos.into_iter().zip(0..).map(|(nanos, round)| sample(None, true, 0, round, nanos)).collect()
        };
        let cells = [
            cell("floor", rounds([10.0, 20.0, 40.0])),
            cell("governor", rounds([20.0, 20.0, 20.0])),
            cell("spin", rounds([20.0, 40.0, 80.0])),
        ];
        let spin = rows(&cells).pop().unwrap();
        assert_eq!((spin.ratio_to_floor, spin.ratio_to_governor), (Some(2.0), Some(2.0)));
        let apart: Vec<_> = (5..8).map(|round| sample(None, true, 1, round, 60.0)).collect();
        let cells = [cell("floor", rounds([10.0, 20.0, 40.0])), cell("spin", apart)];
        let spin = rows(&cells).pop().unwrap();
        assert_eq!((spin.ratio_to_floor, spin.ratio_to_governor), (Some(3.0), None), "of the figures");
    }
}
