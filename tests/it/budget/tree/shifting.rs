//! Three teams at 50/30/20 % under a load that shifts: what each gets in every 10 s, how much is used, and the bound.

use tollgate::budget::tree::Tree;
use tollgate::{Clock, Manual};

use super::teams;
use crate::oracle::Oracle;
use crate::support::{Admission, MS, S, Scale, nanos, over_the_bound};

const RATE: u64 = 250;
const CAPACITY: u64 = 50;
const NAMES: [&str; 3] = ["research", "support", "batch"];
/// Tokens a second that each is guaranteed.
const GUARANTEED: [u64; 3] = [125, 75, 50];
/// Time between two looks.
const STEP: u64 = 4 * MS;
const STEPS_A_SECOND: usize = (S / STEP) as usize;
const WINDOW: usize = 10 * STEPS_A_SECOND;

/// What a team wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Idle,
    /// One token every so many steps.
    Every(usize),
    /// All there is, a cost at a time.
    All(u64),
}

use Load::{All, Every, Idle};

/// 15 s each, and again from the first: 120 s.
const PHASES: [[Load; 3]; 8] = [
    [All(1), All(1), All(1)],
    [Idle, All(1), All(1)],
    // Half of its share.
    [Every(4), Idle, All(1)],
    [All(1), Idle, Idle],
    // All of its share, and the others want the rest.
    [All(1), Every(4), All(1)],
    [Every(2), Every(4), All(1)],
    [Idle, Idle, All(1)],
    [All(1), All(1), All(1)],
];
const PHASE: usize = 15 * STEPS_A_SECOND;

/// What happened, step by step.
struct Log {
    /// The load of each team in each step.
    loads: Vec<[Load; 3]>,
    /// Tokens admitted to each team up to each step; one more than steps.
    sums: Vec<[u64; 3]>,
    admissions: Vec<Admission>,
    refused_of_few: u64,
}

impl Log {
    fn of(tree: &Tree<Manual>, phases: &[[Load; 3]], phase: usize) -> Self {
        let steps = phases.len() * phase;
        let loads: Vec<_> = (0..steps).map(|step| phases[step / phase]).collect();
        let mut log = Log { loads, sums: vec![[0; 3]], admissions: Vec::new(), refused_of_few: 0 };
        for step in 0..steps {
            tree.clock().advance(nanos(STEP));
            let mut sums = log.sums[step];
            // Whose turn it is first shifts, too: who borrows is decided by who asks first.
            for turn in 0..3 {
                let team = (step + turn) % 3;
                sums[team] += log.ask(tree, team, step);
            }
            log.sums.push(sums);
        }
        log
    }

    /// Tokens admitted to the team in the step.
    fn ask(&mut self, tree: &Tree<Manual>, team: usize, step: usize) -> u64 {
        let node = super::node(tree, NAMES[team]);
        let mut ask = |cost| {
            let admitted = node.try_acquire_n(cost).is_ok();
            if admitted {
                self.admissions.push((tree.clock().now().as_u64(), cost));
            }
            admitted
        };
        match self.loads[step][team] {
            All(cost) => (0..).take_while(|_| ask(cost)).count() as u64 * cost,
            Every(steps) if step.is_multiple_of(steps) => {
                let admitted = ask(1);
                self.refused_of_few += u64::from(!admitted);
                u64::from(admitted)
            }
            Every(_) | Idle => 0,
        }
    }

    /// The least that a team got in any 10 s in which it wanted all there is, and how many such there were.
    fn least_in_10_s(&self, team: usize) -> (u64, usize) {
        self.least(|loads| matches!(loads[team], All(_)), |sums| sums[team])
    }

    /// The least that was admitted to all in any 10 s in which at any time some team wanted all there is.
    fn least_used_in_10_s(&self) -> (u64, usize) {
        self.least(|loads| loads.iter().any(|load| matches!(load, All(_))), |sums| sums.iter().sum())
    }

    /// Over all intervals of 10 s, from step to step, in each step of which the loads are as `wanted`.
    fn least(&self, wanted: impl Fn([Load; 3]) -> bool, sum: impl Fn([u64; 3]) -> u64) -> (u64, usize) {
        let (mut run, mut all) = (0, Vec::new());
        for (step, &loads) in self.loads.iter().enumerate() {
            run = if wanted(loads) { run + 1 } else { 0 };
            if run >= WINDOW {
                all.push(sum(self.sums[step + 1]) - sum(self.sums[step + 1 - WINDOW]));
            }
        }
        (all.iter().copied().min().unwrap_or(0), all.len())
    }

    fn over(&self) -> Option<(u64, u64, u128)> {
        let model = Oracle::new(RATE, S.into(), CAPACITY);
        over_the_bound(&self.admissions, &model, Scale::of(RATE, S, CAPACITY))
    }
}

#[test]
fn each_gets_its_guarantee_in_every_10_s_and_the_rest_is_used() {
    for bursts in [None, Some([5, 3, 2]), Some([2, 2, 2])] {
        let tree = teams(RATE, CAPACITY, bursts);
        let log = Log::of(&tree, &PHASES, PHASE);
        for (team, guaranteed) in GUARANTEED.into_iter().enumerate() {
            let (least, windows) = log.least_in_10_s(team);
            assert!(windows > 5_000, "{windows} windows of {team}");
            assert!(least >= guaranteed * 10, "{bursts:?}: {} got {least} in 10 s", NAMES[team]);
        }
        let (used, windows) = log.least_used_in_10_s();
        // 98 %, where 95 % are asked for: what is missing are the bursts that owners have filled up meanwhile.
        assert!(windows > 25_000 && used >= RATE * 10 * 98 / 100, "{bursts:?}: {used} used in some 10 s");
        assert_eq!(log.over(), None, "{bursts:?}");
        assert_eq!(log.refused_of_few, 0, "{bursts:?}: within its share, and refused");
        assert_eq!(tree.root().peek().used(), log.sums.last().unwrap().iter().sum::<u64>());
    }
}

/// A burst must have room for a cost and for what is issued until the owner looks again, or a part of its share is lent.
#[test]
fn a_burst_too_small_for_the_time_between_two_looks_lends_a_part_of_the_share() {
    let log = Log::of(&teams(RATE, CAPACITY, Some([1, 1, 1])), &PHASES[..1], PHASE);
    let least = [0, 1, 2].map(|team| log.least_in_10_s(team).0);
    assert_eq!(least, [1250, 625, 625], "support cannot take one every 8 ms, and batch takes what is left");
    assert_eq!(log.least_used_in_10_s().0, RATE * 10);
}
