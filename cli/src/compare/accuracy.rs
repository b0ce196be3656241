//! How close to `B + r*t` a limiter comes when more than that is asked of it without a pause.

use std::time::Duration;

use tollgate::Quota;
use tollgate_bench::bout::{Bout, Way};
use tollgate_bench::team::Team;

use super::field::Entry;
use super::judge::Tally;
use super::pace::{Pace, empty};

/// One long bout that begins with a full limiter.
#[derive(Clone, Debug)]
pub(crate) struct Accuracy {
    pub(crate) tally: Tally,
    /// Tokens that may lie in shards: `N*C`.
    pub(crate) held_back: u64,
}

/// Asked for at least so often as the rate.
const LEAST_LOAD: f64 = 2.0;

/// Outages that the capacity covers at least: what the scheduler of a busy machine lets a thread wait.
const COVER: Duration = Duration::from_millis(100);

/// Times that the rate is put right.
const TRIES: usize = 5;

impl Accuracy {
    /// Takes about `time`.
    pub(crate) fn measure(entry: &Entry, team: &Team, pace: &Pace, time: Duration) -> Self {
        let mut pace = pace.unbraked();
        let cover = COVER.max(time / 20);
        let pilot = time / 20;
        for _ in 0..TRIES {
            let quota = empty(pace.long(cover));
            if load(quota, &(entry.bout)(team, quota, Way::For(pilot))) >= 1.2 * LEAST_LOAD {
                break;
            }
            pace.slow_down();
        }
        Self::of(entry, team, pace.long(cover), time - pilot)
    }

    fn of(entry: &Entry, team: &Team, quota: Quota, time: Duration) -> Self {
        let bout = (entry.bout)(team, quota, Way::For(time));
        let tally = Tally::of(quota, (entry.slack)(quota), bout.account());
        Self { tally, held_back: (entry.held_back)(quota) }
    }

    /// The least that the limiter promises to have admitted: `(B - N*C) + r*t - N*C`.
    pub(crate) fn promised(&self) -> u64 {
        self.tally.bound.saturating_sub(2 * self.held_back)
    }
}

fn load(quota: Quota, bout: &Bout) -> f64 {
    Tally::of(quota, u64::MAX, bout.account()).load().unwrap_or(f64::INFINITY)
}
