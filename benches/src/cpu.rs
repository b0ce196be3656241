//! The few instructions that measuring needs and no safe function offers. All unsafe code of this package
//! is here, but for the counting allocator in `keyed/heap.rs`.
#![allow(unsafe_code)]

use std::arch::asm;

/// The same reference, but the compiler no longer knows where it points nor what memory holds: nothing that was read
/// through it before may be kept in a register. Costs no instruction.
#[inline(always)]
pub fn opaque<T>(value: &T) -> &T {
    let mut pointer: *const T = value;
    // SAFETY: the block is empty, so the pointer comes out as it went in: it still is `value`, with its lifetime.
    unsafe {
        asm!("/* {0} */", inout(reg) pointer, options(nostack, preserves_flags));
        &*pointer
    }
}

/// The decision as a number in a register: the caller may not turn it into a jump. Costs at most one move.
#[inline(always)]
pub fn pin(decision: bool) -> u64 {
    let mut word = u64::from(decision);
    // SAFETY: the block is empty: it touches neither memory, stack nor flags.
    unsafe { asm!("/* {0} */", inout(reg) word, options(nomem, nostack, preserves_flags)) };
    word
}

/// Lets every earlier instruction finish before the next one starts.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn lfence() {
    // SAFETY: part of SSE2, which every x86-64 processor has.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

/// Lets every earlier instruction finish before the next one starts.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn lfence() {
    // SAFETY: an instruction barrier changes no state of the program.
    unsafe { asm!("isb", options(nostack, preserves_flags)) }
}

/// The bare time-stamp counter: the cheapest clock there is, in ticks of its own.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn tsc() -> u64 {
    // SAFETY: user code may read the counter on every system that runs this program (Linux forbids it only on request).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The bare counter: the cheapest clock there is, in ticks of its own.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn tsc() -> u64 {
    let ticks;
    // SAFETY: the virtual counter is readable from user code on every system that Rust's std supports.
    unsafe { asm!("mrs {0}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}
