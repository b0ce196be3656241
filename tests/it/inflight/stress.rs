//! Real threads and a real runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use tollgate::inflight::InFlight;

/// What runs at once, and the most that ever did.
#[derive(Default)]
struct Peak {
    now: AtomicU32,
    most: AtomicU32,
    total: AtomicU64,
}

impl Peak {
    fn enter(&self, weight: u32) {
        let now = self.now.fetch_add(weight, Ordering::SeqCst) + weight;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.total.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self, weight: u32) {
        self.now.fetch_sub(weight, Ordering::SeqCst);
    }
}

/// Eight clones of the limit, each with four tasks for each core.
#[tokio::test(flavor = "multi_thread")]
async fn the_peak_is_never_above_the_limit() {
    const CLONES: usize = 8;
    const ROUNDS: u32 = 50;
    let cores = thread::available_parallelism().map_or(2, usize::from);
    for limit in [1, 4, 7] {
        let shared = Arc::new(InFlight::new(limit).unwrap().max_waiting(usize::MAX));
        let peak = Arc::new(Peak::default());
        let tasks = (0..CLONES).map(|_| Arc::clone(&shared)).flat_map(|limit| vec![limit; 4 * cores]);
        let tasks: Vec<_> = tasks
            .enumerate()
            .map(|(number, shared)| {
                let peak = Arc::clone(&peak);
                tokio::spawn(async move {
                    for round in 0..ROUNDS {
                        let weight = 1 + (number as u32 + round) % limit.min(3);
                        let permit = shared.acquire_n_owned(weight).await.unwrap();
                        peak.enter(weight);
                        tokio::task::yield_now().await;
                        peak.leave(weight);
                        drop(permit);
                    }
                })
            })
            .collect();
        let count = tasks.len() as u64;
        for task in tasks {
            task.await.unwrap();
        }
        let (most, total) = (peak.most.load(Ordering::SeqCst), peak.total.load(Ordering::SeqCst));
        assert!(most <= limit, "{most} of {limit}");
        assert_eq!(most, limit, "the limit is used");
        assert_eq!(total, count * u64::from(ROUNDS));
        assert_eq!((shared.in_use(), shared.waiting()), (0, 0));
    }
}

/// Threads that try, while another moves the limit up and down.
#[test]
fn a_moving_limit_holds_at_every_moment() {
    const HIGH: u32 = 6;
    let (limit, peak) = (InFlight::new(HIGH).unwrap(), Peak::default());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for turn in 0..20_000 {
                    let weight = 1 + turn % 3;
                    if let Ok(permit) = limit.try_acquire_n(weight) {
                        peak.enter(weight);
                        peak.leave(weight);
                        drop(permit);
                    }
                }
            });
        }
        scope.spawn(|| {
            for turn in 0..20_000 {
                limit.set_limit(1 + turn % HIGH).unwrap();
            }
        });
    });
    assert!(peak.most.load(Ordering::SeqCst) <= HIGH);
    assert!(peak.total.load(Ordering::SeqCst) > 0);
    assert_eq!(limit.in_use(), 0);
}
