//! Bytes on the heap, counted by the allocator. A benchmark makes [`Counting`] its global allocator.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait; this one counts and passes on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicI64 = AtomicI64::new(0);

/// The system's allocator; it counts only within [`counted`], so that it costs the measured loops nothing to speak of.
pub struct Counting;

impl Counting {
    fn note(bytes: i64) {
        if ON.load(Relaxed) {
            LIVE.fetch_add(bytes, Relaxed);
        }
    }
}

// SAFETY: every call is passed on to `System` unchanged, with the caller's layout and pointer, so `System`'s contract
// is kept by whoever keeps this one's. Counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size() as i64);
        // SAFETY: the caller promises a layout that is not empty.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size() as i64);
        // SAFETY: the caller promises a layout that is not empty.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::note(-(layout.size() as i64));
        // SAFETY: the caller promises that `pointer` came from here, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` with counting on; it may ask [`live`] for what it holds by then.
pub fn counted<T>(work: impl FnOnce() -> T) -> T {
    LIVE.store(0, Relaxed);
    ON.store(true, Relaxed);
    let outcome = work();
    ON.store(false, Relaxed);
    outcome
}

/// Bytes allocated less bytes freed since [`counted`] began, on all threads. 0 unless [`Counting`] is the allocator.
pub fn live() -> i64 {
    LIVE.load(Relaxed)
}
