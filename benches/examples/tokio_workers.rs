//! The look-up form on tokio's worker threads: `cargo run --release -p tollgate-bench --example tokio_workers`.
//!
//! A task may wake up on another worker after each `await`, so tasks look the shard up: it is the worker's, not theirs. A
//! worker that has nothing to do gives its credit back before it sleeps, so that nothing lies idle with it.

use std::time::Instant;

use tollgate::quota;
use tollgate::sharded::Sharded;

const TASKS: u64 = 100;
const REQUESTS: u64 = 50_000;

fn main() -> std::io::Result<()> {
    let limit = Sharded::new(quota!("1M/s burst 2M"));
    let idle = limit.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread().on_thread_park(move || idle.park()).build()?;

    let start = Instant::now();
    let admitted = runtime.block_on(admitted_to_all(&limit));
    let elapsed = start.elapsed();
    println!("{admitted} of {} requests admitted in {elapsed:?}", TASKS * REQUESTS);

    drop(runtime);
    println!("left in the root: {}", limit.peek().available());

    let issued = (elapsed.as_secs_f64() * 1e6) as u64;
    assert!(admitted <= 2_000_000 + issued, "never more than capacity and refill");
    Ok(())
}

async fn admitted_to_all(limit: &Sharded) -> u64 {
    let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(admitted_to_one(limit.clone()))).collect();
    let mut admitted = 0;
    for task in tasks {
        admitted += task.await.expect("no task panics");
    }
    admitted
}

async fn admitted_to_one(limit: Sharded) -> u64 {
    let mut admitted = 0;
    for request in 0..REQUESTS {
        admitted += u64::from(limit.try_acquire().is_ok());
        if request % 1000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    admitted
}
