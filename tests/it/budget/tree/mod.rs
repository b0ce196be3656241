//! Trees of allowances. `model` is the tree in exact numbers, token by token; the rest are tests.

mod build;
mod change;
mod limits;
mod model;
mod promises;
mod schedules;
mod shifting;
mod stress;

use tollgate::Manual;
use tollgate::budget::tree::{Node, Share, Tree};

use crate::support::quota;

type Nodes<'a> = Node<'a, Manual>;

/// Three teams at 50, 30 and 20 % of `rate` tokens a second and a capacity of `capacity`, which hold so many tokens at most.
fn teams(rate: u64, capacity: u64, bursts: Option<[u64; 3]>) -> Tree<Manual> {
    let shares = [("research", 50), ("support", 30), ("batch", 20)];
    let mut tree = Tree::builder(quota(rate, crate::support::S, capacity)).clock(Manual::new());
    for (nth, (name, percent)) in shares.into_iter().enumerate() {
        let share = Share::percent(percent);
        tree = match bursts {
            Some(bursts) => tree.node(name, share.burst(bursts[nth])),
            None => tree.node(name, share),
        };
    }
    tree.build().unwrap()
}

fn node<'a>(tree: &'a Tree<Manual>, name: &str) -> Nodes<'a> {
    tree.node(name).unwrap_or_else(|| panic!("no node {name}"))
}
