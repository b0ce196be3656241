//! Threads that ask one tree at once. What is asserted does not depend on how they take turns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate::budget::tree::{Share, Tree};
use tollgate::{Clock, Manual};

use super::{node, teams};
use crate::oracle::Oracle;
use crate::support::{MS, S, Scale, nanos, over_the_bound};

const NAMES: [&str; 3] = ["research", "support", "batch"];

/// At a standing clock every round shares out exactly what is there, and each owner finds what is held for it. (Ten
/// milliseconds bring each a whole number of tokens, so that no parts are left over.)
#[test]
fn threads_share_exactly_what_is_there() {
    let tree = teams(1000, 200, Some([50, 30, 20]));
    let mut total = 0;
    for round in 0..40_u64 {
        let there = tree.root().peek().held();
        let held = NAMES.map(|name| node(&tree, name).peek().held());
        let got = NAMES.map(|_| AtomicU64::new(0));
        thread::scope(|scope| {
            for (name, got) in NAMES.iter().zip(&got).chain(NAMES.iter().zip(&got)) {
                let node = node(&tree, name);
                scope.spawn(move || {
                    while node.try_acquire().is_ok() {
                        got.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let got = got.map(AtomicU64::into_inner);
        assert_eq!(got.iter().sum::<u64>(), there, "round {round}");
        for ((got, held), name) in got.into_iter().zip(held).zip(NAMES) {
            assert!(got >= held, "round {round}: {name} got {got} of {held}");
        }
        total += there;
        assert_eq!(tree.root().peek().used(), total);
        tree.clock().advance(nanos(round * 10 * MS));
    }
}

/// The clock moves, shares change, work is charged and given back. Every reading of every admission is logged.
#[test]
fn the_bound_holds_beside_changes() {
    let tree = teams(1000, 50, None);
    let left = AtomicU64::new(3);
    let mut admitted = Vec::new();
    thread::scope(|scope| {
        let ask = |name| {
            let (node, clock) = (node(&tree, name), tree.clock());
            let mut admitted = Vec::new();
            for turn in 0..2000_u64 {
                let (now, cost) = (clock.now(), 1 + turn % 3);
                if node.try_acquire_n_at(cost, now).is_ok() {
                    admitted.push((now.as_u64(), cost));
                }
            }
            left.fetch_sub(1, Ordering::Release);
            admitted
        };
        let asking: Vec<_> = NAMES.into_iter().map(|name| scope.spawn(move || ask(name))).collect();
        scope.spawn(|| {
            for turn in 0.. {
                tree.clock().advance(nanos(MS / 4));
                let part = 10 + turn % 40;
                tree.set_shares([("research", Share::percent(part)), ("batch", Share::percent(70 - part))])
                    .unwrap();
                assert_eq!(tree.nodes().count(), 4);
                if left.load(Ordering::Acquire) == 0 {
                    break;
                }
                thread::yield_now();
            }
        });
        for asking in asking {
            admitted.extend(asking.join().unwrap());
        }
    });
    let model = Oracle::new(1000, S.into(), 50);
    assert_eq!(over_the_bound(&admitted, &model, Scale::of(1000, S, 50)), None);
    let used: u64 = admitted.iter().map(|admission| admission.1).sum();
    assert_eq!(tree.root().peek().used(), used);
    assert_eq!(NAMES.map(|name| node(&tree, name).peek().used()).iter().sum::<u64>(), used);
    assert!(used >= 50);
}

/// A look shows one moment: what the root has used is what its children have.
#[test]
fn a_tree_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let tree: Tree<Manual> = teams(10, 10, None);
    shared(&tree);
    shared(&tree.root());
}
