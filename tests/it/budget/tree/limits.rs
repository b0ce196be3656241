//! Who is named, how long the wait is, what is borrowed from where, and who pays for what was not admitted.

use std::time::Duration;

use tollgate::budget::tree::{Limit, Refused, Share, Tree};
use tollgate::{Denied, Limiter, Manual, Nanos, Quota, quota};

use super::node;
use crate::support::{MS, S, YEAR, at, nanos};

fn planted(quota: Quota, nodes: &[(&str, tollgate::budget::tree::Grant)]) -> Tree<Manual> {
    let tree = Tree::builder(quota).clock(Manual::new());
    nodes.iter().fold(tree, |tree, &(name, grant)| tree.node(name, grant)).build().unwrap()
}

fn said(refused: Refused<'_>) -> (&str, Limit, Option<u64>) {
    (refused.node, refused.limit, refused.wait().map(|wait| u64::try_from(wait.as_nanos()).unwrap()))
}

#[test]
fn the_first_limit_on_the_way_is_named_with_the_longest_wait() {
    let half = Share::percent(50);
    let tree = planted(
        quota!("100/s"),
        &[
            ("a", half.ceiling(quota!("1/s burst 2"))),
            ("a/slow", half.ceiling(quota!("1/min"))),
            ("a/fast", half.ceiling(quota!("10/s burst 1"))),
        ],
    );
    let (slow, fast) = (node(&tree, "a/slow"), node(&tree, "a/fast"));
    slow.try_acquire().unwrap();
    assert_eq!(said(slow.try_acquire().unwrap_err()), ("a/slow", Limit::Ceiling, Some(60 * S)));
    fast.try_acquire().unwrap();
    // Its own ceiling would need 100 ms; that of `a` a second.
    assert_eq!(said(fast.try_acquire().unwrap_err()), ("a/fast", Limit::Ceiling, Some(S)));
    tree.clock().advance(nanos(500 * MS));
    assert_eq!(said(fast.try_acquire().unwrap_err()), ("a", Limit::Ceiling, Some(500 * MS)));
    assert_eq!(fast.try_acquire_n(2).unwrap_err().denied, Denied::OverCapacity { cost: 2, capacity: 1 });
    tree.clock().advance(nanos(500 * MS));
    fast.try_acquire().unwrap();
    assert_eq!(tree.root().peek().used(), 3, "refusals took nothing");
}

#[test]
fn the_pool_and_the_whole_are_told_apart() {
    let tree =
        planted(quota!("10/s"), &[("a", Share::percent(40).burst(4)), ("b", Share::percent(60).burst(3))]);
    let (a, b) = (node(&tree, "a"), node(&tree, "b"));
    a.try_acquire_n(7).unwrap();
    // Three are left, and they are b's. What is issued is half a's share until b takes some.
    assert_eq!(said(a.try_acquire().unwrap_err()), ("/", Limit::Pool, Some(100 * MS)));
    b.try_acquire_n(3).unwrap();
    assert_eq!(said(a.try_acquire().unwrap_err()), ("/", Limit::Total, Some(250 * MS)));
    assert_eq!(said(b.try_acquire().unwrap_err()), ("/", Limit::Total, Some(nanos_of(S, 6))));
    assert_eq!(tree.root().try_acquire().unwrap_err().limit, Limit::Total);
    // For ever: more than there is at most, by what is held for others and by all.
    assert_eq!(a.peek().max_cost(), 7);
    let never = |cost| a.try_acquire_n(cost).unwrap_err();
    assert_eq!(
        (never(8).limit, never(8).denied),
        (Limit::Pool, Denied::OverCapacity { cost: 8, capacity: 7 })
    );
    assert_eq!(
        (never(11).limit, never(11).denied),
        (Limit::Total, Denied::OverCapacity { cost: 11, capacity: 7 })
    );
    assert_eq!(never(0).denied, Denied::ZeroCost);
    assert_eq!(Limiter::try_acquire_n(&a, 0), Err(Denied::ZeroCost));
}

fn nanos_of(span: u64, parts: u64) -> u64 {
    span.div_ceil(parts)
}

#[test]
fn a_refusal_prints_itself() {
    let tree = planted(
        quota!("10/s burst 1"),
        &[("a", Share::percent(40))].map(|(name, share)| (name, share.burst(1))),
    );
    let a = node(&tree, "a");
    a.try_acquire().unwrap();
    let refused = a.try_acquire().unwrap_err();
    assert_eq!(refused.to_string(), "refused by the total of `/`: not yet: try again in 100ms");
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
}

#[test]
fn loans_come_from_every_pool_on_the_way_up() {
    let half = Share::percent(50);
    let tree = planted(
        quota!("100/s"),
        &[("a", half.burst(50)), ("a/x", half.burst(10)), ("a/y", half.burst(15)), ("b", half.burst(20))],
    );
    let (x, y, b) = (node(&tree, "a/x"), node(&tree, "a/y"), node(&tree, "b"));
    // Ten of its own, 25 of the pool of `a`, 30 of the root's.
    assert_eq!((x.peek().available(), x.peek().max_cost()), (65, 65));
    x.try_acquire_n(65).unwrap();
    let seen = |name| {
        let balance = node(&tree, name).peek();
        (balance.held(), balance.used(), balance.borrowed())
    };
    assert_eq!(seen("a/x"), (0, 65, 55));
    assert_eq!(seen("a"), (15, 65, 30));
    assert_eq!(seen("/"), (35, 65, 0));
    assert!(x.try_acquire().is_err());
    y.try_acquire_n(15).unwrap();
    b.try_acquire_n(20).unwrap();
    assert_eq!(seen("/"), (0, 100, 0));
}

/// The owner has been away while another took all there was. It has its burst at once, and its rate from then on.
#[test]
fn an_owner_that_returns_is_served_at_once() {
    let tree = planted(
        quota!("100/s"),
        &[("owner", Share::percent(25).burst(10)), ("borrower", Share::percent(75).burst(10))],
    );
    let (owner, borrower) = (node(&tree, "owner"), node(&tree, "borrower"));
    let greedy = || (0..).take_while(|_| borrower.try_acquire().is_ok()).count();
    assert_eq!(greedy(), 90);
    let mut taken = 0;
    for _ in 0..5000 {
        tree.clock().advance(nanos(MS));
        taken += greedy();
    }
    assert_eq!(taken, 500, "all of it");
    owner.try_acquire_n(10).unwrap();
    for token in 1..=100 {
        tree.clock().advance(nanos(40 * MS - 1));
        greedy();
        assert!(owner.try_acquire().is_err(), "{token}");
        tree.clock().advance(nanos(1));
        greedy();
        assert!(owner.try_acquire().is_ok(), "{token}");
    }
    assert_eq!(owner.peek().borrowed(), 0);
}

/// A node that is charged more than it could have borrowed owes it out of its own share; meanwhile the others may find so
/// much less, and no loan is given before that is made good.
#[test]
fn what_was_not_admitted_is_owed_by_who_used_it() {
    let tree =
        planted(quota!("100/s"), &[("a", Share::percent(50).burst(40)), ("b", Share::percent(50).burst(40))]);
    let (a, b) = (node(&tree, "a"), node(&tree, "b"));
    // Forty of its own and twenty of the pool; ten were held for `b`.
    a.charge(70);
    assert_eq!((a.peek().owed(), a.peek().used(), a.peek().borrowed()), (10, 70, 20));
    assert_eq!((b.peek().held(), b.peek().available()), (40, 30));
    assert_eq!(b.try_acquire_n(40).unwrap_err().limit, Limit::Total);
    b.try_acquire_n(30).unwrap();
    assert!(a.try_acquire().is_err() && b.try_acquire().is_err());
    // 10 tokens at 50/s are paid off in 200 ms; then b's hole is closed.
    tree.clock().advance(nanos(200 * MS));
    assert_eq!((a.peek().owed(), a.peek().held(), b.peek().held()), (0, 0, 20));
    b.try_acquire_n(20).unwrap();
    tree.root().charge(25);
    assert_eq!((tree.root().peek().owed(), a.peek().owed()), (25, 0));
}

/// A leaf may use what is held for it although its parent owes; but no loan comes on top of that while it is not there.
#[test]
fn nothing_is_lent_below_a_node_that_owes() {
    let half = Share::percent(50);
    let tree =
        planted(quota!("100/s"), &[("a", half.burst(40)), ("a/x", half.burst(20)), ("b", half.burst(40))]);
    let (a, x, b) = (node(&tree, "a"), node(&tree, "a/x"), node(&tree, "b"));
    // Twenty of its own pool and twenty of the root's; ten more are owed than `x` has.
    a.charge(70);
    tree.clock().advance(nanos(150 * MS));
    assert_eq!((a.peek().owed(), b.peek().held(), tree.root().peek().held()), (3, 40, 45));
    // Of the five that are held for nobody, none is left when `x` has taken its own.
    assert_eq!(said(x.try_acquire_n(21).unwrap_err()).1, Limit::Pool);
    assert_eq!(x.peek().available(), 20);
    x.try_acquire_n(20).unwrap();
}

#[test]
fn a_refund_fills_the_node_as_far_as_it_has_room() {
    let tree =
        planted(quota!("100/s"), &[("a", Share::percent(50).burst(10)), ("b", Share::percent(50).burst(10))]);
    let a = node(&tree, "a");
    a.try_acquire_n(30).unwrap();
    a.refund(25);
    assert_eq!((a.peek().held(), tree.root().peek().held(), a.peek().available()), (10, 95, 85));
    a.refund(25);
    assert_eq!((a.peek().held(), tree.root().peek().held()), (10, 100));
}

#[test]
fn an_older_reading_is_stricter_and_past_the_horizon_all_is_refused() {
    let tree =
        planted(quota!("10/s"), &[("a", Share::percent(50))].map(|(name, share)| (name, share.burst(5))));
    let a = node(&tree, "a");
    a.try_acquire_n_at(10, at(S)).unwrap();
    assert_eq!(said(a.try_acquire_at(at(S / 2)).unwrap_err()).2, Some(600 * MS));
    assert!(a.try_acquire_at(at(S + 100 * MS)).is_ok());
    assert_eq!(a.try_acquire_at(Nanos::MAX).unwrap_err().wait(), Some(Nanos::MAX.as_duration()));
    assert_eq!(a.peek_at(at(S + 100 * MS)).used(), 11);
    // It is no less exact after fifty years.
    let old = at(50 * YEAR);
    a.try_acquire_n_at(10, old).unwrap();
    assert_eq!(said(a.try_acquire_at(old).unwrap_err()).2, Some(100 * MS));
}

/// Debts saturate; they never turn into tokens.
#[test]
fn no_charge_wraps() {
    let tree = planted(quota!("10/s"), &[("a", Share::percent(50).burst(5))]);
    let a = node(&tree, "a");
    for _ in 0..100 {
        a.charge(u64::MAX);
        assert!(a.try_acquire().is_err());
        assert_eq!((a.peek().held(), a.peek().available(), tree.root().peek().held()), (0, 0, 0));
    }
    assert!(a.peek().owed() > 0);
    assert_eq!(a.peek().used(), u64::MAX);
    a.refund(u64::MAX);
    let _ = (a.try_acquire(), a.peek(), tree.root().peek());
}
