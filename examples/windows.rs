//! An upstream that allows 5000 requests an hour, as its own clock counts hours, and a budget of tokens a day.
//!
//! `cargo run --example windows --features window`

use std::time::Duration;

use tollgate::window::{Every, Fixed, Wall, WindowError};
use tollgate::{Clock, Denied};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

type Windows = Fixed<Every, Wall>;

fn main() -> Result<(), WindowError> {
    // Hours and days in UTC begin with the Unix epoch, and so do the readings of wall time.
    let requests = Fixed::with_clock(5000, Every::new(HOUR)?, Wall::new())?;
    let tokens = Fixed::with_clock(1_000_000, Every::new(DAY)?, Wall::new())?;

    for estimate in [400_000, 500_000, 300_000] {
        match ask(&requests, &tokens, estimate) {
            Ok(used) => println!("estimated {estimate} tokens, used {used}"),
            Err(denied) => println!("estimated {estimate} tokens: {denied}"),
        }
    }

    let today = tokens.peek();
    println!("{} tokens left, for {:?}", today.remaining(), today.time_to_reset());
    Ok(())
}

/// Takes the estimate, does the work, and gives back what it did not need: to the day that it was taken in, also if that is
/// over by then.
fn ask(requests: &Windows, tokens: &Windows, estimate: u64) -> Result<u64, Denied> {
    let (hour, day) = (requests.clock().now(), tokens.clock().now());
    requests.try_acquire_at(hour)?;
    if let Err(denied) = tokens.try_acquire_n_at(estimate, day) {
        // Both or neither.
        requests.refund(1, hour);
        return Err(denied);
    }
    let used = work(estimate);
    tokens.refund(estimate - used, day);
    Ok(used)
}

/// Half of what was thought.
fn work(estimate: u64) -> u64 {
    estimate / 2
}
