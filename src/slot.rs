//! A small number for every thread that is alive, no two the same.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

/// The number of a thread that has none yet.
const UNASSIGNED: usize = usize::MAX;

/// The number of a thread that is ending: it gets no other.
const ENDED: usize = usize::MAX - 1;

thread_local! {
    /// The calling thread's number: a plain cell without a destructor, so that reading it is one load.
    static SLOT: Cell<usize> = const { Cell::new(UNASSIGNED) };
    /// Gives the number back when the thread ends.
    static LEASE: Lease = Lease::take();
}

/// The calling thread's number, the smallest that was free when it first asked. One past all numbers when the thread is
/// ending.
///
/// A number that a thread gives back and another takes passes through a lock, so what the first wrote under it happens
/// before what the second reads.
#[inline]
pub(crate) fn current() -> usize {
    let slot = SLOT.get();
    if slot == UNASSIGNED { assign() } else { slot }
}

#[cold]
fn assign() -> usize {
    LEASE.try_with(|lease| SLOT.set(lease.slot)).unwrap_or_else(|_| SLOT.set(ENDED));
    SLOT.get()
}

struct Lease {
    slot: usize,
}

impl Lease {
    fn take() -> Self {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = pool.free.pop().map(|Reverse(slot)| slot).unwrap_or_else(|| {
            pool.next += 1;
            pool.next - 1
        });
        Self { slot }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        SLOT.set(ENDED);
        POOL.lock().unwrap_or_else(PoisonError::into_inner).free.push(Reverse(self.slot));
    }
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: BinaryHeap::new(), next: 0 });

struct Pool {
    free: BinaryHeap<Reverse<usize>>,
    next: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_alive_have_different_numbers_and_pass_them_on() {
        let mine = current();
        assert_eq!(current(), mine);
        let other = || std::thread::spawn(current).join().unwrap();
        let (first, second) = (other(), other());
        assert_ne!(first, mine);
        assert!(second < usize::MAX / 2, "{first} {second}");
    }
}
