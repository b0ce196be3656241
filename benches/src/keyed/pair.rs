//! Rows on two threads, interleaved in rounds like those on one; see [`crate::team`] for why the distance of the cores
//! stands beside every figure.

use super::Entrant;
use super::keys::Stream;
use crate::stats::median;
use crate::team::{Placement, Team, Window};
use std::time::{Duration, Instant};

/// Calls of each thread in a window.
const CALLS: u64 = 20_000;

/// What two threads did in one window: million calls a second, at this distance.
#[derive(Clone, Copy)]
struct Take {
    mops: f64,
    placement: Option<Placement>,
}

/// The windows of all rows, by row and round.
#[derive(Default)]
pub struct Pairs(Vec<Vec<Take>>);

impl Pairs {
    /// Runs every row once a round until `rounds` are complete or the time is over. Every call must be
    /// answered with `yes`.
    ///
    /// # Panics
    ///
    /// If one was answered otherwise.
    pub fn taken<K: Sync>(
        team: &Team,
        rows: &[Entrant<K>],
        stream: &Stream<K>,
        yes: bool,
        rounds: usize,
        time: Duration,
    ) -> Self {
        let (start, mut takes) = (Instant::now(), vec![Vec::new(); rows.len()]);
        for _ in 0..rounds {
            let take = |row| undisturbed(team, row, stream, yes, start + time);
            let Some(round) = rows.iter().map(take).collect::<Option<Vec<_>>>() else { break };
            takes.iter_mut().zip(round).for_each(|(takes, take)| takes.push(take));
        }
        Self(takes)
    }

    /// Adds the windows of the same rows over limiters built anew: where two of them lie in memory can double a figure.
    pub fn join(&mut self, other: Self) {
        self.0.resize(other.0.len().max(self.0.len()), Vec::new());
        self.0.iter_mut().zip(other.0).for_each(|(row, other)| row.extend(other));
    }

    /// Million calls a second of both threads together: the median over the windows at this distance, and their number.
    pub fn mops(&self, row: usize, placement: Placement) -> (f64, usize) {
        let at = |take: &&Take| take.placement == Some(placement);
        let mops: Vec<f64> = self.0[row].iter().filter(at).map(|take| take.mops).collect();
        (median(&mops), mops.len())
    }

    /// The median over rounds of one row's calls a second to another's, where both were at this distance.
    pub fn ratio(&self, row: usize, to: usize, placement: Placement) -> f64 {
        let ratios = self.0[row].iter().zip(&self.0[to]);
        let ratios = ratios.filter(|(row, to)| row.placement == to.placement);
        let ratios = ratios.filter(|(row, _)| row.placement == Some(placement));
        median(&ratios.map(|(row, to)| row.mops / to.mops).collect::<Vec<_>>())
    }
}

fn undisturbed<K: Sync>(
    team: &Team,
    row: &Entrant<K>,
    stream: &Stream<K>,
    yes: bool,
    until: Instant,
) -> Option<Take> {
    while Instant::now() < until {
        stream.warm(&*row.call);
        let before = team.placement();
        let window = team.window(|_| stream.lap(CALLS, &*row.call));
        audit(row.name, &window, yes);
        if !window.preempted && team.placement() == before {
            let mops = window.offered() as f64 * 1e3 / window.nanos as f64;
            return Some(Take { mops, placement: before });
        }
    }
    None
}

fn audit(name: &str, window: &Window, yes: bool) {
    let expected = if yes { window.offered() } else { 0 };
    assert_eq!(window.admitted(), expected, "{name}: every call is answered alike");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::keys::Pattern;
    use crate::thread::cores;

    fn taken(yes: bool) -> Pairs {
        let rows = [Entrant::new("row", |_: &u64| true), Entrant::new("same", |_: &u64| true)];
        Pairs::taken(&Team::new(2), &rows, &Pattern::Hot.stream(), yes, 2, Duration::from_secs(20))
    }

    #[test]
    fn rounds_are_complete_and_join() {
        let mut pairs = taken(true);
        pairs.join(taken(true));
        assert_eq!((pairs.0.len(), pairs.0[0].len()), (2, pairs.0[1].len()));
        let windows = [Placement::Near, Placement::Far].map(|placement| pairs.mops(0, placement).1);
        assert!(cores() == 1 || windows.iter().sum::<usize>() > 0, "no undisturbed window in forty seconds");
    }

    #[test]
    #[should_panic(expected = "every call is answered alike")]
    fn a_wrong_answer_ends_the_run() {
        taken(false);
    }
}
