//! Random trees and schedules: every answer against the model, the bound over all intervals, and what owners are due.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tollgate::budget::tree::{Grant, Limit, Share, Tree, TreeError};
use tollgate::{Denied, Manual};

use super::Nodes;
use super::model::{Given, Model, No};
use crate::support::{nanos, quota};

const MICRO: u64 = 1000;
const MAX_DEPTH: usize = 3;

/// A tree: tokens a microsecond (so that a microsecond has a whole number of units), capacity, nodes.
type Planted = (u64, u64, Vec<Given>);

/// Any tree, or only such as can be: what does not fit is left out.
fn trees(valid: bool) -> impl Strategy<Value = Planted> {
    let burst = prop_oneof![1 => Just(None), 3 => (1..=4_u64).prop_map(Some)];
    let ceiling =
        (1..=4_u64, 1..=3_u64, 1..=9_u64).prop_map(|(tokens, micros, burst)| (tokens, micros * MICRO, burst));
    let ceiling = prop_oneof![3 => Just(None), 1 => ceiling.prop_map(Some)];
    let given = (any::<Index>(), 1..=5_u32, burst, ceiling);
    let capacity = prop_oneof![3..=12_u64, 10..=60_u64];
    let nodes = prop::collection::vec(given, 1..8);
    (prop::sample::select(vec![1, 3, 7]), capacity, nodes).prop_map(move |(tokens, capacity, nodes)| {
        let mut given: Vec<Given> = Vec::new();
        let mut depths = vec![0];
        for (parent, tenths, burst, ceiling) in nodes {
            let open: Vec<usize> = (0..depths.len()).filter(|&place| depths[place] < MAX_DEPTH).collect();
            let parent = open[parent.index(open.len())];
            given.push(Given { parent, tenths, burst, ceiling });
            if valid && Model::new(tokens, capacity, &given).is_none() {
                given.pop();
            } else {
                depths.push(depths[parent] + 1);
            }
        }
        (tokens, capacity, given)
    })
}

/// Names by place: the path of places.
fn names(given: &[Given]) -> Vec<String> {
    let mut names = vec!["/".to_string()];
    for (place, given) in given.iter().enumerate() {
        let own = format!("n{}", place + 1);
        let name = if given.parent == 0 { own } else { format!("{}/{own}", names[given.parent]) };
        names.push(name);
    }
    names
}

fn plant((tokens, capacity, given): &Planted) -> Result<Tree<Manual>, TreeError> {
    let mut tree = Tree::builder(quota(*tokens, MICRO, *capacity)).clock(Manual::new());
    for (name, given) in names(given).iter().skip(1).zip(given) {
        let mut grant = Grant::from(Share::of(given.tenths, 10));
        if let Some(burst) = given.burst {
            grant = grant.burst(burst);
        }
        if let Some((tokens, period, burst)) = given.ceiling {
            grant = grant.ceiling(quota(tokens, period, burst));
        }
        tree = tree.node(name, grant);
    }
    tree.build()
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(Index, u64),
    Charge(Index, u64),
    Refund(Index, u64),
    Later(u64),
    Shares(Vec<(Index, u32)>),
}

fn steps(debts: bool) -> impl Strategy<Value = Step> {
    let cost = || prop_oneof![4 => 1..=4_u64, 2 => 1..=12_u64, 1 => 0..=70_u64];
    prop_oneof![
        12 => (any::<Index>(), cost()).prop_map(|(place, cost)| Step::Acquire(place, cost)),
        u32::from(debts) => (any::<Index>(), cost()).prop_map(|(place, cost)| Step::Charge(place, cost)),
        1 => (any::<Index>(), cost()).prop_map(|(place, cost)| Step::Refund(place, cost)),
        4 => (1..=3 * MICRO).prop_map(Step::Later),
        2 => (1..=40_u64).prop_map(|steps| Step::Later(steps * MICRO / 2)),
        1 => prop::collection::vec((any::<Index>(), 0..=9_u32), 1..3).prop_map(Step::Shares),
    ]
}

/// A tree and its model, asked the same.
struct Pair {
    tree: Tree<Manual>,
    model: Model,
    names: Vec<String>,
    /// How often it was admitted (`None`) or refused, and why.
    answers: BTreeMap<Option<No>, u32>,
}

impl Pair {
    fn step(&mut self, step: &Step) {
        let of = |place: &Index| place.index(self.names.len());
        match step {
            Step::Acquire(place, cost) => self.acquire(of(place), *cost),
            Step::Charge(place, cost) => {
                self.node(of(place)).charge(*cost);
                self.model.charge(of(place), *cost);
            }
            Step::Refund(place, cost) => {
                self.node(of(place)).refund(*cost);
                self.model.refund(of(place), *cost);
            }
            Step::Later(span) => {
                self.tree.clock().advance(nanos(*span));
                self.model.advance(*span);
            }
            Step::Shares(shares) => {
                let below = self.names.len() - 1;
                if below == 0 {
                    return;
                }
                let shares: Vec<_> =
                    shares.iter().map(|(place, tenths)| (1 + place.index(below), *tenths)).collect();
                let stated =
                    shares.iter().map(|&(place, tenths)| (&*self.names[place], Share::of(tenths, 10)));
                let changed = self.tree.set_shares(stated);
                assert_eq!(changed.is_ok(), self.model.set_shares(&shares), "{changed:?}");
            }
        }
    }

    fn node(&self, place: usize) -> Nodes<'_> {
        super::node(&self.tree, &self.names[place])
    }

    fn acquire(&mut self, place: usize, cost: u64) {
        let expected = self.model.clone().acquire(place, cost);
        *self.answers.entry(expected.err()).or_default() += 1;
        let answer = self.node(place).try_acquire_n(cost);
        match (answer, expected) {
            (Ok(()), Ok(())) => self.model.acquire(place, cost).unwrap(),
            (Err(refused), Err(no)) => {
                let name = |place: usize| self.names[place].as_str();
                let (node, limit) = (refused.node, refused.limit);
                match no {
                    No::Zero => assert_eq!(refused.denied, Denied::ZeroCost),
                    No::Never(Some(above)) => assert_eq!((node, limit), (name(above), Limit::Ceiling)),
                    No::Never(None) => assert_eq!(node, "/"),
                    No::Ceiling(above) => assert_eq!((node, limit), (name(above), Limit::Ceiling)),
                    No::Pool => assert_eq!((node, limit), ("/", Limit::Pool)),
                    No::Total => assert_eq!((node, limit), ("/", Limit::Total)),
                }
                let never = matches!(no, No::Zero | No::Never(_));
                assert_eq!(refused.wait().is_none(), never, "{refused:?}");
                if let Some(wait) = refused.wait() {
                    self.check_wait(place, cost, u64::try_from(wait.as_nanos()).unwrap());
                }
            }
            (answer, expected) => panic!("{answer:?}, and by the model {expected:?}"),
        }
    }

    /// A nanosecond less is not enough, and from then on it fits. While someone owes, it may fit for a while and not later.
    fn check_wait(&self, place: usize, cost: u64, wait: u64) {
        let after = |nanos| {
            let mut model = self.model.clone();
            model.advance(nanos);
            model.refuse(place, cost)
        };
        assert!(after(wait - 1).is_some(), "already after {} ns", wait - 1);
        if !self.model.is_in_debt() {
            for later in [wait, wait + 1, 2 * wait, wait + 100 * MICRO, wait + 1_000_000 * MICRO] {
                assert_eq!(after(later), None, "after {later} ns, where {wait} were told");
            }
        }
    }

    fn check_balances(&self, places: impl Iterator<Item = usize>) {
        for place in places {
            let seen = self.node(place).peek();
            let seen =
                [seen.held(), seen.owed(), seen.available(), seen.max_cost(), seen.used(), seen.borrowed()];
            let what = "held, owed, available, max_cost, used, borrowed";
            assert_eq!(seen, self.model.balance(place), "{what} of {}", self.names[place]);
        }
    }
}

fn check(planted: &Planted, schedule: &[Step]) -> BTreeMap<Option<No>, u32> {
    let model = Model::new(planted.0, planted.1, &planted.2).unwrap();
    let mut pair =
        Pair { tree: plant(planted).unwrap(), model, names: names(&planted.2), answers: BTreeMap::new() };
    for (nth, step) in schedule.iter().enumerate() {
        pair.step(step);
        pair.check_balances([nth % pair.names.len()].into_iter());
    }
    pair.check_balances(0..pair.names.len());
    pair.answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_answer_is_that_of_the_model(
        planted in trees(true),
        schedule in prop::collection::vec(steps(false), 1..60),
    ) {
        check(&planted, &schedule);
    }

    #[test]
    fn so_it_is_with_debts(
        planted in trees(true),
        schedule in prop::collection::vec(steps(true), 1..60),
    ) {
        check(&planted, &schedule);
    }

    #[test]
    fn what_cannot_be_is_refused(planted in trees(false)) {
        let model = Model::new(planted.0, planted.1, &planted.2);
        let tree = plant(&planted);
        prop_assert_eq!(tree.is_ok(), model.is_some(), "{:?}", tree);
    }
}

/// The schedules are worth something only if they meet all that can happen.
#[test]
fn every_kind_of_answer_occurs() {
    let strategy = (trees(true), prop::collection::vec(steps(true), 60));
    let mut runner = TestRunner::deterministic();
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..80 {
        let (planted, schedule) = strategy.new_tree(&mut runner).unwrap().current();
        for (answer, count) in check(&planted, &schedule) {
            let kind = match answer {
                None => "admitted",
                Some(No::Zero) => "zero",
                Some(No::Never(Some(_))) => "above a ceiling",
                Some(No::Never(None)) => "above the pools",
                Some(No::Ceiling(0)) => panic!("the root has no ceiling"),
                Some(No::Ceiling(_)) => "by a ceiling",
                Some(No::Pool) => "by the pool",
                Some(No::Total) => "by the whole",
            };
            *kinds.entry(kind).or_default() += count;
        }
    }
    assert!(kinds.len() == 7 && kinds.values().all(|&count| count >= 3), "{kinds:?}");
    assert!(kinds["admitted"] >= 300 && kinds["by the pool"] >= 30, "{kinds:?}");
}
