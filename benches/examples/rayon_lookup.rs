//! The look-up form inside `par_iter`: `cargo run --release -p tollgate-bench --example rayon_lookup`.
//!
//! Where the code that asks does not know which thread it runs on, the allowance finds the thread's shard by itself.

use std::time::Instant;

use rayon::prelude::*;
use tollgate::quota;
use tollgate::sharded::Sharded;

fn main() {
    let limit = Sharded::new(quota!("100k/s burst 5M"));
    let records: Vec<u64> = (0..10_000_000).collect();
    let start = Instant::now();
    let passed: Vec<&u64> = records.par_iter().filter(|_| limit.try_acquire().is_ok()).collect();
    let elapsed = start.elapsed();
    println!("{} of {} records passed in {elapsed:?}", passed.len(), records.len());

    // The workers go on living: have them give back what they did not spend.
    rayon::broadcast(|_| limit.park());
    println!("left in the root: {}", limit.peek().available());

    let issued = (start.elapsed().as_secs_f64() * 1e5) as usize;
    assert!(passed.len() <= 5_000_000 + issued, "never more than capacity and refill");
}
