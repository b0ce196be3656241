//! Windows of calls back to back: which of them count, and what figures they give.

use std::collections::BTreeMap;

use tollgate_bench::stats::median;
use tollgate_bench::team::{Placement, Window};
use tollgate_bench::thread::cores;

/// Under which circumstances a window was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    /// How far apart the first two cores were; nothing for one thread.
    pub(crate) placement: Option<Placement>,
    /// No thread was preempted, the cores stayed where they were, and the limiter was loaded as it should.
    pub(crate) clean: bool,
}

/// One window of calls back to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) tag: Tag,
    pub(crate) pass: u32,
    pub(crate) round: u32,
    /// Wall time over the decisions of all threads.
    pub(crate) nanos: f64,
}

/// Whether all threads of a window ran together and none was preempted. Where they outnumber the cores they must take
/// turns.
pub(super) fn is_undisturbed(threads: usize, window: &Window) -> bool {
    threads > cores() || (!window.preempted && window.skew_nanos < window.nanos / 20)
}

/// Fewer clean windows than this are not told.
const LEAST_WINDOWS: usize = 3;

/// The clean samples by the distance of the cores; if there are too few of either, all of the more frequent one.
pub(super) fn told(samples: &[Sample]) -> Vec<(Tag, Vec<Sample>)> {
    let mut by_placement: BTreeMap<Option<Placement>, Vec<Sample>> = BTreeMap::new();
    for &sample in samples {
        by_placement.entry(sample.tag.placement).or_default().push(sample);
    }
    let all = by_placement.iter().max_by_key(|(_, samples)| samples.len());
    let all = all.map(|(&placement, samples)| (Tag { placement, clean: false }, samples.clone()));
    let least = LEAST_WINDOWS.min(samples.len());
    let enough_clean = |(placement, mut samples): (Option<Placement>, Vec<Sample>)| {
        samples.retain(|sample| sample.tag.clean);
        (samples.len() >= least).then_some((Tag { placement, clean: true }, samples))
    };
    let clean: Vec<_> = by_placement.into_iter().filter_map(enough_clean).collect();
    if clean.is_empty() { all.into_iter().collect() } else { clean }
}

/// Samples of one pass from which on their median can be trusted.
const BLOCK: usize = 5;

/// The least of the medians of the passes: what the machine does when it is calm.
pub(super) fn calmest(samples: &[Sample]) -> f64 {
    let passes: Vec<Vec<f64>> = samples
        .chunk_by(|one, next| one.pass == next.pass)
        .map(|pass| pass.iter().map(|sample| sample.nanos).collect())
        .collect();
    let trusted = passes.iter().filter(|pass| pass.len() >= BLOCK);
    let least = trusted.map(|pass| median(pass)).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { median(&passes.concat()) }
}

/// The median over rounds of these to those in the same round, under the same circumstances; where too few rounds have
/// both, of the figures.
pub(super) fn ratio(samples: &[Sample], others: &[Sample]) -> Option<f64> {
    let of_round = |sample: &Sample| {
        let same =
            |other: &&Sample| (other.pass, other.round, other.tag) == (sample.pass, sample.round, sample.tag);
        others.iter().find(same).map(|other| sample.nanos / other.nanos)
    };
    let ratios: Vec<f64> = samples.iter().filter_map(of_round).collect();
    if ratios.len() >= LEAST_WINDOWS.min(samples.len()) {
        return Some(median(&ratios));
    }
    Some(calmest(samples) / calmest(&most_alike(samples.first()?.tag, others)))
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
    use super::*;

    fn sample(placement: Option<Placement>, clean: bool, pass: u32, round: u32, nanos: f64) -> Sample {
        Sample { tag: Tag { placement, clean }, pass, round, nanos }
    }

    #[test]
    fn the_calmest_pass_is_told() {
        let pass = |pass, nanos| (0..5).map(move |round| sample(None, true, pass, round, nanos));
        let few = sample(None, true, 2, 0, 1.0);
        assert_eq!(calmest(&pass(0, 12.0).chain(pass(1, 11.0)).chain([few]).collect::<Vec<_>>()), 11.0);
        assert_eq!(calmest(&[few]), 1.0);
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
