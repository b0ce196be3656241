//! A tree of allowances: numbers of several nodes that change together, under a lock, and are read without it.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::budget::tree::{Share, Tree};
use tollgate::{Manual, Quota};
use tollgate_loom_tests::{explore, leak, race2};

type Planted = &'static Tree<Manual>;

/// A token a nanosecond, three of them: one held for each of `a` and `b`, and one for nobody.
fn tree() -> Planted {
    let quota = Quota::with_burst(1, Duration::from_nanos(1), 3).expect("a valid quota");
    let tree = Tree::builder(quota).clock(Manual::new());
    let tree = tree.node("a", Share::percent(50).burst(1)).node("b", Share::percent(50).burst(1));
    leak(tree.build().expect("a valid tree"))
}

fn acquire(tree: Planted, name: &str, cost: u64) -> bool {
    tree.node(name).is_some_and(|node| node.try_acquire_n(cost).is_ok())
}

fn held(tree: Planted) -> Vec<u64> {
    tree.nodes().map(|node| node.peek().held()).collect()
}

/// The one token in the pool is lent once, and nobody's own is lent.
#[test]
fn the_last_loan_is_wanted_by_two() {
    let outcomes = explore("tree_last_loan", || {
        let tree = tree();
        let won = race2(move || acquire(tree, "a", 2), move || acquire(tree, "b", 2));
        (won, held(tree))
    });
    let all = [((true, false), vec![1, 0, 1]), ((false, true), vec![1, 1, 0])];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// While an owner takes its own, there is always one to be borrowed: before, after, and at no moment between.
#[test]
fn an_owner_and_a_borrower() {
    let outcomes = explore("tree_owner_borrower", || {
        let tree = tree();
        let won = race2(move || acquire(tree, "a", 1), move || acquire(tree, "b", 2));
        (won, held(tree))
    });
    assert_eq!(outcomes, BTreeSet::from([((true, true), vec![0, 0, 0])]));
}

/// So it is while an owner gives its own back: a refusal must not come from the root before and the owner after it.
#[test]
fn a_refund_beside_a_borrower() {
    let outcomes = explore("tree_refund_borrower", || {
        let tree = tree();
        assert!(acquire(tree, "a", 1));
        let refund = move || tree.node("a").into_iter().for_each(|a| a.refund(1));
        let ((), won) = race2(refund, move || acquire(tree, "b", 2));
        (won, held(tree))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, vec![1, 1, 0])]));
}
