//! Shards: what they and the root hold together is never more than the capacity.
//!
//! The tests look at handles; a look-up finds its shard by the thread's number, which the standard library's lock hands
//! out, and then does the same.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::sharded::{Plan, Shard};
use tollgate::{Clock, Manual, Quota};
use tollgate_loom_tests::atomic::{AtomicBool, Ordering};
use tollgate_loom_tests::{at, explore, leak, race2, race3};

type Sharded = tollgate::sharded::Sharded<&'static Manual>;

/// A token every nanosecond; two shards of up to four tokens; `capacity - 8` at the root.
fn sharded(capacity: u64) -> &'static Sharded {
    let quota = Quota::with_burst(1, Duration::from_nanos(1), capacity).expect("a valid quota");
    let plan = Plan::new(&quota, 2, 4).expect("a valid plan");
    leak(Sharded::with_plan(plan, leak(Manual::new())))
}

fn taken(shard: &Shard<&'static Manual>, calls: u64) -> u64 {
    (0..calls).filter(|_| shard.try_acquire().is_ok()).count() as u64
}

/// Two shards draw while the root has much: every token is at the root, in a shard, or spent.
#[test]
fn drawing_moves_tokens_and_makes_none() {
    let outcomes = explore("shards_draw", || {
        let limit = sharded(40);
        let (left, right) = (limit.shard(), limit.shard());
        let spend = |shard: Shard<&'static Manual>| move || (taken(&shard, 2), shard);
        let ((first, left), (second, right)) = race2(spend(left), spend(right));
        (first, second, left.credit() + right.credit() + limit.peek().available())
    });
    assert_eq!(outcomes, BTreeSet::from([(2, 2, 28)]));
}

/// Three tokens at the root, two shards that want two each. A draw that gave credit before it charged the root would
/// give a fourth.
#[test]
fn the_last_tokens_are_drawn_once() {
    let outcomes = explore("shards_draw_the_last_tokens", || {
        let limit = sharded(11);
        let (left, right) = (limit.shard(), limit.shard());
        let spend = |shard: Shard<&'static Manual>| move || taken(&shard, 2);
        race2(spend(left), spend(right))
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 2), (2, 1)]));
}

/// One shard is dropped with credit while the other draws and time passes.
#[test]
fn returning_beside_a_draw_and_a_refill() {
    let outcomes = explore("shards_return_draw_refill", || {
        let limit = sharded(40);
        let (left, right) = (limit.shard(), limit.shard());
        let spent = taken(&left, 1);
        let draw = move || (taken(&right, 1), right);
        let ((), (drawn, right), ()) = race3(move || drop(left), draw, || limit.clock().set(at(3)));
        let held = right.credit() + limit.peek().available();
        assert!(held <= 40, "{held} of 40");
        (spent + drawn, held, limit.clock().now().as_u64())
    });
    // Three tokens came; the root is full again at 32 unless the return found it full already.
    assert!(
        outcomes.iter().all(|&(spent, held, now)| spent == 2 && held <= 32 + 3 && now == 3),
        "{outcomes:?}"
    );
    assert!(outcomes.contains(&(2, 33, 3)), "{outcomes:?}");
}

/// A shard with credit obeys a pause that its call happens after, and returns the credit.
#[test]
fn a_pause_reaches_leased_credit() {
    let outcomes = explore("shards_pause", || {
        let (limit, paused) = (sharded(40), leak(AtomicBool::new(false)));
        let shard = limit.shard();
        assert_eq!((taken(&shard, 1), shard.credit()), (1, 3));
        let pause = move || {
            limit.pause_until(at(9));
            paused.store(true, Ordering::Release);
        };
        let ask = move || {
            let paused = paused.load(Ordering::Acquire);
            (paused, shard.try_acquire().is_ok(), shard)
        };
        let ((), (paused, admitted, shard)) = race2(pause, ask);
        (paused, admitted, shard.credit(), shard.credit() + limit.peek().available())
    });
    let all = [(true, false, 0, 31), (false, false, 0, 31), (false, true, 2, 30)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// Two pauses at once: a shard that has caught up with one still sees the other.
#[test]
fn two_pauses_reach_leased_credit() {
    let outcomes = explore("shards_two_pauses", || {
        let limit = sharded(40);
        let shard = limit.shard();
        assert_eq!(taken(&shard, 1), 1);
        let pause = move |until| move || limit.pause_until(at(until));
        let ask = move || (shard.try_acquire().is_ok(), shard);
        let ((), (), (_, shard)) = race3(pause(5), pause(9), ask);
        let refused = shard.try_acquire().err().and_then(|denied| denied.wait());
        (shard.credit(), refused)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, Some(Duration::from_nanos(9)))]));
}

/// A place is one handle's at a time.
#[test]
fn places_are_claimed_once() {
    let outcomes = explore("shards_claim_places", || {
        let limit = sharded(40);
        let other = limit.shard();
        let ask = move || {
            let shard = limit.shard();
            (taken(&shard, 1), shard.credit() > 0, shard)
        };
        let ((first, leased_first, a), (second, leased_second, b)) = race2(ask, ask);
        let held = a.credit() + b.credit() + other.credit() + limit.peek().available();
        (first + second, u64::from(leased_first) + u64::from(leased_second), held)
    });
    assert_eq!(outcomes, BTreeSet::from([(2, 1, 30)]));
}
