//! Atomics, locks and the spin hint: the processor's, or those of a model checker.
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

#[cfg(any(feature = "keyed", feature = "shared-memory"))]
pub(crate) use self::mutex::try_lock;
#[cfg(any(
    feature = "adjust",
    feature = "budget",
    feature = "inflight",
    feature = "keyed",
    feature = "metrics",
    feature = "sharded",
    feature = "shared-memory",
    feature = "upstream",
    feature = "wait",
    all(feature = "window", feature = "std")
))]
pub(crate) use self::mutex::{Mutex, lock};
#[cfg(any(feature = "budget", feature = "keyed"))]
pub(crate) use self::read_mostly::{ReadMostly, read, write};

/// A mutex that is locked also after another thread has panicked with it: what is kept under it is valid at every step.
#[cfg(any(
    feature = "adjust",
    feature = "budget",
    feature = "inflight",
    feature = "keyed",
    feature = "metrics",
    feature = "sharded",
    feature = "shared-memory",
    feature = "upstream",
    feature = "wait",
    all(feature = "window", feature = "std")
))]
mod mutex {
    use std::ops::DerefMut;
    use std::sync::PoisonError;

    #[cfg(loom)]
    pub(crate) use loom::sync::Mutex;

    #[cfg(shuttle)]
    pub(crate) use shuttle::sync::Mutex;

    #[cfg(not(any(loom, shuttle)))]
    pub(crate) use std::sync::Mutex;

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> impl DerefMut<Target = T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`lock`], unless another thread holds it.
    #[cfg(any(feature = "keyed", feature = "shared-memory"))]
    pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<impl DerefMut<Target = T>> {
        use std::sync::TryLockError;

        match mutex.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A lock whose readers do not meet at it, locked also after a panic.
#[cfg(any(feature = "budget", feature = "keyed"))]
mod read_mostly {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    #[cfg(loom)]
    pub(crate) use loom::sync::RwLock as ReadMostly;

    #[cfg(shuttle)]
    pub(crate) use shuttle::sync::RwLock as ReadMostly;

    #[cfg(not(any(loom, shuttle)))]
    pub(crate) use crossbeam_utils::sync::ShardedLock as ReadMostly;

    #[inline]
    pub(crate) fn read<T>(lock: &ReadMostly<T>) -> impl Deref<Target = T> {
        lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write<T>(lock: &ReadMostly<T>) -> impl DerefMut<Target = T> {
        lock.write().unwrap_or_else(PoisonError::into_inner)
    }
}
