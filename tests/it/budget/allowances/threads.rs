//! Calls beside reloads on several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use tollgate::Clock;
use tollgate::budget::allowances::Allowances;

use super::{allowances, config, there};
use crate::oracle::Oracle;
use crate::support::{S, Scale, over_the_bound};

fn file(rate: &str, limit: u32, more: &str) -> String {
    format!(
        "[allowance.tokens]\nunit = \"tokens\"\nrate = \"{rate}\"\n[allowance.slots]\nunit = \"permits\"\nin-flight = {limit}\n\
         {more}[tool.work]\nuses = {{ tokens = \"tokens\", slots = 1 }}\n"
    )
}

const MORE: &str = "[allowance.more]\nunit = \"calls\"\nrate = \"5/s\"\n[tool.more]\nuses = { more = 1 }\n";

/// The clock stands still: at the end exactly what was settled is missing, after any number of changes of the rate.
#[test]
fn reloads_refill_nothing_and_lose_nothing() {
    const BURST: u64 = 100_000;
    let allowances = allowances(&file("1/s burst 100k", 3, ""));
    let files =
        [file("3/s burst 100k", 2, MORE), file("700/min burst 100k", 3, ""), file("1/s burst 100k", 1, MORE)];
    let (used, running) = (AtomicU64::new(0), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    let work = |thread: u64| {
        for round in 0..1_500 {
            let Ok(grants) = allowances.call("work").estimate(20 + thread).try_acquire() else { continue };
            assert!(running.fetch_add(1, Relaxed) < 3, "never more than the highest limit");
            let actual = 10 + round % 30;
            running.fetch_sub(1, Relaxed);
            match round % 3 {
                0 => grants.release(),
                1 => drop(used.fetch_add(20 + thread, Relaxed)),
                _ => {
                    grants.settle(actual);
                    used.fetch_add(actual, Relaxed);
                }
            }
        }
    };
    thread::scope(|scope| {
        let reloads = scope.spawn(|| {
            let mut reloads = 0;
            while !is_over.load(Relaxed) {
                allowances.reload(config(&files[reloads % files.len()]));
                reloads += 1;
            }
            reloads
        });
        let workers = [0, 1, 2].map(|thread| scope.spawn(move || work(thread)));
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        is_over.store(true, Relaxed);
        assert!(reloads.join().unwrap() > 0);
    });
    allowances.reload(config(&file("1/s burst 100k", 3, "")));
    assert_eq!(there(&allowances, ["tokens", "slots"]), [BURST - used.into_inner(), 3]);
}

/// On a real clock, with every admission logged: the bound of the highest rate holds in every interval.
#[test]
fn the_bound_holds_beside_reloads() {
    const RATE: u64 = 1_000_000;
    let text = |rate| config(&file(rate, 1000, ""));
    let allowances = Allowances::new(text("1M/s burst 500"));
    let log: Vec<_> = thread::scope(|scope| {
        let work = || {
            let ask = |_| {
                let now = allowances.clock().now();
                allowances.call("work").estimate(7).try_acquire_at(now).is_ok().then_some((now.as_u64(), 7))
            };
            (0..4_000).filter_map(ask).collect::<Vec<_>>()
        };
        let workers = [(); 2].map(|()| scope.spawn(work));
        for _ in 0..200 {
            for rate in ["1/day burst 500", "300k/s burst 400", "1M/s burst 500"] {
                allowances.reload(text(rate));
            }
        }
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(log.len() >= 71, "the first burst alone is 71: {}", log.len());
    let model = Oracle::new(RATE, S.into(), 500);
    assert_eq!(over_the_bound(&log, &model, Scale::of(RATE, S, 500)), None);
}
