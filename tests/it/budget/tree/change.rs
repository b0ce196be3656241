//! Shares that change while the tree is used: nothing is refilled, and the shares are checked as when it is built.

use tollgate::Manual;
use tollgate::budget::tree::{Share, Tree};

use super::{node, teams};
use crate::support::{MS, S, nanos, quota};

fn held(tree: &Tree<Manual>) -> Vec<u64> {
    tree.nodes().map(|node| node.peek().held()).collect()
}

#[test]
fn nothing_is_refilled() {
    let tree = teams(100, 100, None);
    node(&tree, "research").try_acquire_n(45).unwrap();
    assert_eq!(held(&tree), [55, 5, 30, 20]);
    tree.set_shares([("research", Share::percent(10)), ("batch", Share::percent(60))]).unwrap();
    assert_eq!(held(&tree), [55, 5, 30, 20]);
    assert_eq!(node(&tree, "batch").peek().burst(), 60);
    tree.clock().advance(nanos(100 * MS));
    assert_eq!(held(&tree), [65, 6, 30, 26]);
}

/// What a smaller burst has no room for goes to the pool.
#[test]
fn what_does_not_fit_can_be_borrowed() {
    let tree = teams(100, 100, None);
    let batch = node(&tree, "batch");
    batch.try_acquire_n(20).unwrap();
    assert!(batch.try_acquire().is_err());
    tree.set_shares([("research", Share::percent(40))]).unwrap();
    assert_eq!(held(&tree), [80, 40, 30, 0]);
    batch.try_acquire_n(10).unwrap();
    assert_eq!((batch.peek().borrowed(), batch.peek().available()), (10, 0));
}

#[test]
fn the_same_shares_change_nothing() {
    let tree = teams(100, 100, None);
    node(&tree, "research").try_acquire_n(45).unwrap();
    tree.clock().advance(nanos(7));
    let before = format!("{tree:?}");
    for _ in 0..100 {
        tree.set_shares([("research", Share::of(1, 2))]).unwrap();
        tree.set_shares([]).unwrap();
    }
    assert_eq!(format!("{tree:?}"), before);
    assert_eq!(node(&tree, "research").try_acquire_n(6).unwrap_err().wait(), Some(nanos(10 * MS - 7)));
}

#[test]
fn shares_above_the_whole_change_nothing() {
    let tree = teams(100, 100, None);
    let before = format!("{tree:?}");
    let fails = |shares: &[(&str, Share)], expected: &str| {
        let error = tree.set_shares(shares.iter().copied()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(format!("{tree:?}"), before);
    };
    let above = "the share 20/100 of `batch`: it must be at most what its siblings leave, 199999 parts per million of their parent";
    fails(&[("research", Share::ppm(500_001))], above);
    fails(&[("research", Share::percent(10)), ("nobody", Share::percent(10))], "there is no node `nobody`");
    fails(&[("/", Share::percent(10))], "there is no node `/`");
    fails(
        &[("research", Share::percent(0))],
        "the share 0/100 of `research`: it must be above zero and at most the whole",
    );
    fails(
        &[("research", Share::ppm(1))],
        "the share of `research` holds less than 1 token: give it a burst of at least 1",
    );
    tree.set_shares([("research", Share::ppm(499_999)), ("batch", Share::ppm(200_001))]).unwrap();
}

/// A node's share is one of its parent, so it changes with the parent's; bursts that were stated stay.
#[test]
fn shares_below_follow() {
    let half = Share::percent(50);
    let tree = Tree::builder(quota(100, S, 100)).clock(Manual::new());
    let tree = tree.node("a", half).node("a/x", half).node("a/y", half.burst(3)).build().unwrap();
    for name in ["a/x", "a/y"] {
        node(&tree, name).try_acquire_n(3).unwrap();
    }
    node(&tree, "a").try_acquire_n(22 + 50).unwrap();
    node(&tree, "a/x").try_acquire_n(22).unwrap();
    assert_eq!(held(&tree), [0, 0, 0, 0]);
    tree.set_shares([("a", Share::percent(100))]).unwrap();
    let bursts: Vec<_> = tree.nodes().map(|node| node.peek().burst()).collect();
    assert_eq!(bursts, [100, 100, 50, 3]);
    tree.clock().advance(nanos(40 * MS));
    assert_eq!(held(&tree), [4, 4, 2, 2]);
    tree.set_shares([("a", Share::percent(50))]).unwrap();
    tree.clock().advance(nanos(80 * MS));
    assert_eq!(held(&tree), [12, 8, 4, 3]);
}

/// The names may come from the tree itself while it is changed.
#[test]
fn the_list_of_shares_may_look_at_the_tree() {
    let tree = teams(100, 100, None);
    let halved = tree.nodes().skip(1).map(|node| {
        let burst = u32::try_from(node.peek().burst()).unwrap();
        node.try_acquire().unwrap();
        (node.name(), Share::percent(burst / 2))
    });
    tree.set_shares(halved).unwrap();
    assert_eq!(held(&tree), [97, 25, 15, 10]);
}

/// Many changes there and back, and no part is lost or made.
#[test]
fn there_and_back_gives_nothing() {
    let tree = teams(100, 100, Some([10, 10, 10]));
    while tree.root().try_acquire().is_ok() {}
    for name in ["research", "support", "batch"] {
        node(&tree, name).try_acquire_n(10).unwrap();
    }
    for nth in 0..1000_u32 {
        let third = [Share::of(1, 3), Share::percent(50)][nth as usize % 2];
        tree.set_shares([("research", third)]).unwrap();
        assert!(tree.nodes().all(|node| node.peek().held() == 0));
    }
    tree.clock().advance(nanos(20 * MS));
    assert_eq!(held(&tree), [2, 1, 0, 0]);
}
