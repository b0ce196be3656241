//! A shard for each worker of a rayon pool: `cargo run --release -p tollgate-bench --example rayon_broadcast`.
//!
//! Every worker takes a handle of its own and works off a common heap of packets until the allowance refuses one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use tollgate::quota;
use tollgate::sharded::Sharded;

const PACKETS: u64 = 50_000_000;

fn main() {
    let limit = Sharded::new(quota!("1M/s burst 40M"));
    println!("{:?}", limit.plan());
    let (taken, start) = (AtomicU64::new(0), Instant::now());
    let sent_by_each = rayon::broadcast(|_| {
        // Made on the worker: it is for one thread at a time, and gives its credit back at the end.
        let shard = limit.shard();
        let mut sent = 0_u64;
        while taken.fetch_add(64, Relaxed) < PACKETS {
            // A batch at once: as many as are there.
            let batch = shard.acquire_up_to(64);
            sent += batch;
            if batch < 64 {
                break;
            }
        }
        sent
    });
    let (sent, elapsed) = (sent_by_each.iter().sum::<u64>(), start.elapsed());
    println!("sent {sent} of {PACKETS} packets in {elapsed:?}, by worker {sent_by_each:?}");
    println!("left in the root: {}", limit.peek().available());

    let issued = (elapsed.as_secs_f64() * 1e6) as u64;
    assert!(sent <= 40_000_000 + issued, "never more than capacity and refill");
}
