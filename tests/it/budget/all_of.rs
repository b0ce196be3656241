//! Several limits at once: all or none, the refusing one named, the largest wait told.

use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::budget::{AllOf, BySize, Demand, Reason, Unsettled, acquire_all};
use tollgate::inflight::InFlight;
use tollgate::{Bucket, Denied, Manual};

use super::{available, budget};
use crate::support::{MINUTE, S, at, bucket, quota};

fn left(bucket: &Bucket<Manual>) -> u64 {
    bucket.peek().available()
}

#[test]
fn each_refuses_in_turn_and_the_others_are_as_they_were() {
    let (requests, tokens) = (bucket(quota(1, S, 10)), budget(1, S, 100));
    let running = InFlight::new(2).unwrap();
    let limits = AllOf::new(["requests", "tokens", "running"], (&requests, &tokens, &running));
    let state = || (left(&requests), available(&tokens), running.in_use());
    let held = limits.try_acquire([1, 60, 1]).unwrap();
    assert_eq!(state(), (9, 40, 1));
    for (costs, name, wait) in [
        ([10, 40, 1], "requests", Some(Duration::from_secs(1))),
        ([9, 41, 1], "tokens", Some(Duration::from_secs(1))),
        ([9, 40, 2], "running", Some(Duration::ZERO)),
        ([9, 40, 3], "running", None),
        ([11, 40, 1], "requests", None),
        ([9, 40, u64::MAX], "running", None),
        ([0, 40, 1], "requests", None),
        // Two refuse: the larger wait, whichever comes first; one that never will admit; work in flight last.
        ([10, 70, 1], "tokens", Some(Duration::from_secs(30))),
        ([10, 41, 3], "running", None),
        ([10, 41, 2], "requests", Some(Duration::from_secs(1))),
    ] {
        let refused = limits.try_acquire(costs).map(|_| ()).unwrap_err();
        assert_eq!((refused.name(), refused.wait()), (name, wait), "{costs:?}");
        assert_eq!(state(), (9, 40, 1), "{costs:?}");
    }
    let (_request, call, permit) = held;
    assert_eq!(call.settle(5).unwrap().given_back, 55);
    drop(permit);
    assert_eq!(state(), (9, 95, 0));
}

#[test]
fn a_refusal_says_which_and_when() {
    let (requests, tokens) = (bucket(quota(1, S, 10)), budget(1, S, 100));
    let limits = AllOf::new(["requests", "tokens"], (&requests, &tokens));
    let refused = limits.try_acquire([1, 101]).map(|_| ()).unwrap_err();
    assert_eq!(refused.place(), 1);
    assert_eq!(refused.reason(), Reason::Denied(Denied::OverCapacity { cost: 101, capacity: 100 }));
    assert_eq!(refused.retry_after(), None);
    let text = "refused by `tokens`: cost 101 is above the capacity of 100 and will never be admitted";
    assert_eq!(refused.to_string(), text);
    drop(limits.try_acquire([10, 1]).unwrap());
    requests.clock().set(at(S / 2));
    let refused = limits.try_acquire([1, 1]).map(|_| ()).unwrap_err();
    assert_eq!(refused.wait(), Some(Duration::from_millis(500)));
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
}

#[test]
fn c111_nobody_is_charged_for_what_another_refuses() {
    let (first, second) = (bucket(quota(10, S, 10)), bucket(quota(2, S, 2)));
    let limits = AllOf::new(["first", "second"], (&first, &second));
    assert!(limits.try_acquire([1, 1]).is_ok() && limits.try_acquire([1, 1]).is_ok());
    let refused = limits.try_acquire([1, 1]).map(|_| ()).unwrap_err();
    assert_eq!((refused.name(), refused.wait()), ("second", Some(Duration::from_millis(500))));
    assert_eq!((left(&first), left(&second)), (8, 0));
}

#[test]
fn c112_refused_calls_do_not_eat_the_long_budget() {
    for order in [false, true] {
        let (short, long) = (bucket(quota(10, MINUTE, 10)), bucket(quota(30, 30 * MINUTE, 30)));
        let (first, second) = if order { (&short, &long) } else { (&long, &short) };
        let limits = AllOf::new(["first", "second"], (first, second));
        let admitted = (0..20).filter(|_| limits.try_acquire([1, 1]).is_ok()).count();
        assert_eq!((admitted, left(&short), left(&long)), (10, 0, 20));
    }
}

#[test]
fn c113_what_is_refused_in_flight_is_not_charged_to_the_rate() {
    for rate_first in [false, true] {
        let (rate, running) = (bucket(quota(2, MINUTE, 2)), InFlight::new(1).unwrap());
        let ask = || {
            if rate_first {
                let limits = AllOf::new(["rate", "running"], (&rate, &running));
                limits.try_acquire([1, 1]).map(|(_, permit)| permit)
            } else {
                let limits = AllOf::new(["running", "rate"], (&running, &rate));
                limits.try_acquire([1, 1]).map(|(permit, _)| permit)
            }
        };
        let first = ask().unwrap();
        assert_eq!(left(&rate), 1);
        assert_eq!(ask().map(drop).unwrap_err().name(), "running");
        assert_eq!(left(&rate), 1);
        drop(first);
        rate.clock().set(at(S));
        assert!(ask().is_ok());
        assert_eq!(left(&rate), 0);
    }
}

#[test]
fn large_requests_refuse_no_small_one() {
    let (small, large) = (bucket(quota(100, S, 100)), bucket(quota(100, S, 100)));
    let (requests, pools) = (bucket(quota(1_000, S, 1_000)), BySize::new(&small, &large, 50));
    let ask =
        |cost| AllOf::new(["requests", "pool"], (&requests, pools.of(cost))).try_acquire([1, cost]).is_ok();
    let mut refused = (0, 0);
    for tick in 0..600 {
        [&small, &large, &requests].iter().for_each(|bucket| bucket.clock().set(at(tick * S / 10)));
        // Six of 50 in a second, three times what the pool refills, and small ones at their whole rate.
        refused.0 += u32::from(tick % 5 < 3 && !ask(100));
        refused.1 += u32::from(!ask(10));
    }
    assert_eq!(refused.1, 0, "small ones refused");
    assert!(refused.0 > 200, "{}", refused.0);
}

#[test]
fn a_list_of_any_kinds_admits_all_or_none() {
    let (requests, tokens) = (bucket(quota(1, S, 10)), budget(1, S, 100));
    let running = InFlight::new(1).unwrap();
    let demands = |cost| {
        [
            Demand { name: "requests", limit: &requests, cost: 1 },
            Demand { name: "tokens", limit: &tokens, cost },
            Demand { name: "running", limit: &running, cost: 1 },
        ]
    };
    let grants = acquire_all(&demands(60)).unwrap();
    assert_eq!(acquire_all(&demands(50)).map(drop).unwrap_err().name(), "tokens");
    assert_eq!(acquire_all(&demands(40)).map(drop).unwrap_err().name(), "running");
    assert_eq!((left(&requests), available(&tokens), running.in_use()), (9, 40, 1));
    let settled: Vec<_> = grants.into_iter().map(|grant| grant.settle(7).map(Result::unwrap)).collect();
    assert!(settled[0].is_none() && settled[2].is_none());
    assert_eq!(settled[1].unwrap().given_back, 53);
    assert_eq!((left(&requests), available(&tokens), running.in_use()), (9, 93, 0));
    assert_eq!(acquire_all(&[]).unwrap().len(), 0);
}

/// Must show 8: a bucket, shards, a window and permits, each of which refuses in turn.
#[cfg(all(feature = "sharded", feature = "window"))]
#[test]
fn a_bucket_shards_a_window_and_permits_refuse_in_turn() {
    use tollgate::sharded::{Plan, Sharded};
    use tollgate::window::{Every, Fixed};

    let minute = Every::new(Duration::from_secs(60)).unwrap();
    let shared = quota(1, S, 1_000);
    for plan in [Plan::for_threads(&shared, 4), Plan::for_threads(&quota(1, S, 20), 4)] {
        let (requests, window) =
            (bucket(quota(1, S, 10)), Fixed::with_clock(50, minute, Manual::new()).unwrap());
        let (shards, running) = (Sharded::with_plan(plan, Manual::new()), InFlight::new(3).unwrap());
        let limits =
            AllOf::new(["requests", "shards", "window", "running"], (&requests, &shards, &window, &running));
        let state = || (left(&requests), shards.peek().available(), window.peek().used(), running.in_use());
        let most = shards.max_cost();
        for cost in [1, 3, most] {
            let held = limits.try_acquire([1, cost, 5, 1]);
            assert!(held.is_ok() || cost == most, "{cost}: {held:?}");
        }
        let before = state();
        for (costs, name) in [
            ([11, 1, 1, 1], "requests"),
            ([1, most + 1, 1, 1], "shards"),
            ([1, 1, 51, 1], "window"),
            ([1, 1, 1, 4], "running"),
        ] {
            let refused = limits.try_acquire(costs).map(drop).unwrap_err();
            assert_eq!((refused.name(), refused.wait()), (name, None), "{costs:?}");
            assert_eq!(state(), before, "{costs:?}");
        }
    }
}

/// A limit that others have passed before refuses at its charge: what the others took is back.
#[cfg(all(feature = "sharded", feature = "window"))]
#[test]
fn what_was_taken_is_put_back_when_a_later_limit_is_overtaken() {
    use tollgate::budget::{CallTime, Grant, Limit, Reading};
    use tollgate::sharded::{Plan, Sharded};
    use tollgate::window::{Every, Fixed, SlidingCounter, SlidingLog};

    /// It looks open, and refuses.
    struct Overtaken;

    struct Nothing;

    impl Grant for Nothing {
        fn settle(self, _: u64) -> Option<Result<tollgate::budget::Settled, tollgate::budget::Late>> {
            None
        }
    }

    impl Limit for Overtaken {
        type Held<'a> = Nothing;

        fn reading(&self, _: &mut CallTime) -> Reading {
            None
        }

        fn look(&self, _: u64, _: Reading) -> Result<(), Reason> {
            Ok(())
        }

        fn take(&self, _: u64, _: Reading) -> Result<Nothing, Reason> {
            Err(Reason::Denied(Denied::ZeroCost))
        }

        fn undo(&self, _: Nothing) {}
    }

    let second = Every::new(Duration::from_secs(1)).unwrap();
    let fixed = Fixed::with_clock(10, second, Manual::new()).unwrap();
    let counter = SlidingCounter::with_clock(10, second, Manual::new()).unwrap();
    let log = SlidingLog::with_clock(10, Duration::from_secs(1), Manual::new()).unwrap();
    let shards = Sharded::with_plan(Plan::for_threads(&quota(1, S, 1_000), 4), Manual::new());
    let requests = bucket(quota(1, S, 10));
    for cost in [1, 7, 10, shards.max_cost()] {
        let small = cost.min(10);
        let limits = AllOf::new(
            ["shards", "fixed", "counter", "log", "requests", "overtaken"],
            (&shards, &fixed, &counter, &log, &requests, &Overtaken),
        );
        let refused = limits.try_acquire([cost, small, small, small, small, 1]).map(drop).unwrap_err();
        assert_eq!(refused.name(), "overtaken");
        let used = [fixed.peek().used(), counter.peek().used(), log.peek().used()];
        assert_eq!((used, left(&requests)), ([0; 3], 10), "{cost}");
        let all = shards.acquire_up_to(u64::MAX);
        assert_eq!(all, shards.max_cost(), "{cost}");
        shards.refund(all);
    }
}

/// A window settles too: a surplus comes back to its own minute, and to no other.
#[cfg(feature = "window")]
#[test]
fn what_is_taken_of_a_window_is_settled_in_it() {
    use tollgate::budget::Grant;
    use tollgate::window::{Every, Fixed};

    let window = Fixed::with_clock(100, Every::new(Duration::from_secs(60)).unwrap(), Manual::new()).unwrap();
    let requests = bucket(quota(1, S, 10));
    let take = || AllOf::new(["spend", "requests"], (&window, &requests)).try_acquire([40, 1]).unwrap().0;
    let (surplus, overrun) = (take(), take());
    assert!(surplus.settle(15).is_none() && overrun.settle(50).is_none());
    assert_eq!(window.peek().used(), 65);
    let passes = AllOf::new(["spend", "requests"], (&window, &requests)).try_acquire([30, 1]).unwrap().0;
    window.clock().advance(Duration::from_secs(60));
    assert!(passes.settle(0).is_none());
    assert_eq!(window.peek().used(), 0, "that minute is over");
}

proptest! {
    /// Any costs of any of three limits: admitted exactly if each alone would admit, and otherwise nothing has changed.
    #[test]
    fn all_or_none(steps in prop::collection::vec((0..12_u64, 0..12_u64, 0..5_u64, 0..3_u64), 1..40)) {
        let (first, second) = (bucket(quota(1, 1, 10)), budget(1, 3, 8));
        let running = InFlight::new(3).unwrap();
        let limits = AllOf::new(["first", "second", "running"], (&first, &second, &running));
        let (mut held, mut now) = (Vec::new(), 0);
        for (a, b, c, later) in steps {
            now += later;
            first.clock().set(at(now));
            second.clock().set(at(now));
            let each = [
                first.peek().wait_for(a) == Ok(Duration::ZERO),
                second.peek().wait_for(b) == Ok(Duration::ZERO),
                c > 0 && c <= u64::from(running.available()),
            ];
            let before = (first.peek(), second.peek(), running.in_use());
            match limits.try_acquire([a, b, c]) {
                Ok(grants) => {
                    prop_assert!(each.iter().all(|&admits| admits));
                    held.push(grants);
                }
                Err(refused) => {
                    prop_assert!(!each[refused.place()]);
                    prop_assert_eq!((first.peek(), second.peek(), running.in_use()), before);
                }
            }
            if held.len() > 2 {
                drop(held.remove(0));
            }
        }
    }
}

/// Two that want the same in opposite orders, many times: no deadlock, and together never more than there is.
#[test]
fn opposite_orders_neither_deadlock_nor_share_what_only_one_can_have() {
    let (a, b) = (bucket(quota(1, 3600 * S, 1)), budget(1, 3600 * S, 1));
    let gate = std::sync::Barrier::new(2);
    let admitted = std::sync::atomic::AtomicU64::new(0);
    let run = |forward: bool| {
        for _ in 0..2_000 {
            gate.wait();
            let ok = if forward {
                AllOf::new(["a", "b"], (&a, &b)).try_acquire([1, 1]).map(|(_, call)| call.keep()).is_ok()
            } else {
                AllOf::new(["b", "a"], (&b, &a)).try_acquire([1, 1]).map(|(call, _)| call.keep()).is_ok()
            };
            admitted.fetch_add(u64::from(ok), std::sync::atomic::Ordering::Relaxed);
            if gate.wait().is_leader() {
                a.reset();
                let missing = 1 - available(&b);
                let full = b.clock();
                full.advance(Duration::from_secs(3600 * missing));
                a.clock().advance(Duration::from_secs(3600 * missing));
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| run(false));
        run(true);
    });
    let admitted = admitted.into_inner();
    assert!(admitted <= 2_000, "{admitted}");
    assert!(admitted > 1_000, "both step back only when they meet: {admitted}");
}

/// C78: a stream holds its permit and its reservation until its body ends, and what it used is charged then.
#[test]
fn c78_a_stream_is_settled_when_its_body_ends() {
    for (more_at_start, left_at_end) in [(0, 700), (600, 200)] {
        let (tokens, running) = (budget(1000, MINUTE, 1000), InFlight::new(2).unwrap());
        let limits = AllOf::new(["tokens", "running"], (&tokens, &running));
        let (call, permit) = limits.try_acquire([400, 1]).unwrap();
        tokens.charge(more_at_start);
        tokens.clock().set(at(S / 10));
        assert_eq!(running.in_use(), 1, "the headers are sent, the body is not");
        tokens.clock().set(at(30 * S));
        let settled = call.settle(700).unwrap();
        drop(permit);
        assert_eq!((settled.overrun, running.in_use(), available(&tokens)), (300, 0, left_at_end));
    }
}

/// C80: 52 cancelled reservations of 10 each leave what was there.
#[test]
fn c80_cancelled_reservations_leave_nothing_behind() {
    use tollgate::budget::Budget;
    let builder = Budget::builder(quota(1, 3600 * S, 800)).dropped(Unsettled::Refund);
    let budget = builder.build_with_clock(Manual::new()).unwrap();
    budget.charge(280);
    for _ in 0..52 {
        drop(budget.reserve(10).unwrap());
    }
    assert_eq!(available(&budget), 520);
}
