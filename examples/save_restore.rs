//! A limit that outlives the process: save what the bucket holds, and restore it after a restart.
//!
//!     cargo run --example save_restore --features serde

use std::error::Error;
use std::time::Duration;

use tollgate::{Bucket, Quota, Snapshot, quota};

const LIMIT: Quota = quota!("10/day burst 5");

/// Longer than any restart takes. If the wall clock claims more, no more than this is refilled.
const LONGEST_RESTART: Duration = Duration::from_secs(3600);

fn main() -> Result<(), Box<dyn Error>> {
    let saved = before_the_restart()?;
    println!("saved {saved}");
    after_the_restart(&saved)
}

fn before_the_restart() -> Result<String, Box<dyn Error>> {
    let bucket = Bucket::new(LIMIT);
    bucket.try_acquire_n(3)?;
    Ok(serde_json::to_string(&bucket.snapshot())?)
}

fn after_the_restart(saved: &str) -> Result<(), Box<dyn Error>> {
    let snapshot: Snapshot = serde_json::from_str(saved)?;
    let bucket = Bucket::new(LIMIT);
    bucket.restore(&snapshot, LONGEST_RESTART)?;
    println!("restored with {} of {} tokens", bucket.peek().available(), LIMIT.capacity());

    // A limit that was changed meanwhile is not restored silently; the new bucket keeps its initial fill.
    let changed = Bucket::new(quota!("20/day burst 5"));
    if let Err(error) = changed.restore(&snapshot, LONGEST_RESTART) {
        println!("not restored: {error}");
    }
    Ok(())
}
