//! The core without features in a program without `std`, which proves that neither it nor a dependency needs one.
//!
//! It brings its own panic handler: with `std` in the program there would be two, and it would not compile.

#![no_std]
#![no_main]

use core::ffi::{c_char, c_int};
use core::panic::PanicInfo;
use core::time::Duration;

use tollgate::{Bucket, Denied, Manual, quota};

// Only for the start of the program and its exit code.
#[link(name = "c")]
unsafe extern "C" {}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

// SAFETY: the C library calls `main` by this name and with these arguments.
#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    match wrong_decision() {
        None => 0,
        Some(number) => number,
    }
}

/// The worked example of three tokens, two a second.
fn wrong_decision() -> Option<c_int> {
    let bucket = Bucket::with_clock(quota!("2/s burst 3"), Manual::new());
    let expected = [
        (bucket.try_acquire_n(3), None),
        (bucket.try_acquire(), Some(Duration::from_millis(500))),
        (bucket.try_acquire_n(2), Some(Duration::from_secs(1))),
        (bucket.try_acquire_n(4), None),
    ];
    let differs = |(answer, wait): &(Result<(), Denied>, Option<Duration>)| {
        answer.as_ref().err().and_then(Denied::wait) != *wait
    };
    let first = expected.iter().position(differs)?;
    c_int::try_from(first + 1).ok()
}
