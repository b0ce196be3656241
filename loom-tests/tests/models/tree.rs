//! A tree of allowances: numbers of several nodes that change together, under a lock, and are read without it.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::budget::tree::{Share, Tree};
use tollgate::{Manual, Quota};
use tollgate_loom_tests::{explore, leak, race2};

type Planted = &'static Tree<Manual>;

/// A token a nanosecond, `capacity` of them, of which one is held for the only node and the rest for nobody. Few nodes, for
/// loom tries what every one of their numbers can be; whoever asks at the root borrows as a sibling would.
fn tree(capacity: u64) -> Planted {
    let quota = Quota::with_burst(1, Duration::from_nanos(1), capacity).expect("a valid quota");
    let tree = Tree::builder(quota).clock(Manual::new()).node("a", Share::percent(50).burst(1)).build();
    leak(tree.expect("a valid tree"))
}

fn acquire(tree: Planted, name: &str, cost: u64) -> bool {
    tree.node(name).is_some_and(|node| node.try_acquire_n(cost).is_ok())
}

fn held(tree: Planted) -> Vec<u64> {
    tree.nodes().map(|node| node.peek().held()).collect()
}

/// The one token in the pool is lent once, and the owner's own is not.
#[test]
fn the_last_loan_is_wanted_by_two() {
    let outcomes = explore("tree_last_loan", || {
        let tree = tree(2);
        let won = race2(move || acquire(tree, "a", 2), move || acquire(tree, "/", 1));
        (won, held(tree))
    });
    let all = [((true, false), vec![0, 0]), ((false, true), vec![1, 1])];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// While an owner takes its own, there is always one in the pool: before, after, and at no moment between.
#[test]
fn an_owner_and_a_borrower() {
    let outcomes = explore("tree_owner_borrower", || {
        let tree = tree(2);
        let won = race2(move || acquire(tree, "a", 1), move || acquire(tree, "/", 1));
        (won, held(tree))
    });
    assert_eq!(outcomes, BTreeSet::from([((true, true), vec![0, 0])]));
}

/// So it is while an owner gives its own back: a refusal must not come from the root before and the owner after it.
#[test]
fn a_refund_beside_a_borrower() {
    let outcomes = explore("tree_refund_borrower", || {
        let tree = tree(2);
        assert!(acquire(tree, "a", 1));
        let refund = move || tree.node("a").into_iter().for_each(|a| a.refund(1));
        let ((), won) = race2(refund, move || acquire(tree, "/", 1));
        (won, held(tree))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, vec![1, 1])]));
}

/// A change of shares is seen whole or not at all: the owner may hold twice as much after it, and holds what it held.
#[test]
fn a_change_of_shares_beside_a_borrower() {
    let outcomes = explore("tree_change_borrower", || {
        let quota = Quota::with_burst(1, Duration::from_nanos(1), 4).expect("a valid quota");
        let tree = Tree::builder(quota).clock(Manual::new()).node("a", Share::percent(25)).build();
        let tree = leak(tree.expect("a valid tree"));
        assert!(acquire(tree, "/", 1));
        let change = move || tree.set_shares([("a", Share::percent(50))]).is_ok();
        let won = race2(change, move || acquire(tree, "/", 2));
        (won, held(tree))
    });
    assert_eq!(outcomes, BTreeSet::from([((true, true), vec![1, 1])]));
}
