//! When an upstream answers `429 Too Many Requests` with a `Retry-After`, every caller stops until then.
//!
//!     cargo run --example upstream_pause
//!
//! Time is simulated, so that the program need not sleep: with `Bucket::new` in place of `Bucket::with_clock`,
//! sleep where this one advances the clock.

use std::time::Duration;

use tollgate::{Bucket, Clock, Manual, quota};

fn main() {
    let clock = Manual::new();
    let limit = Bucket::with_clock(quota!("10/s"), &clock);
    let mut upstream = Upstream { left: 2 };

    for call in 1..=5 {
        while let Err(wait) = send(&limit, &mut upstream) {
            println!("call {call}: waits {wait:?}");
            clock.advance(wait);
        }
        println!("call {call}: answered at {:?}", clock.now());
    }
}

/// One call. If it may not start, or the upstream would not have it, the error is the time to wait.
fn send<C: Clock>(limit: &Bucket<C>, upstream: &mut Upstream) -> Result<(), Duration> {
    limit.try_acquire().map_err(|refusal| refusal.wait().expect("one token is within the capacity"))?;
    let Err(retry_after) = upstream.call() else {
        return Ok(());
    };
    // For all callers of this limit. A shorter pause that another answer asks for does not shorten it.
    let span = seconds(retry_after).unwrap_or(Duration::from_secs(1));
    limit.pause_for(span);
    Err(limit.peek().paused_for())
}

/// A `Retry-After` in seconds. The other form, a date, is not read here.
fn seconds(field: &str) -> Option<Duration> {
    field.trim().parse().ok().map(Duration::from_secs)
}

/// Stands for a server that is stricter than we thought: it answers so many calls and then asks for peace.
struct Upstream {
    left: u32,
}

impl Upstream {
    fn call(&mut self) -> Result<(), &'static str> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(());
        }
        self.left = 3;
        Err("2")
    }
}
