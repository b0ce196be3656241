//! Many threads, one tree: totals are exact and nobody ever sees a ceiling exceeded.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use tollgate::budget::{Ceilings, NoCall, Planned, Run, Spent, Trace};

use super::{keep, spent};

fn whole(trace: &Trace) -> Spent {
    let Trace { used, open, .. } = trace;
    spent(used.calls + open.calls, used.tokens + open.tokens, used.spend + open.spend)
}

/// Children of one run settle for less than they reserved, while others look: what is used and reserved is
/// below the ceilings in every look, and at the end the sums are those of the threads.
#[test]
fn totals_are_exact_and_no_look_sees_a_ceiling_exceeded() {
    let top = Run::new(&Ceilings::new().calls(3_000).tokens(40_000));
    let done = AtomicBool::new(false);
    let work = |tool: &'static str| {
        let run = top.child(&Ceilings::new().calls(1_500));
        let mut mine = spent(0, 0, 0);
        let ask = Planned::new(tool).tokens(20).spend(3);
        for round in 0..4_000_u64 {
            let [first, second] = match run.reserve([ask, Planned::new("ask").tokens(round % 30)]) {
                Ok(calls) => calls,
                Err(NoCall::Reserved(_)) => continue,
                Err(NoCall::Ended(_)) => break,
            };
            match round % 3 {
                0 => first.release(),
                1 => {
                    first.settle(round % 20, 1);
                    mine = spent(mine.calls + 1, mine.tokens + round % 20, mine.spend + 1);
                }
                _ => {
                    drop(first);
                    mine = spent(mine.calls + 1, mine.tokens + 20, mine.spend + 3);
                }
            }
            second.settle(0, 5);
            mine = spent(mine.calls + 1, mine.tokens, mine.spend + 5);
        }
        assert_eq!((run.spent(), run.trace().open), (mine, spent(0, 0, 0)));
        mine
    };
    let watch = || {
        while !done.load(Relaxed) {
            let trace = top.trace();
            let all = whole(&trace);
            assert!(all.calls <= 3_000 && all.tokens <= 40_000, "{trace}");
            let tools = trace.tools.iter().map(|tool| tool.used.calls + tool.open.calls).sum::<u64>();
            assert_eq!(tools, all.calls);
        }
    };
    let mine: Vec<_> = thread::scope(|scope| {
        let threads = ["search", "ask", "read", "search"].map(|tool| scope.spawn(move || work(tool)));
        scope.spawn(watch);
        let mine = threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>();
        done.store(true, Relaxed);
        mine.into_iter().map(Result::unwrap).collect()
    });
    let sum = |of: fn(&Spent) -> u64| mine.iter().map(of).sum::<u64>();
    let all = spent(sum(|spent| spent.calls), sum(|spent| spent.tokens), sum(|spent| spent.spend));
    assert_eq!((top.spent(), top.trace().open), (all, spent(0, 0, 0)));
    assert!(all.calls > 1_000, "{all:?}");
}

/// Fan-outs of three race for a hundred calls: 33 get them, one call is left, and whoever asks for three then
/// is over.
#[test]
fn fan_outs_do_not_share_what_only_one_can_have() {
    for _ in 0..50 {
        let top = Run::new(&Ceilings::new().calls_of("fetch", 100));
        let admitted = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let run = top.child(&Ceilings::new());
                    loop {
                        match run.reserve([Planned::new("fetch"); 3]) {
                            Ok(calls) => {
                                keep(calls);
                                admitted.fetch_add(1, Relaxed);
                            }
                            Err(NoCall::Reserved(_)) => thread::yield_now(),
                            // With 98 used, the last of 99 still open, three more never fit.
                            Err(NoCall::Ended(ended)) => break assert!(ended.used() >= 98),
                        }
                    }
                });
            }
        });
        assert_eq!((admitted.into_inner(), top.spent().calls, top.is_over()), (33, 99, false));
        assert!(top.call(Planned::new("fetch")).is_ok());
    }
}
