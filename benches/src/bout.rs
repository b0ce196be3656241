//! A bout: all threads of a team call one limiter for a while, and the limiter's own clock is read around it.

use crate::decide::{Contender, Decide};
use crate::loops::{back_to_back, weighted, weighted_cost};
use crate::rounds::Lap;
use crate::scenario::Account;
use crate::team::{Team, Window};
use crate::timed::{timed, timed_weighted};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How each thread calls.
#[derive(Clone, Copy)]
pub enum Way<'a> {
    /// So many calls of one token, back to back.
    Single(u64),
    /// So many calls, back to back, with the costs of [`crate::loops::COSTS`].
    Weighted(u64),
    /// Calls of one token, each timed. One sheet a thread; its length is the number of calls.
    Timed(&'a [Sheet]),
    /// Calls with the costs of [`crate::loops::COSTS`], each timed.
    TimedWeighted(&'a [Sheet]),
    /// Calls of one token, back to back, until so much time has passed, every thread has noticed, and a call was refused:
    /// so nobody stops while another still waits for a core, and nothing is left behind by the one that comes last. At
    /// most four times as long.
    For(Duration),
}

/// Where one thread writes the ticks that each call took. Locked for the length of a bout by that thread.
pub type Sheet = Mutex<Vec<u64>>;

/// What a bout gave.
#[derive(Clone, Debug)]
pub struct Bout {
    /// By the wall clock.
    pub window: Window,
    /// By the limiter's clock, from before the first call of any thread to after the last one.
    pub elapsed_nanos: u64,
}

impl Bout {
    /// One bout.
    pub fn of<C: Contender>(team: &Team, limiter: &C, way: Way<'_>) -> Self {
        let (span, bell) = (Span::default(), Bell::new(team.threads()));
        let window = team.window(|index| {
            let handle = limiter.handle();
            span.begin(limiter.now());
            let lap = way.lap(index, &bell, &*handle);
            span.end(limiter.now());
            lap
        });
        Self { window, elapsed_nanos: span.nanos() }
    }

    /// For the audit.
    pub fn account(&self) -> Account {
        Account {
            offered: self.window.offered(),
            admitted: self.window.admitted(),
            elapsed_nanos: self.elapsed_nanos,
        }
    }
}

impl Way<'_> {
    fn lap(self, index: usize, bell: &Bell, limiter: &impl Decide) -> Lap {
        match self {
            Self::Single(calls) => Lap::of(calls, || back_to_back(limiter, calls)),
            Self::Weighted(calls) => weighted_lap(calls, || weighted(limiter, calls)),
            Self::Timed(sheets) => {
                let mut sheet = sheets[index].lock().unwrap_or_else(PoisonError::into_inner);
                Lap::of(sheet.len() as u64, || timed(limiter, &mut sheet))
            }
            Self::TimedWeighted(sheets) => {
                let mut sheet = sheets[index].lock().unwrap_or_else(PoisonError::into_inner);
                weighted_lap(sheet.len() as u64, || timed_weighted(limiter, &mut sheet))
            }
            Self::For(time) => lap_for(time, bell, limiter),
        }
    }
}

/// A lap in tokens of a loop that counts calls: only if all were admitted is it known what they cost, else it is none.
#[inline(always)]
pub(crate) fn weighted_lap(calls: u64, work: impl FnOnce() -> u64) -> Lap {
    let lap = Lap::of(weighted_cost(calls), work);
    Lap { admitted: if lap.admitted == calls { lap.offered } else { 0 }, ..lap }
}

/// Calls between two looks at the clock.
const BUNCH: u64 = 1024;

fn lap_for(time: Duration, bell: &Bell, limiter: &impl Decide) -> Lap {
    let since = bell.since.get_or_init(Instant::now);
    let (mut offered, mut noticed) = (0, false);
    let lap = Lap::of(0, || {
        let mut admitted = 0;
        loop {
            let bunch = back_to_back(limiter, BUNCH);
            (offered, admitted) = (offered + BUNCH, admitted + bunch);
            let past = since.elapsed();
            if past >= time && !std::mem::replace(&mut noticed, true) {
                bell.unaware.fetch_sub(1, Relaxed);
            }
            if past >= 4 * time || (bell.unaware.load(Relaxed) == 0 && bunch < BUNCH) {
                return admitted;
            }
        }
    });
    Lap { offered, ..lap }
}

/// The end of a long bout, on which all threads agree.
struct Bell {
    /// When the first thread began.
    since: OnceLock<Instant>,
    /// Threads that have not yet noticed that the time is over.
    unaware: AtomicUsize,
}

impl Bell {
    fn new(threads: usize) -> Self {
        Self { since: OnceLock::new(), unaware: AtomicUsize::new(threads) }
    }
}

/// From the first reading of any thread to the last one.
struct Span {
    first: AtomicU64,
    last: AtomicU64,
}

impl Default for Span {
    fn default() -> Self {
        Self { first: AtomicU64::new(u64::MAX), last: AtomicU64::new(0) }
    }
}

impl Span {
    fn begin(&self, reading: u64) {
        self.first.fetch_min(reading, Relaxed);
    }

    fn end(&self, reading: u64) {
        self.last.fetch_max(reading, Relaxed);
    }

    fn nanos(&self) -> u64 {
        self.last.load(Relaxed).saturating_sub(self.first.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use tollgate::Bucket;

    fn bout(scenario: Scenario, way: Way<'_>) -> Account {
        let limiter = <Bucket as Contender>::build(scenario.quota(0.0, 0));
        Bout::of(&Team::new(2), &limiter, way).account()
    }

    #[test]
    fn every_way_counts_tokens() {
        let sheets = [const { Mutex::new(Vec::new()) }; 2];
        sheets.iter().for_each(|sheet| sheet.lock().unwrap().resize(50, 0));
        for (way, tokens) in [
            (Way::Single(100), 200),
            (Way::Weighted(16), 2 * 136),
            (Way::Timed(&sheets), 100),
            (Way::TimedWeighted(&sheets), 2 * weighted_cost(50)),
        ] {
            let admitting = bout(Scenario::Admit, way);
            assert_eq!((admitting.offered, admitting.admitted), (tokens, tokens));
            assert_eq!(bout(Scenario::Deny, way).admitted, 0);
        }
        assert!(sheets.iter().all(|sheet| sheet.lock().unwrap().iter().all(|&ticks| ticks > 0)));
    }

    /// A thread that the kernel holds up at the start comes too late for its bout: on a busy machine it takes a few.
    #[test]
    fn a_long_bout_ends_with_a_refusal() {
        let lasts = |scenario, nanos| {
            (0..100).any(|_| {
                let account = bout(scenario, Way::For(Duration::from_millis(5)));
                assert!(account.offered.is_multiple_of(BUNCH), "{account:?}");
                account.elapsed_nanos >= nanos && account.offered >= 2 * BUNCH
            })
        };
        assert!(lasts(Scenario::Deny, 4_900_000));
        assert!(lasts(Scenario::Admit, 19_900_000), "no refusal comes, so it lasts longer");
    }
}
