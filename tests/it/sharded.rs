//! `sharded`: one allowance leased to shards, under the bound of one bucket.

use std::sync::Barrier;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::sharded::{Plan, PlanError, Shard, Sharded};
use tollgate::{Bucket, Clock, Denied, Fill, Manual, Monotonic, Quota, quota};

use crate::support::{S, at, nanos};

fn sharded(quota: Quota, shards: u32, ceiling: u64) -> Sharded<Manual> {
    let plan = Plan::new(&quota, shards, ceiling).unwrap();
    Sharded::with_plan(plan, Manual::new())
}

#[test]
fn the_plan_divides_the_capacity() {
    let whole = quota!("1M/s");
    let plan = Plan::for_threads(&whole, 8);
    assert_eq!((plan.shards(), plan.ceiling(), plan.root_capacity()), (8, 15_625, 875_000));
    let wanted = PlanError { capacity: 1_000_000, shards: 8, ceiling: 125_000 };
    assert_eq!(Plan::new(&whole, 8, 125_000), Err(wanted));
    assert!(wanted.to_string().contains("8 shards of 125000 tokens"), "{wanted}");
    assert_eq!(Plan::new(&whole, 8, 124_999).unwrap().root_capacity(), 8);
    assert_eq!(Plan::new(&whole, u32::MAX, u64::MAX).unwrap_err().ceiling, u64::MAX);
}

#[test]
fn a_small_capacity_is_a_plain_bucket_and_says_so() {
    for (capacity, plain) in [(1, true), (31, true), (32, false)] {
        let plan = Plan::for_threads(&quota!("1G/s").burst(capacity).unwrap(), 4);
        assert_eq!(plan.is_plain(), plain, "{capacity}");
    }
    let limit = sharded(quota!("2/s burst 3"), 0, 7);
    assert!(limit.plan().is_plain());
    assert_eq!(limit.max_cost(), 3);
    let shard = limit.shard();
    let answers = [shard.try_acquire(), limit.try_acquire(), shard.try_acquire()];
    assert_eq!(answers, [Ok(()); 3]);
    let refusals = [limit.try_acquire(), shard.try_acquire()];
    assert_eq!(refusals.map(|refusal| refusal.unwrap_err().wait()), [Some(nanos(S / 2)); 2]);
}

/// The worked example of the docs.
#[test]
fn what_one_shard_alone_bursts() {
    let limit = Sharded::with_plan(Plan::for_threads(&quota!("1M/s"), 8), Manual::new());
    let fresh = limit.shard();
    assert_eq!(fresh.acquire_up_to(u64::MAX), 875_000);
    let idle: Vec<_> = (0..7).map(|_| limit.shard()).collect();
    for shard in &idle {
        limit.refund(15_625);
        assert!(shard.try_acquire_n(15_625).is_ok());
        assert_eq!(shard.credit(), 0);
    }
    assert_eq!(limit.try_acquire_n(875_001), Err(Denied::OverCapacity { cost: 875_001, capacity: 875_000 }));
    assert_eq!(fresh.try_acquire_n(0), Err(Denied::ZeroCost));
    assert_eq!(limit.try_acquire_n(0), Err(Denied::ZeroCost));
}

#[test]
fn draws_shrink_as_the_root_empties() {
    let limit = sharded(quota!("1000/s burst 1000"), 2, 100);
    let shard = limit.shard();
    let mut draws = Vec::new();
    while shard.try_acquire_n(10).is_ok() {
        let credit = shard.credit();
        draws.push(credit + 10);
        while shard.credit() >= 10 {
            shard.try_acquire_n(10).unwrap();
        }
    }
    assert_eq!(draws.first(), Some(&100));
    // What was left over from the draw before, less than a cost, comes on top.
    assert!(draws.windows(2).all(|pair| pair[1] < pair[0] + 10), "{draws:?}");
    assert_eq!(draws.last(), Some(&10));
    assert_eq!(shard.credit() + limit.peek().available(), 0);
}

#[test]
fn a_wait_counts_the_credit_that_is_there() {
    let limit = sharded(quota!("1000/s burst 1000"), 1, 100);
    let shard = limit.shard();
    shard.try_acquire_n(70).unwrap();
    assert_eq!(shard.credit(), 30);
    limit.peek();
    assert_eq!(limit.acquire_up_to(u64::MAX), 800);
    let refusal = shard.try_acquire_n(50).unwrap_err();
    assert_eq!((refusal.wait(), shard.credit()), (Some(Duration::from_millis(20)), 30));
    assert!(shard.try_acquire_n(30).is_ok());
}

#[test]
fn a_shard_returns_its_credit_when_it_is_parked_or_dropped() {
    let limit = sharded(quota!("1/s burst 1000"), 2, 100);
    let shard = limit.shard();
    shard.try_acquire().unwrap();
    let (credit, left) = (shard.credit(), limit.peek().available());
    assert_eq!((credit, credit + left), (99, 799));
    shard.park();
    assert_eq!((shard.credit(), limit.peek().available()), (0, 799));
    shard.try_acquire().unwrap();
    drop(shard);
    assert_eq!(limit.peek().available(), 798);
    limit.try_acquire().unwrap();
    assert!(limit.peek().available() < 797);
    limit.park();
    assert_eq!(limit.peek().available(), 797);
}

#[test]
fn more_shards_than_places_go_to_the_root() {
    let limit = sharded(quota!("1/s burst 1000"), 2, 100);
    let shards: Vec<_> = (0..4).map(|_| limit.shard()).collect();
    for shard in &shards {
        shard.try_acquire().unwrap();
    }
    assert_eq!(shards.iter().filter(|shard| shard.credit() > 0).count(), 2);
    let all: u64 = shards.iter().map(Shard::credit).sum::<u64>() + limit.peek().available();
    assert_eq!(all, 796);
    drop(shards);
    assert_eq!(limit.shard().acquire_up_to(u64::MAX), 796);
}

/// A pause reaches credit that has been drawn: the next call returns it and asks the root.
#[test]
fn a_pause_reaches_leased_credit() {
    let limit = sharded(quota!("1000/s burst 1000"), 2, 100);
    let shard = limit.shard();
    shard.try_acquire().unwrap();
    limit.try_acquire().unwrap();
    assert!(shard.credit() > 0);
    limit.pause_until(at(S));
    for refusal in [shard.try_acquire(), limit.try_acquire(), shard.try_acquire_n(50)] {
        assert_eq!(refusal.unwrap_err().wait(), Some(nanos(S)));
    }
    assert_eq!((shard.acquire_up_to(9), limit.acquire_up_to(9), shard.credit()), (0, 0, 0));
    assert_eq!(limit.peek().available(), 798);
    limit.resume();
    assert!(shard.try_acquire().is_ok() && limit.try_acquire().is_ok());
}

#[test]
fn an_initial_fill_is_the_roots() {
    let whole = quota!("1/s burst 100");
    let filled = |fill| sharded(whole.fill(fill).unwrap(), 2, 10).acquire_up_to(u64::MAX);
    assert_eq!([Fill::Full, Fill::Empty, Fill::Tokens(7), Fill::Tokens(90)].map(filled), [80, 0, 7, 80]);
}

#[test]
fn a_batch_takes_credit_first_and_never_a_debt() {
    let limit = sharded(quota!("1/s burst 1000"), 1, 100);
    let shard = limit.shard();
    shard.try_acquire_n(60).unwrap();
    assert_eq!((shard.acquire_up_to(30), shard.credit()), (30, 10));
    assert_eq!(shard.acquire_up_to(0), 0);
    assert_eq!(shard.acquire_up_to(2000), 810);
    assert_eq!((shard.acquire_up_to(1), shard.credit(), limit.peek().debt()), (0, 0, 0));
    limit.charge(5);
    assert_eq!((limit.peek().debt(), shard.acquire_up_to(1)), (5, 0));
}

#[derive(Clone, Debug)]
enum Step {
    Take(usize, u64),
    UpTo(usize, u64),
    Park(usize),
    Replace(usize),
    LookUp(u64),
    Pause(u64),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3_usize, 1..40_u64).prop_map(|(shard, cost)| Step::Take(shard, cost)),
        2 => (0..3_usize, 0..60_u64).prop_map(|(shard, most)| Step::UpTo(shard, most)),
        1 => (0..3_usize).prop_map(Step::Park),
        1 => (0..3_usize).prop_map(Step::Replace),
        2 => (1..40_u64).prop_map(Step::LookUp),
        1 => (0..30_u64).prop_map(Step::Pause),
        3 => (0..50_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    /// `A <= B` after every step, and no interval admits more than `B + r*t`.
    #[test]
    fn what_is_held_never_exceeds_the_capacity(shards in 1..4_u32, ceiling in 1..30_u64, steps in steps()) {
        const MILLISECOND: u64 = 1_000_000;
        let limit = sharded(quota!("1000/s burst 100"), shards, ceiling);
        let mut handles: Vec<_> = (0..3).map(|_| limit.shard()).collect();
        let (mut now, mut log) = (0, Vec::new());
        for step in steps {
            let before: u64 = handles.iter().map(Shard::credit).sum();
            let mut admitted = 0;
            match step {
                Step::Take(shard, cost) => {
                    if handles[shard].try_acquire_n(cost).is_ok() { admitted = cost }
                }
                Step::UpTo(shard, most) => admitted = handles[shard].acquire_up_to(most),
                Step::Park(shard) => handles[shard].park(),
                Step::Replace(shard) => handles[shard] = limit.shard(),
                Step::LookUp(cost) => if limit.try_acquire_n(cost).is_ok() { admitted = cost },
                Step::Pause(span) => limit.pause_until(at((now + span) * MILLISECOND)),
                Step::Wait(span) => now += span,
            }
            limit_clock(&limit, now * MILLISECOND);
            let held: u64 = handles.iter().map(Shard::credit).sum();
            prop_assert!(held + limit.peek().available() <= 100, "{held} in shards, {before} before");
            prop_assert!(handles.iter().all(|shard| shard.credit() <= ceiling));
            log.push((now, admitted));
        }
        for (first, &(start, _)) in log.iter().enumerate() {
            let mut sum = 0;
            for &(end, admitted) in &log[first..] {
                sum += admitted;
                prop_assert!(sum <= 100 + (end - start), "{sum} in {start}..={end}");
            }
        }
    }
}

fn limit_clock(limit: &Sharded<Manual>, now: u64) {
    limit.clock().set(at(now));
}

/// Threads with handles, threads that look up, more of both than places: every admission stamped before and after.
#[test]
fn the_bound_of_one_bucket_holds_for_all_threads() {
    let whole = quota!("200k/s burst 2k");
    let limit = Sharded::with_plan(Plan::new(&whole, 3, 80).unwrap(), Monotonic::new());
    let log = hammer(&limit, |limit| {
        let shard = limit.shard();
        move || shard.try_acquire_n(3).is_ok()
    });
    assert_eq!(over_the_bound(&log, 3, &whole), None);
    // At least what a fresh root holds, less what may lie in shards.
    let admitted = log.len() as u64 * 3;
    assert!(admitted + 3 * 80 >= limit.max_cost(), "{admitted}");
}

/// The twin: shards that fill themselves beside a root of the whole capacity. The same check must catch it.
#[test]
fn credit_beside_a_whole_root_is_caught() {
    let whole = quota!("200k/s burst 2k");
    let root = Bucket::new(whole);
    let limit = Sharded::with_plan(Plan::new(&whole, 3, 80).unwrap(), Monotonic::new());
    let log = hammer(&limit, |_| {
        let mut credit = 600;
        let root = &root;
        move || {
            credit = if credit >= 3 { credit - 3 } else { 0 };
            credit > 0 || root.try_acquire_n(3).is_ok()
        }
    });
    assert!(over_the_bound(&log, 3, &whole).is_some());
}

/// Readings before and after each admission, by six threads that call for a while.
fn hammer<F: FnMut() -> bool>(limit: &Sharded, caller: impl Fn(&Sharded) -> F + Sync) -> Vec<(u64, u64)> {
    let (clock, start) = (Monotonic::new(), Barrier::new(6));
    let mut log = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let (clock, start, caller) = (&clock, &start, &caller);
                scope.spawn(move || {
                    let mut log = Vec::new();
                    let mut handle = caller(limit);
                    start.wait();
                    for _ in 0..4_000 {
                        let before = clock.now().as_u64();
                        let admitted =
                            if thread % 3 == 2 { limit.try_acquire_n(3).is_ok() } else { handle() };
                        if admitted {
                            log.push((before, clock.now().as_u64()));
                        }
                    }
                    log
                })
            })
            .collect();
        for thread in threads {
            log.extend(thread.join().unwrap());
        }
    });
    log
}

/// The first interval in which more admissions of `cost` both began and ended than the bound allows.
fn over_the_bound(log: &[(u64, u64)], cost: u64, quota: &Quota) -> Option<(u64, u64)> {
    let mut by_end = log.to_vec();
    by_end.sort_unstable_by_key(|&(_, after)| after);
    let starts = log.iter().step_by(1 + log.len() / 400).map(|&(before, _)| before);
    let rate = quota.tokens() as f64 / quota.period().as_nanos() as f64;
    for start in starts {
        let mut sum = 0;
        for &(before, after) in by_end.iter().filter(|&&(before, _)| before >= start) {
            sum += cost;
            if sum as f64 > quota.capacity() as f64 + rate * (after - start) as f64 + 1.0 {
                return Some((start, before));
            }
        }
    }
    None
}

#[test]
fn shards_and_the_whole_are_limiters() {
    fn ask(limiter: &impl tollgate::Limiter) -> [Result<(), Denied>; 3] {
        [limiter.try_acquire_n(2), limiter.try_acquire(), limiter.try_acquire_n(7)]
    }
    let never = Err(Denied::OverCapacity { cost: 7, capacity: 6 });
    let limit = sharded(quota!("1/s burst 10"), 2, 2);
    assert_eq!(ask(&limit), [Ok(()), Ok(()), never]);
    assert_eq!(ask(&limit.shard()), [Ok(()), Ok(()), never]);
    let (whole, shard) = (ask(&limit), ask(&limit.shard()));
    assert!(whole[0].is_err() && shard[0].is_err() && shard[1].is_err(), "{whole:?} {shard:?}");
}
