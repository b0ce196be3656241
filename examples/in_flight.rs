//! Work in flight: a limit, a line before it, and a limit that finds its own height.
//!
//!     cargo run --example in_flight --features inflight

use std::sync::Arc;
use std::time::Duration;

use tollgate::inflight::{Adaptive, Bounds, Gradient, InFlight, NoPermit, Outcome, OwnedPermit};

/// A response whose body streams: the permit is in the body, not in the handler.
struct Response {
    chunks: std::ops::Range<u32>,
    _permit: OwnedPermit,
}

fn handle(limit: &Arc<InFlight>) -> Result<Response, NoPermit> {
    let permit = limit.try_acquire_owned()?;
    Ok(Response { chunks: 0..3, _permit: permit })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limit = Arc::new(InFlight::new(2)?.max_waiting(8));

    let (first, second) = (handle(&limit)?, handle(&limit)?);
    println!("two bodies stream: {} of {} in use", limit.in_use(), limit.limit());
    if let Err(refusal) = handle(&limit) {
        println!("the third: {refusal}");
    }
    println!("the first ends after {} chunks, the second is dropped", first.chunks.count());
    drop(second);

    // Six workers on two permits: each waits for its turn, at most a second.
    let workers: Vec<_> = (0..6)
        .map(|number| {
            let limit = Arc::clone(&limit);
            tokio::spawn(async move {
                let patience = tokio::time::sleep(Duration::from_secs(1));
                match limit.acquire_until(1, patience).await {
                    Ok(_permit) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        println!("worker {number}: done, {} still wait", limit.waiting());
                    }
                    Err(refusal) => println!("worker {number}: {refusal}"),
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }

    // The limit goes up while the far end keeps up, and down when it does not.
    let adaptive = Adaptive::new(Gradient::default(), Bounds::new(1, 4, 64)?);
    for latency in [10, 10, 10, 50, 50, 10].map(Duration::from_millis) {
        let permits: Vec<_> = std::iter::from_fn(|| adaptive.try_acquire().ok()).collect();
        for permit in permits {
            permit.finish_after(latency, Outcome::Success);
        }
        println!("after calls of {latency:?}: a limit of {}", adaptive.limit());
    }
    Ok(())
}
