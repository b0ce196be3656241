//! One limit for a whole program: a `static` that every thread asks.
//!
//!     cargo run --example basic

use std::sync::LazyLock;
use std::thread;

use tollgate::{Bucket, Denied, quota};

/// Twenty a second, and five at one moment.
static LIMIT: LazyLock<Bucket> = LazyLock::new(|| Bucket::new(quota!("20/s burst 5")));

fn main() {
    thread::scope(|scope| {
        for caller in 1..=8 {
            scope.spawn(move || work(caller));
        }
    });
    println!("now: {:?}", *LIMIT);
}

/// Tries until it is let in. Others may take the token that it waits for; then it is refused and waits again.
fn work(caller: u32) {
    loop {
        match LIMIT.try_acquire() {
            Ok(()) => return println!("caller {caller}: admitted"),
            Err(Denied::NotYet(refusal)) => {
                println!("caller {caller}: refused, comes back in {:?}", refusal.wait());
                thread::sleep(refusal.wait());
            }
            Err(never) => return println!("caller {caller}: gives up, {never}"),
        }
    }
}
