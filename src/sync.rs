//! Atomics and the spin hint: the processor's, or those of a model checker.
//!
//! The only file that names a checker. Everything else imports from here, so a model runs the very code that ships.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering},
};

#[cfg(shuttle)]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering},
};

#[cfg(not(any(loom, shuttle)))]
pub(crate) use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering},
};
