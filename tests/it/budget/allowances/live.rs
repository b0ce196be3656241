//! Changes of a quota beside reservations that are open: after every step an allowance holds what a replay of the whole
//! history with the settled amounts holds.

use proptest::prelude::*;
use tollgate::budget::allowances::Grants;
use tollgate::{Clock, Manual};

use super::{allowances, config, set, there};
use crate::support::S;

/// Tokens in parts of 10^-9, so that `rate` tokens a second are `rate` parts a nanosecond.
const PARTS: i128 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Quota {
    rate: u64,
    burst: u64,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Reserve(u64),
    /// Which, and what it has cost.
    Settle(usize, u64),
    Change(Quota),
    Wait(u64),
}

/// What has happened, for good or until it is settled.
#[derive(Clone, Copy, Debug)]
enum Event {
    Charge(u64),
    Change(Quota),
}

impl Quota {
    fn file(self) -> String {
        let Self { rate, burst } = self;
        format!(
            "[allowance.a]\nunit = \"tokens\"\nrate = \"{rate}/s burst {burst}\"\n[tool.t]\nuses = {{ a = \"tokens\" }}\n"
        )
    }
}

/// What is there at `now`, in parts.
fn replayed(first: Quota, log: &[(u64, Event)], now: u64) -> i128 {
    let full = |quota: Quota| i128::from(quota.burst) * PARTS;
    let (mut quota, mut level, mut then) = (first, full(first), 0);
    let issue = |quota: Quota, level: i128, span: u64| {
        (level + i128::from(quota.rate) * i128::from(span)).min(full(quota))
    };
    for &(at, event) in log {
        level = issue(quota, level, at - then);
        then = at;
        match event {
            Event::Charge(tokens) => level -= i128::from(tokens) * PARTS,
            Event::Change(new) => (quota, level) = (new, level.min(full(new))),
        }
    }
    issue(quota, level, now - then)
}

/// How far the allowance is below the replay at most, in whole tokens; it must never be above.
fn worst_shortfall(first: Quota, steps: &[Step]) -> u64 {
    let allowances = allowances(&first.file());
    let (mut now, mut log, mut worst) = (0, Vec::new(), 0);
    let mut open: Vec<(Grants<Manual>, usize, u64)> = Vec::new();
    for &step in steps {
        match step {
            Step::Wait(span) => now = set(&allowances, now + span).as_u64(),
            Step::Change(quota) => {
                allowances.reload(config(&quota.file()));
                log.push((now, Event::Change(quota)));
            }
            Step::Reserve(tokens) => {
                if let Ok(grants) = allowances.call("t").estimate(tokens).try_acquire() {
                    open.push((grants, log.len(), tokens));
                    log.push((now, Event::Charge(tokens)));
                }
            }
            Step::Settle(which, actual) if !open.is_empty() => {
                let (grants, event, estimate) = open.swap_remove(which % open.len());
                grants.settle(actual);
                log[event].1 = Event::Charge(estimate.min(actual));
                log.push((now, Event::Charge(actual.saturating_sub(estimate))));
            }
            Step::Settle(..) => {}
        }
        assert_eq!(allowances.clock().now().as_u64(), now);
        let [there] = there(&allowances, ["a"]);
        let model = replayed(first, &log, now).max(0).div_euclid(PARTS) as u64;
        assert!(there <= model, "{there} are there, {model} may be, after {step:?}");
        worst = worst.max(model - there);
    }
    worst
}

fn steps(rates: impl Strategy<Value = u64> + Clone) -> impl Strategy<Value = (Quota, Vec<Step>)> {
    let quota = (rates, 1..=300_u64).prop_map(|(rate, burst)| Quota { rate, burst });
    let step = prop_oneof![
        4 => (1..=120_u64).prop_map(Step::Reserve),
        4 => (any::<usize>(), 0..=150_u64).prop_map(|(which, actual)| Step::Settle(which, actual)),
        2 => quota.clone().prop_map(Step::Change),
        4 => (0..3 * S).prop_map(Step::Wait),
    ];
    (quota, prop::collection::vec(step, 1..80))
}

proptest! {
    /// Rates that share a scale: equal to the replay, at every step.
    #[test]
    fn what_is_there_is_what_a_replay_with_the_settled_amounts_has((first, steps) in steps(prop::sample::select(vec![1, 3, 7_u64]))) {
        prop_assert_eq!(worst_shortfall(first, &steps), 0);
    }

    /// Any rates: never more, and at most a token less for parts of a token that a change rounds off.
    #[test]
    fn a_change_of_scale_rounds_against_the_caller((first, steps) in steps(1..=2_000_u64)) {
        prop_assert!(worst_shortfall(first, &steps) <= 1);
    }
}

/// A surplus from before a change comes back after it, as far as it fits.
#[test]
fn a_surplus_outlives_a_change() {
    let quota = |rate, burst| Quota { rate, burst };
    let allowances = allowances(&quota(1, 100).file());
    let early = allowances.call("t").estimate(80).try_acquire().unwrap();
    allowances.reload(config(&quota(5, 60).file()));
    assert_eq!(there(&allowances, ["a"]), [20]);
    early.settle(10);
    assert_eq!(there(&allowances, ["a"]), [60], "90 would be there, and 60 fit");
    let early = allowances.call("t").estimate(50).try_acquire().unwrap();
    allowances.reload(config(&quota(5, 500).file()));
    assert_eq!(there(&allowances, ["a"]), [10]);
    early.settle(0);
    assert_eq!(there(&allowances, ["a"]), [60], "a larger capacity gives nothing");
}
