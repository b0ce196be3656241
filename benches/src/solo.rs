//! One limiter and one thread in a scenario.

use crate::bout::weighted_lap;
use crate::decide::{Contender, Decide};
use crate::loops::{back_to_back, weighted};
use crate::rounds::{Lap, Row};
use crate::scenario::{Audit, Scenario};
use std::time::{Duration, Instant};
use tollgate::Quota;

/// A limiter paced for a scenario by what its own calls are measured to cost.
pub struct Solo<C> {
    scenario: Scenario,
    limiter: C,
    quota: Quota,
    call_nanos: f64,
}

/// Calls by which a limiter's cost is measured before it is paced.
const PROBE: u64 = 20_000;

impl<C: Contender> Solo<C> {
    /// A fresh limiter.
    pub fn new(scenario: Scenario) -> Self {
        let probe = C::build(Scenario::Admit.quota(0.0, 0));
        let call_nanos = (0..5).map(|_| probe_nanos(&*probe.handle())).fold(f64::INFINITY, f64::min);
        let quota = scenario.quota(call_nanos, C::GRAIN_NANOS);
        Self { scenario, limiter: C::build(quota), quota, call_nanos }
    }

    /// The quota in force.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// The row that measures it.
    pub fn row(&self, name: &str) -> Row<'_> {
        let row = Row::over(name, self.audit(), &self.limiter, |calls| self.lap(calls));
        if self.scenario == Scenario::Burst { row.of_calls(self.clump()) } else { row }
    }

    /// Twice the capacity.
    fn clump(&self) -> u64 {
        2 * self.quota.capacity()
    }

    fn audit(&self) -> Audit {
        match self.scenario {
            Scenario::Admit | Scenario::Stock | Scenario::Weighted => Audit::All,
            Scenario::Deny => Audit::Nothing,
            // A clump is over before the refill of a coarse limiter shows: only the bound can be asked of it.
            Scenario::Boundary | Scenario::Burst => Audit::Bound {
                quota: self.quota,
                slack: C::slack(self.quota),
                share: if self.scenario == Scenario::Boundary && C::GRAIN_NANOS <= 1_000 { 0.5 } else { 0.0 },
            },
        }
    }

    fn lap(&self, calls: u64) -> Lap {
        let handle = self.limiter.handle();
        let limiter = &*handle;
        match self.scenario {
            Scenario::Weighted => weighted_lap(calls, || weighted(limiter, calls)),
            Scenario::Burst => self.clumps(limiter, calls),
            _ => Lap::of(calls, || back_to_back(limiter, calls)),
        }
    }

    /// Clumps, the last one of the calls that remain; the refill before each is waited for and not timed.
    fn clumps(&self, limiter: &impl Decide, calls: u64) -> Lap {
        let mut lap = Lap::default();
        while lap.offered < calls {
            wait_nanos(self.fill_nanos());
            let clump = (calls - lap.offered).min(self.clump());
            lap = lap + Lap::of(clump, || back_to_back(limiter, clump));
        }
        lap
    }

    fn fill_nanos(&self) -> u64 {
        self.quota.capacity() * self.quota.period().as_nanos() as u64 / self.quota.tokens()
    }

    /// What a call of the always admitted limiter was measured to cost.
    pub fn call_nanos(&self) -> f64 {
        self.call_nanos
    }
}

fn probe_nanos(limiter: &impl Decide) -> f64 {
    Lap::of(PROBE, || back_to_back(limiter, PROBE)).nanos as f64 / PROBE as f64
}

/// Sleeps if it takes long, so that the thread comes back with a fresh slice of time.
fn wait_nanos(nanos: u64) {
    let start = Instant::now();
    if nanos > 500_000 {
        std::thread::sleep(Duration::from_nanos(nanos));
    }
    while (start.elapsed().as_nanos() as u64) < nanos {
        std::hint::spin_loop();
    }
}
