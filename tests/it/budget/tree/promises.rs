//! The two promises for any quota: the bound of the whole, with readings in any order, and what an owner is due.

use proptest::prelude::*;
use proptest::sample::Index;
use tollgate::budget::tree::{Share, Tree};
use tollgate::{Clock, Manual};

use super::Nodes;
use crate::oracle::Oracle;
use crate::quotas::{Plain, quotas};
use crate::support::{MINUTE, S, Scale, at, over_the_bound, quota};

/// Parts per million and perhaps a burst for each child of the root, and for those of its first child.
type Shares = [Vec<(u32, Option<u64>)>; 2];

fn shares(burst: u64) -> impl Strategy<Value = Shares> {
    let own =
        move || prop_oneof![Just(None), (1..=8_u64).prop_map(move |part| Some((burst / 10 / part).max(1)))];
    let level = move || prop::collection::vec((1..=250_000_u32, own()), 1..=4);
    (level(), level()).prop_map(|(first, second)| [first, second])
}

/// The tree with as many of the nodes as it has room for.
fn plant(plain: Plain, shares: &Shares) -> Tree<Manual> {
    let empty =
        || Tree::builder(quota(plain.tokens, plain.period, plain.burst)).clock(Manual::starting_at(at(S)));
    let mut kept: Vec<(String, u32, Option<u64>)> = Vec::new();
    for (level, prefix) in shares.iter().zip(["", "0/"]) {
        for (nth, &(ppm, burst)) in level.iter().enumerate() {
            kept.push((format!("{prefix}{nth}"), ppm, burst));
            let tree = kept.iter().fold(empty(), |tree, (name, ppm, burst)| match burst {
                Some(burst) => tree.node(name, Share::ppm(*ppm).burst(*burst)),
                None => tree.node(name, Share::ppm(*ppm)),
            });
            if tree.build().is_err() {
                kept.pop();
            }
        }
    }
    let tree = kept.iter().fold(empty(), |tree, (name, ppm, burst)| match burst {
        Some(burst) => tree.node(name, Share::ppm(*ppm).burst(*burst)),
        None => tree.node(name, Share::ppm(*ppm)),
    });
    tree.build().unwrap()
}

/// A part of the time to fill, in thousandths; and whether the clock is read or a reading so much older is used.
#[derive(Clone, Copy, Debug)]
struct Ask {
    later: u64,
    back: u64,
    cost: u64,
}

fn asks(back: u64) -> impl Strategy<Value = Vec<(Index, Ask)>> {
    let later = prop_oneof![3 => Just(0), 3 => 0..=20_u64, 1 => 0..=2000_u64];
    let back = prop_oneof![2 => Just(0), 1 => 0..=back];
    let cost = prop_oneof![3 => 1..=100_u64, 1 => 1..=1000_u64];
    let ask = (later, back, cost).prop_map(|(later, back, cost)| Ask { later, back, cost });
    prop::collection::vec((any::<Index>(), ask), 1..150)
}

fn part(whole: u64, thousandths: u64) -> u64 {
    (u128::from(whole) * u128::from(thousandths) / 1000) as u64
}

/// What is held for a node at least, for it falls by all that the node is admitted: parts of a token, `period` of them.
struct Due<'a> {
    node: Nodes<'a>,
    rate: i128,
    token: i128,
    full: i128,
    there: i128,
}

impl<'a> Due<'a> {
    fn new(node: Nodes<'a>, tokens: u64, period: u64, ppms: &[u32]) -> Self {
        let share: i128 = ppms.iter().map(|&ppm| i128::from(ppm)).product();
        let token = i128::from(period) * 1_000_000_i128.pow(ppms.len() as u32);
        let full = i128::from(node.peek().burst()) * token;
        Self { node, rate: i128::from(tokens) * share, token, full, there: full }
    }

    fn advance(&mut self, nanos: u64) {
        self.there = self.full.min(self.there + self.rate * i128::from(nanos));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn all_together_stay_within_the_bound(
        (plain, shares) in quotas().prop_flat_map(|plain| (Just(plain), shares(plain.burst))),
        asks in asks(300),
    ) {
        let tree = plant(plain, &shares);
        let fill = (u128::from(plain.burst) * u128::from(plain.period) / u128::from(plain.tokens)).min(1 << 50) as u64;
        let nodes: Vec<_> = tree.nodes().collect();
        let mut admitted = Vec::new();
        for (node, ask) in &asks {
            let now = tree.clock().now().as_u64() + part(fill, ask.later);
            tree.clock().set(at(now));
            let reading = now.saturating_sub(part(fill, ask.back));
            let cost = part(plain.burst, ask.cost).max(1);
            if node.get(&nodes).try_acquire_n_at(cost, at(reading)).is_ok() {
                admitted.push((reading, cost));
            }
        }
        let model = Oracle::new(plain.tokens, plain.period.into(), plain.burst);
        let scale = Scale::of(plain.tokens, plain.period, plain.burst);
        prop_assert_eq!(over_the_bound(&admitted, &model, scale), None);
        prop_assert_eq!(tree.root().peek().used(), admitted.iter().map(|admission| admission.1).sum::<u64>());
    }

    #[test]
    fn what_an_owner_is_due_is_there_at_once(
        tokens in 1..=8_u64,
        period in prop_oneof![1..=1000_u64, 1..=MINUTE],
        (burst, shares) in (8..=100_000_u64).prop_flat_map(|burst| (Just(burst), shares(burst))),
        asks in asks(0),
    ) {
        let tree = plant(Plain { tokens, period, burst }, &shares);
        let fill = burst * period / tokens;
        let ppm = |name: &str| {
            let (level, nth) = name.strip_prefix("0/").map_or((0, name), |nth| (1, nth));
            shares[level][nth.parse::<usize>().unwrap()].0
        };
        let leaves = tree.nodes().filter(|node| node.parent().is_some() && node.children().next().is_none());
        let mut dues: Vec<_> = leaves
            .map(|node| match node.name().split_once('/') {
                Some((parent, _)) => Due::new(node, tokens, period, &[ppm(parent), ppm(node.name())]),
                None => Due::new(node, tokens, period, &[ppm(node.name())]),
            })
            .collect();
        let mut due = 0;
        for (node, ask) in &asks {
            let later = part(fill, ask.later);
            tree.clock().set(at(tree.clock().now().as_u64() + later));
            dues.iter_mut().for_each(|due| due.advance(later));
            let Some(owner) = (!dues.is_empty()).then(|| node.index(dues.len())) else { continue };
            let owner = &mut dues[owner];
            let cost = part(owner.node.peek().burst(), ask.cost).max(1);
            let is_due = i128::from(cost) * owner.token <= owner.there;
            let answer = owner.node.try_acquire_n(cost);
            prop_assert!(answer.is_ok() || !is_due, "{}: {answer:?}", owner.node.name());
            if answer.is_ok() {
                owner.there = (owner.there - i128::from(cost) * owner.token).max(0);
            }
            due += u64::from(is_due);
        }
        prop_assume!(due > 0);
    }
}
