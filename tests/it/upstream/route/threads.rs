//! Threads: one probe at a time, and charges to the token.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::upstream::{Backoff, Cost, Dimension, Router};
use tollgate::{Manual, Quota};

use super::support::{MS, ONE, OnManual, SECOND, answer, left, mirror};

const THREADS: u64 = 4;
const CALLS: u64 = 1_000;
const LIMIT: u64 = 1_000_000;

/// Nothing is there again within a test.
fn router(clock: &Arc<Manual>) -> OnManual {
    let quota = Quota::with_burst(1, Duration::from_secs(366 * 86_400), LIMIT).unwrap();
    let upstream = || mirror(clock, &[(Dimension::Requests, quota)]);
    let builder = Router::builder().upstream(upstream()).upstream(upstream()).slow_start(u32::MAX, SECOND);
    builder.failures(1).cooling(Backoff::new(MS, MS)).probe(3_600 * SECOND).build().unwrap()
}

/// The first upstream is dead: whatever goes there after its first failure is a probe, and there is one at a time.
#[test]
fn one_probe_at_a_time() {
    let clock = Arc::new(Manual::new());
    let (router, on_their_way) = (router(&clock), AtomicUsize::new(0));
    router.try_send(&ONE).unwrap().unreachable();
    let call = |is_first_thread: bool| {
        let mut hops = router.hops(&ONE);
        let hop = hops.try_next().unwrap();
        if hop.upstream() == 1 {
            answer(hop, 200, &[]);
            return 0;
        }
        assert_eq!(on_their_way.fetch_add(1, Ordering::SeqCst), 0, "one probe");
        thread::yield_now();
        on_their_way.fetch_sub(1, Ordering::SeqCst);
        hop.unreachable();
        if is_first_thread {
            clock.advance(MS);
        }
        assert_eq!(hops.try_next().unwrap().upstream(), 1);
        1
    };
    let probes: u64 = thread::scope(|scope| {
        let run = |nth| {
            let (call, clock) = (&call, &clock);
            move || {
                (0..CALLS)
                    .map(|_| {
                        if nth == 0 {
                            clock.advance(MS);
                        }
                        call(nth == 0)
                    })
                    .sum::<u64>()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|nth| scope.spawn(run(nth))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(probes > 0, "the clock went on");
    assert_eq!((left(&router, 0), left(&router, 1)), (LIMIT, LIMIT - THREADS * CALLS));
}

/// Both are well, and every third call comes back as never sent.
#[test]
fn charges_are_exact() {
    let clock = Arc::new(Manual::new());
    let router = router(&clock);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let router = &router;
            scope.spawn(move || {
                for nth in 0..CALLS {
                    let hop = router.try_send(&Cost::requests(1 + thread)).unwrap();
                    match nth % 3 {
                        0 => hop.not_sent(),
                        1 => drop(hop),
                        _ => drop(answer(hop, 200, &[])),
                    }
                }
            });
        }
    });
    let charged = CALLS * 2 / 3 * (1..=THREADS).sum::<u64>();
    assert_eq!((left(&router, 0), left(&router, 1)), (LIMIT - charged, LIMIT));
}
