//! Ways to wait for a limit: a booking that says when, a thread that sleeps, a task that does, even spacing, and a retry
//! hint for those who are refused.
//!
//!     cargo run --example waiting --features tokio

use std::error::Error;
use std::time::{Duration, Instant};

use tollgate::wait::{Jitter, Pace};
use tollgate::{Bucket, quota};

fn main() -> Result<(), Box<dyn Error>> {
    let limit = Bucket::new(quota!("20/s burst 2"));
    let longest = Duration::from_millis(200);

    // A booking: the place is taken now, the work starts when it is due.
    let first = limit.book(2, longest)?;
    let second = limit.book(2, longest)?;
    println!("booked: the first starts in {:?}, the second in {:?}", first.wait(), second.wait());
    second.cancel();

    // A thread.
    let start = Instant::now();
    limit.acquire_blocking_n(2, longest)?;
    println!("blocked for {:?}", start.elapsed());

    // Patience has an end, and the refusal comes at once. The hint for the caller is spread a little.
    if let Err(denied) = limit.acquire_blocking(Duration::from_millis(1)) {
        let hint = denied.retry_after().map(|hint| Jitter::new().spread(hint));
        println!("{denied}; tell the client to come back in {hint:?}");
    }

    // Tasks: first come, first served.
    tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
        let start = Instant::now();
        let task = async |name: &str, cost| {
            let answer = limit.acquire_n(cost).within(Duration::from_secs(1)).await;
            println!("task {name} after {:?}: {answer:?}", start.elapsed());
        };
        tokio::join!(task("of 2", 2), task("of 1", 1), task("of 3, which never fits,", 3));
    });

    // Even spacing, from the first on.
    let pace = Pace::new(quota!("20/s burst 2"));
    let start = Instant::now();
    for _ in 0..3 {
        pace.acquire_blocking_n(1, Duration::MAX)?;
        println!("paced: {:?}", start.elapsed());
    }
    Ok(())
}
