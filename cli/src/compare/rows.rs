//! What is told of each cell: one row for each distance of the cores that was seen often enough.

use std::collections::BTreeMap;

use tollgate_bench::Scenario;
use tollgate_bench::stats::median;
use tollgate_bench::team::Placement;

use super::cell::{Cell, Latencies, Sample, Tag};
use super::field::{ADMISSION_FLOOR, REFERENCE};
use super::judge::Tally;

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

/// Fewer clean windows than this are not told.
const LEAST_WINDOWS: usize = 3;

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
    told(cell)
        .into_iter()
        .map(|(tag, samples)| Row {
            cell,
            placement: tag.placement,
            nanos: calmest(&samples),
            ratio_to_floor: floor.and_then(|floor| ratio(&samples, floor)),
            ratio_to_governor: governor.and_then(|governor| ratio(&samples, governor)),
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

/// The clean samples by the distance of the cores; if there are too few of either, all of the more frequent one.
fn told(cell: &Cell) -> Vec<(Tag, Vec<Sample>)> {
    let mut by_placement: BTreeMap<Option<Placement>, Vec<Sample>> = BTreeMap::new();
    for &sample in &cell.samples {
        by_placement.entry(sample.tag.placement).or_default().push(sample);
    }
    let all = by_placement.iter().max_by_key(|(_, samples)| samples.len());
    let all = all.map(|(&placement, samples)| (Tag { placement, clean: false }, samples.clone()));
    let least = LEAST_WINDOWS.min(cell.samples.len());
    let enough_clean = |(placement, mut samples): (Option<Placement>, Vec<Sample>)| {
        samples.retain(|sample| sample.tag.clean);
        (samples.len() >= least).then_some((Tag { placement, clean: true }, samples))
    };
    let clean: Vec<_> = by_placement.into_iter().filter_map(enough_clean).collect();
    if clean.is_empty() { all.into_iter().collect() } else { clean }
}

/// The latencies of the same kind of window, or of the other kind if it has none.
fn latencies(cell: &Cell, tag: Tag) -> Option<&Latencies> {
    let other = Tag { clean: !tag.clean, ..tag };
    cell.latencies.get(&tag).or_else(|| cell.latencies.get(&other))
}

/// Samples of one pass from which on their median can be trusted.
const BLOCK: usize = 5;

/// The least of the medians of the passes: what the machine does when it is calm.
fn calmest(samples: &[Sample]) -> f64 {
    let passes: Vec<Vec<f64>> = samples
        .chunk_by(|one, next| one.pass == next.pass)
        .map(|pass| pass.iter().map(|sample| sample.nanos).collect())
        .collect();
    let trusted = passes.iter().filter(|pass| pass.len() >= BLOCK);
    let least = trusted.map(|pass| median(pass)).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { median(&passes.concat()) }
}

/// The median over rounds of these to that cell in the same round, under the same circumstances; where too few rounds have
/// both, of the figures.
fn ratio(samples: &[Sample], other: &Cell) -> Option<f64> {
    let of_round = |sample: &Sample| {
        let same =
            |other: &&Sample| (other.pass, other.round, other.tag) == (sample.pass, sample.round, sample.tag);
        other.samples.iter().find(same).map(|other| sample.nanos / other.nanos)
    };
    let ratios: Vec<f64> = samples.iter().filter_map(of_round).collect();
    if ratios.len() >= LEAST_WINDOWS.min(samples.len()) {
        return Some(median(&ratios));
    }
    Some(calmest(samples) / calmest(&most_alike(samples.first()?.tag, &other.samples)))
}

/// Samples taken under the same circumstances; if there are none, at the same distance of the cores; if there are none, all.
fn most_alike(tag: Tag, samples: &[Sample]) -> Vec<Sample> {
    let those = |like: &dyn Fn(Tag) -> bool| -> Vec<Sample> {
        samples.iter().copied().filter(|sample| like(sample.tag)).collect()
    };
    let choices = [those(&|other| other == tag), those(&|other| other.placement == tag.placement)];
    choices.into_iter().find(|choice| !choice.is_empty()).unwrap_or_else(|| samples.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::field::FIELD;
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
    fn the_calmest_pass_is_told() {
        let pass = |pass, nanos| (0..5).map(move |round| sample(None, true, pass, round, nanos));
        let few = sample(None, true, 2, 0, 1.0);
        assert_eq!(calmest(&pass(0, 12.0).chain(pass(1, 11.0)).chain([few]).collect::<Vec<_>>()), 11.0);
        assert_eq!(calmest(&[few]), 1.0);
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

    #[test]
    fn without_a_like_sample_the_next_best_serves() {
        let near = Tag { placement: Some(Placement::Near), clean: true };
        let far = sample(Some(Placement::Far), true, 0, 0, 1.0);
        let disturbed = sample(Some(Placement::Near), false, 0, 1, 2.0);
        let like = sample(Some(Placement::Near), true, 0, 2, 3.0);
        let chosen =
            |samples: &[Sample]| most_alike(near, samples).iter().map(|s| s.nanos).collect::<Vec<_>>();
        assert_eq!(chosen(&[far, disturbed, like]), [3.0]);
        assert_eq!(chosen(&[far, disturbed]), [2.0]);
        assert_eq!(chosen(&[far]), [1.0]);
    }
}
