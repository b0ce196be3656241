//! A limit that follows what an upstream says of itself: the rate changes while threads go on asking.
//!
//!     cargo run --example live_change --features adjust

use std::{thread, time::Duration};

use tollgate::{
    Denied,
    adjust::{Adjustable, Held},
    quota,
};

/// Asks until it has been admitted so often, and waits as refusals say.
fn work(limit: &Adjustable, until: u64) {
    let mut admitted = 0;
    while admitted < until {
        match limit.try_acquire() {
            Ok(()) => admitted += 1,
            Err(Denied::NotYet(not_yet)) => thread::sleep(not_yet.wait().min(Duration::from_millis(50))),
            Err(never) => panic!("{never}"),
        }
    }
}

fn main() {
    let limit = Adjustable::new(quota!("100/s burst 20"));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| work(&limit, 100));
        }
        // The upstream grants more, then less. Nothing is given with it: tokens are kept, as many as fit.
        for stated in ["400/s burst 20", "400/s burst 20", "50/s burst 5"] {
            thread::sleep(Duration::from_millis(200));
            match stated.parse() {
                Ok(quota) => limit.adjust(quota, Held::Tokens),
                Err(error) => eprintln!("`{stated}` is not applied: {error}"),
            }
            println!("{limit:?}");
        }
    });
    println!("at the end: {limit:?}");
}
