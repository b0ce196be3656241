//! One limiter wanted by all threads of a team at once.

use crate::bout::{Bout, Way};
use crate::decide::Contender;
use crate::scenario::{Audit, Fault, Scenario, bound};
use crate::team::{Placement, Team, Window};
use crate::thread::cores;
use tollgate::Quota;

/// A window with every thread on a core of its own is short, so that it is often left alone.
const SHORT_NANOS: u64 = 500_000;

/// A window in which threads must take turns is long, so that they do take turns.
const LONG_NANOS: u64 = 20_000_000;

/// Fewer refills than this say nothing about the boundary.
const LEAST_REFILLS: u64 = 100;

/// At the boundary the offered load is at least this many times the rate ...
const LEAST_LOAD: f64 = 2.0;

/// ... and set to this many, for how fast a team decides changes with the distance of the cores.
const LOAD: f64 = 3.0;

/// A limiter, the team that wants it, and what its answers must satisfy.
pub struct Contest<'a, C> {
    team: &'a Team,
    scenario: Scenario,
    limiter: C,
    quota: Quota,
    /// Calls of each thread in a window.
    calls: u64,
    /// What a decision of the team was taken to cost when the limiter was paced.
    call_nanos: f64,
    audit: Audit,
}

/// Why a window says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Void {
    /// A thread was taken off its core, though each has one of its own.
    Preempted,
    /// The cores moved closer or apart.
    Moved,
    /// It crossed too few refills: see [`Contest::lengthen`].
    TooShort,
    /// Less than twice the rate was offered: see [`Contest::slowed`].
    Underloaded,
    /// The limiter had no chance to admit its share.
    Starved,
}

impl<'a, C: Contender> Contest<'a, C> {
    /// A fresh limiter for the scenario, paced by what the team itself is measured to need; nothing if the limiter cannot
    /// express the quota. [`Scenario::Burst`] has no contended form and is treated as the boundary.
    pub fn new(team: &'a Team, scenario: Scenario) -> Option<Self> {
        let free = Scenario::Admit.quota(0.0, 0);
        let call_nanos = Self::with_quota(team, Scenario::Admit, free)?.nanos_a_decision(SHORT_NANOS);
        Self::paced(team, scenario, call_nanos)
    }

    /// Doubles the calls of a window, for when it crosses too few refills.
    pub fn lengthen(&mut self) {
        self.calls *= 2;
    }

    /// The same limiter anew, with half as much again on offer. For when the team has become slower than it was and no
    /// longer offers twice the rate.
    pub fn slowed(&self) -> Option<Self> {
        Self::paced(self.team, self.scenario, self.call_nanos * 1.5)
    }

    fn paced(team: &'a Team, scenario: Scenario, call_nanos: f64) -> Option<Self> {
        let quota = scenario.quota(call_nanos * LOAD / 2.0, C::GRAIN_NANOS);
        let mut contest = Self::with_quota(team, scenario, quota)?;
        let window = if team.threads() > cores() { LONG_NANOS } else { SHORT_NANOS };
        let decision_nanos = contest.nanos_a_decision(SHORT_NANOS);
        contest.calls = ((window as f64 / decision_nanos / team.threads() as f64) as u64).max(1);
        contest.call_nanos = call_nanos;
        Some(contest)
    }

    fn with_quota(team: &'a Team, scenario: Scenario, quota: Quota) -> Option<Self> {
        let audit = match scenario {
            Scenario::Admit | Scenario::Stock | Scenario::Weighted => Audit::All,
            Scenario::Deny => Audit::Nothing,
            Scenario::Boundary | Scenario::Burst => {
                let share = if team.threads() > cores() { 0.0 } else { 0.5 };
                Audit::Bound { quota, slack: C::slack(quota), share }
            }
        };
        let fresh =
            || Self { team, scenario, limiter: C::build(quota), quota, calls: 1024, call_nanos: 0.0, audit };
        C::fits(quota).then(fresh)
    }

    /// The quota in force.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Decisions of the whole team in one window.
    pub fn decisions(&self) -> u64 {
        self.calls * self.team.threads() as u64
    }

    /// One window, audited.
    ///
    /// # Panics
    ///
    /// If more was admitted than the bound.
    pub fn window(&self) -> Result<Window, Void> {
        let bout = self.bout();
        self.judge(&bout)?;
        Ok(bout.window)
    }

    /// As [`Contest::window`], tagged with the distance of the cores; void if it changed meanwhile.
    pub fn tagged_window(&self) -> Result<(Window, Option<Placement>), Void> {
        let before = self.team.placement();
        let window = self.window()?;
        if self.team.placement() == before { Ok((window, before)) } else { Err(Void::Moved) }
    }

    fn bout(&self) -> Bout {
        let way = match self.scenario {
            Scenario::Weighted => Way::Weighted(self.calls),
            _ => Way::Single(self.calls),
        };
        Bout::of(self.team, &self.limiter, way)
    }

    fn judge(&self, bout: &Bout) -> Result<(), Void> {
        let window = &bout.window;
        let verdict = self.audit.check(bout.account());
        if let Err(fault @ Fault::Over { .. }) = &verdict {
            panic!("{} under contention of {} threads: {fault}", self.scenario.name(), self.team.threads());
        }
        if window.preempted && self.team.threads() <= cores() {
            return Err(Void::Preempted);
        }
        if matches!(self.audit, Audit::Bound { .. }) {
            self.at_the_boundary(window)?;
        }
        verdict.map_err(|_| Void::Starved)
    }

    fn at_the_boundary(&self, window: &Window) -> Result<(), Void> {
        let refills = bound(self.quota, window.nanos) - self.quota.capacity();
        if refills < LEAST_REFILLS {
            return Err(Void::TooShort);
        }
        let underloaded = (window.offered() as f64) < LEAST_LOAD * refills as f64;
        if underloaded { Err(Void::Underloaded) } else { Ok(()) }
    }

    /// Makes windows longer until one takes `least_nanos`, and tells what a decision of the team takes at best.
    fn nanos_a_decision(&mut self, least_nanos: u64) -> f64 {
        while self.trial() < least_nanos {
            self.lengthen();
        }
        let best = (0..5).map(|_| self.trial()).min().unwrap_or(0);
        best as f64 / self.decisions() as f64
    }

    fn trial(&self) -> u64 {
        self.bout().window.nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::Bucket;

    /// Whether one window counts. On a busy machine most are void, so it may take many.
    fn counts(scenario: Scenario, threads: usize) -> bool {
        let team = Team::new(threads);
        let contest = Contest::<Bucket>::new(&team, scenario).unwrap();
        (0..5_000).any(|_| contest.window().is_ok())
    }

    #[test]
    fn a_team_contends_within_the_bound() {
        for scenario in [Scenario::Admit, Scenario::Deny, Scenario::Weighted, Scenario::Boundary] {
            assert!(counts(scenario, 1), "{scenario:?}: no window of one thread counted");
        }
        assert!(counts(Scenario::Deny, 2 * cores()));
    }

    #[test]
    fn a_window_tells_how_far_apart_the_cores_were() {
        let pair = Team::new(2);
        let contest = Contest::<Bucket>::new(&pair, Scenario::Deny).unwrap();
        let tagged = (0..2_000).find_map(|_| contest.tagged_window().ok());
        let (window, placement) = tagged.expect("one undisturbed window in two thousand");
        assert_eq!(window.admitted(), 0);
        assert_eq!(placement.is_some(), cores() > 1);
    }
}
