//! Requests of different cost: a server that limits language-model tokens, and a sender that limits bytes.
//!
//!     cargo run --example weighted

use std::thread;

use tollgate::{Bucket, Denied, quota};

fn main() {
    let tokens = Bucket::new(quota!("6k/min burst 2k"));
    for cost in [500, 1_200, 900, 300, 2_500, 0] {
        println!("{cost:>5} tokens: {}", answer(&tokens, cost));
    }

    let bytes = Bucket::new(quota!("1M/s burst 64k"));
    println!("sent 200 kB in {} pieces", send(&bytes, 200_000));
}

/// All of the cost or nothing of it. Each of the three refusals asks the caller for something else.
fn answer(tokens: &Bucket, cost: u64) -> String {
    match tokens.try_acquire_n(cost) {
        Ok(()) => "200 OK".into(),
        Err(Denied::NotYet(refusal) | Denied::NoRoom(refusal)) => {
            format!("429 Too Many Requests, Retry-After: {}", refusal.retry_after().as_secs())
        }
        Err(Denied::OverCapacity { capacity, .. }) => {
            format!("413 Content Too Large, at most {capacity} tokens")
        }
        Err(Denied::ZeroCost) => "400 Bad Request, nothing asked for".into(),
    }
}

/// Sends as many bytes as there are tokens, and waits for 16 kB when there are none.
fn send(bytes: &Bucket, mut rest: u64) -> u32 {
    let mut pieces = 0;
    while rest > 0 {
        let piece = bytes.acquire_up_to(rest);
        if piece == 0 {
            let wait = bytes.peek().wait_for(rest.min(16_000)).expect("16 kB are within the capacity");
            thread::sleep(wait);
            continue;
        }
        rest -= piece;
        pieces += 1;
    }
    pieces
}
