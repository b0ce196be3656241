//! A server that limits work and is asked for more than it can do: what waits, for how long, and what is refused when.
//!
//!     cargo run --example queue --features tokio

use std::time::Duration;

use tollgate::wait::{Entry, Queue, Refused, Rest, TokioTimer};
use tollgate::{Bucket, Monotonic, quota};

type Work = Queue<Monotonic, TokioTimer>;

/// A caller of the server: its name, its class, and how long it is ready to wait.
const CALLERS: [(&str, u8, u64); 3] = [("user", 0, 300), ("report", 1, 1_000), ("backup", 3, 2_000)];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // 200 units a second, and nobody waits longer than a second and a half: 300 places.
    let queue = Queue::new(Bucket::new(quota!("200/s burst 20")), Duration::from_millis(1_500), TokioTimer);
    let mut calls = tokio::task::JoinSet::new();
    for round in 0..400_usize {
        for (caller, class, patience) in CALLERS {
            let entry = Entry::new(1).class(class).within(Duration::from_millis(patience));
            calls.spawn(call(queue.clone(), entry, caller));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        if round.is_multiple_of(100) {
            println!("{} wait, the oldest for {:?}", queue.len(), queue.age().unwrap_or_default());
        }
    }
    // Shutting down: nothing new, and who waits is still served.
    queue.close(Rest::Drain);
    let answers = calls.join_all().await;
    for (caller, ..) in CALLERS {
        let of_caller = |kind| answers.iter().filter(|answer| **answer == (caller, kind)).count();
        let [served, full, late] = ["served", "503", "504"].map(of_caller);
        println!("{caller:>6}: {served} served, {full} too many, {late} could not have been in time");
    }
    println!("{:?}", queue.outcomes());
}

/// One request, and what the server answers.
async fn call(queue: Work, entry: Entry, caller: &'static str) -> (&'static str, &'static str) {
    let answer = match queue.acquire(entry).await {
        Ok(()) => "served",
        // With `Retry-After: refused.retry_after()`.
        Err(Refused::Full(_) | Refused::Closed) => "503",
        Err(Refused::Hopeless(_)) => "504",
        Err(Refused::Never(_)) => "413",
    };
    (caller, answer)
}
